// Tests the function of docs/helix.md that recovers sessions after a crash.
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { SessionStore } from "forkpoint/helix";
import { afterAll, expect, it } from "vitest";
import { write } from "../pages.js";
import { readPage, snippetsOf } from "../snippets.js";
import { closing } from "../helpers.js";

// The folder is inside the package, so that the recipe finds the package by its name.
const place = mkdtempSync(fileURLToPath(new URL("./.snippets-", import.meta.url)));

afterAll(() => rmSync(place, { recursive: true, force: true }));

function open(cwd: string): SessionStore {
  return closing(new SessionStore(join(cwd, "agent.db")));
}

type Recover = (
  store: SessionStore,
  cutStream: (sessionId: string, sequence: number) => Promise<void>,
  runAgent: (sessionId: string) => Promise<void>,
) => Promise<void>;

it("the guide's recovery takes sessions back to their latest checkpoints, and skips those without one", async () => {
  const { code } = snippetsOf(readPage("docs/helix.md")).find(({ file }) => file === "recover.mts")!;
  write(code, join(place, "recover"));
  const { recover } = (await import(pathToFileURL(join(place, "recover.mjs")).href)) as { recover: Recover };
  const store = open(place);
  for (const [sessionId, status] of [
    ["killed", "running"],
    ["killed at its end", "completed"],
    ["killed at its beginning", null],
  ] as const) {
    await store.createSession(sessionId, { agentType: "planner", initialState: { facts: 1 } });
    await store.appendMessages(sessionId, [{ role: "user", content: "kept" }]);
    await store.startRun(sessionId, { runId: "run-1" });
    const state = { ...(await store.loadState(sessionId))!, status: status ?? "running" };
    const checkpoint = { id: `${sessionId}, 1`, sessionId, stepCount: 1, timestamp: 1, state, streamSequence: 7 };
    if (status !== null) await store.saveCheckpoint(checkpoint);
    await store.updateStatus(sessionId, "running");
    await store.appendMessages(sessionId, [{ role: "assistant", content: "an orphan" }]);
    await store.mergeCustomState(sessionId, { facts: 2 });
  }
  await store.createSession("idle", { agentType: "planner" });

  const calls: string[] = [];
  await recover(
    store,
    async (sessionId, sequence) => void calls.push(`cut ${sessionId} at ${sequence}`),
    async (sessionId) => void calls.push(`run ${sessionId}`),
  );
  expect(calls).toEqual(["cut killed at its end at 7", "cut killed at 7", "run killed"]);
  for (const [sessionId, runStatus, messages, facts] of [
    ["killed", "interrupted", 1, 1],
    ["killed at its end", "interrupted", 1, 1],
    ["killed at its beginning", "running", 2, 2],
  ] as const) {
    expect((await store.listRuns(sessionId)).map((one) => one.status)).toEqual([runStatus]);
    expect(await store.getMessageCount(sessionId)).toBe(messages);
    expect((await store.loadState(sessionId))!.customState).toEqual({ facts });
  }
});
