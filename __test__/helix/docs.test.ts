// Tests the documents: every `ts` block that imports forkpoint/helix compiles under strict, runs unchanged in an empty
// folder, and prints what it says.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { SessionStore } from "forkpoint/helix";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { folder } from "../helpers.js";
import { documents, printedBy, problemsOf, runSnippet, snippetsOf, writeSnippets } from "../snippets.js";

// The folder is inside the package, so that the snippets find the package by its name.
const place = mkdtempSync(fileURLToPath(new URL("./.snippets-", import.meta.url)));

const found = documents
  .flatMap((document) => snippetsOf(document, place))
  .filter(({ code }) => code.includes('from "forkpoint/helix"'));

function open(cwd: string): SessionStore {
  const store = new SessionStore(join(cwd, "agent.db"));
  onTestFinished(() => store.close());
  return store;
}

beforeAll(() => writeSnippets(found));

afterAll(() => rmSync(place, { recursive: true, force: true }));

it("the guide has examples", () => {
  expect(found.filter(({ name }) => name.startsWith("docs/helix.md")).length).toBeGreaterThanOrEqual(6);
});

it("they compile under strict", { timeout: 120_000 }, () => expect(problemsOf(found)).toEqual([]));

it.each(found)("runs, and prints what it says: $name", (snippet) => {
  const cwd = folder();
  const { status, stdout, stderr } = runSnippet(snippet, cwd);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(stdout.split("\n")).toEqual(expect.arrayContaining(printedBy(snippet)));
  expect(readdirSync(cwd).filter((made) => made.endsWith(".db"))).toEqual(["agent.db"]);
});

it("the first program of the guide is killed where it says so, and goes on when it is started again", async () => {
  const first = found.find(({ name }) => name === "docs/helix.md block 1")!;
  const cwd = folder();
  const child = spawn(process.execPath, [`${first.file}.mjs`], { cwd, stdio: ["ignore", "pipe", "inherit"] });
  const closed = once(child, "close");
  for await (const line of createInterface(child.stdout)) if (line === "step 2") child.kill("SIGKILL");
  expect(await closed).toEqual([null, "SIGKILL"]);

  const { status, stdout } = runSnippet(first, cwd);
  expect({ status, stdout }).toEqual({ status: 0, stdout: "step 2\nstep 3\n4 messages\n" });
  const store = open(cwd);
  const facts = ["fact 1", "fact 2", "fact 3"];
  expect((await store.loadState("trip-1"))!.customState).toEqual({ facts });
  const { messages } = await store.getMessages("trip-1");
  expect(messages.map(({ content }) => content)).toEqual(["Lisbon in May", ...facts]);
});

it("the recipe of the guide takes sessions back to their latest checkpoints, and skips those without one", async () => {
  const recipe = found.find(({ code }) => code.includes("cutStream"))!;
  const cwd = folder();
  const store = open(cwd);
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

  const { status, stdout, stderr } = runSnippet(
    recipe,
    cwd,
    `globalThis.cutStream = async (sessionId, sequence) => console.log("cut " + sessionId + " at " + sequence);
     globalThis.runAgent = async (sessionId) => console.log("run " + sessionId);`,
  );
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(stdout.split("\n")).toEqual(["cut killed at its end at 7", "cut killed at 7", "run killed", ""]);
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
