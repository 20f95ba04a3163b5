// Tests the route that searches in states: its lines, its filters, what it refuses, and that it ends when nobody reads.
import { request } from "node:http";
import { WorkflowCheckpointStore } from "forkpoint/agentium";
import { expect, test } from "vitest";
import { opened } from "../contents.js";
import { ask, errorOf, start } from "./helpers.js";

async function started(runs = 30) {
  const store = await opened("memory:");
  const steps = new WorkflowCheckpointStore<any>(store);
  for (let n = 0; n < runs; n++) {
    const state = { text: `needle ${n}`, last: n === 0 ? "Only" : "" };
    await steps.save({ id: `c${n}`, runId: `run-${n}`, stepIndex: 0, stepName: "a", state, createdAt: n });
  }
  return start(store);
}

const linesOf = (text: string) =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as any);

test("answers with a line for each hit, and a last line with what was read", async () => {
  const { ask: asked, inspector } = await started();
  const { status, headers, text } = await asked("grep?text=needle");
  expect(status).toBe(200);
  expect(headers["content-type"]).toBe("application/x-ndjson");
  const lines = linesOf(text);
  const hits = [];
  for await (const hit of inspector.search("needle")) hits.push({ type: "hit", ...hit });
  expect(hits).toHaveLength(30);
  expect(lines.filter(({ type }) => type === "hit")).toEqual(hits);
  expect(lines.at(-1)).toEqual({ type: "done", runs: 30, checkpoints: 30, hits: 30, unreadable: {}, damaged: 0 });
});

test("takes all filters", async () => {
  const { ask: asked } = await started();
  const runs = async (query: string) => {
    const lines = linesOf((await asked(`grep?${query}`)).text);
    return lines.filter(({ type }) => type === "hit").map(({ run }) => run);
  };
  expect(await runs("text=ONLY&ignoreCase=1")).toEqual(["run-0"]);
  expect(await runs("text=ONLY")).toEqual([]);
  expect(await runs("text=needle+[45]$&regex=1&allSteps=1")).toEqual(["run-5", "run-4"]);
  expect(await runs("text=needle&run=run-7&space=agentium&ns=")).toEqual(["run-7"]);
  expect(await runs("text=needle&space=helix")).toEqual([]);
  expect(await runs("text=needle&status=waiting")).toEqual([]);
  expect(await runs("text=needle&label=a%3Db")).toEqual([]);
  expect(await runs("text=needle&limit=3")).toHaveLength(3);
});

test("refuses wrong parameters", async () => {
  const { ask: asked } = await started(1);
  for (const query of ["", "?text=", "?text=(&regex=1", "?text=a&limit=0", "?text=a&status=x", "?text=a&space=x"]) {
    const answer = await asked(`grep${query}`);
    expect([query, answer.status]).toEqual([query, 400]);
    expect(errorOf(answer).code).toBe("INVALID_ARGUMENT");
  }
  expect(await asked("grep?text=a", { method: "HEAD" })).toMatchObject({ status: 200, text: "" });
  const slow = linesOf((await asked(`grep?regex=1&text=${encodeURIComponent("^(\\w+\\s?)+:$")}`)).text);
  expect(slow.at(-1).type).toBe("done");
});

test("ends when the reader goes away, and when the studio is closed", async () => {
  const { port, bearer, inspector, close } = await started(3);
  let isEnded = 0;
  // A search that finds more and more, for each reader.
  inspector.search = async function* (_: string, { signal }: { signal?: AbortSignal } = {}) {
    try {
      for (;;) {
        if (signal?.aborted === true) return;
        await new Promise((resolve) => setTimeout(resolve, 5));
        yield { path: [], run: "x".repeat(10_000) } as never;
      }
    } finally {
      isEnded += 1;
    }
  };
  const read = () =>
    new Promise<void>((resolve) => {
      const headers = { host: `127.0.0.1:${port}`, ...bearer };
      const sent = request({ host: "127.0.0.1", port, path: "/api/v1/grep?text=a", headers }, (response) => {
        response.on("error", () => {});
        response.once("data", () => {
          sent.destroy();
          resolve();
        });
      });
      sent.on("error", () => {});
      sent.end();
    });
  await read();
  await expect.poll(() => isEnded).toBe(1);
  const last = ask(port, "/api/v1/grep?text=a", { headers: bearer }).catch(() => null);
  await new Promise((resolve) => setTimeout(resolve, 50));
  await close();
  await last;
  await expect.poll(() => isEnded).toBe(2);
});
