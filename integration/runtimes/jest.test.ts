// Jest loads the package as CommonJS. Each test file has a realm of its own.
import { expect, it } from "vitest";
import { folderIn, forms, node, tool } from "./helpers.js";

const test = `
const { CheckpointStore, isForkpointError } = require("forkpoint");
const { SessionStore } = require("forkpoint/helix");
const { Checkpointer } = require("forkpoint/tinyagents");
const { Workflow, WorkflowCheckpointStore } = require("forkpoint/agentium");

const input = {
  at: new Date(0), map: new Map([["key", { list: [1n] }]]), set: new Set([/x/g]), error: new RangeError("bad", { cause: new Date(1) }),
  bytes: new Uint8Array([1, 2]), buffer: Buffer.from("text"), wide: new Float64Array([0.5]), long: ["x".repeat(10_000)],
};
const checkpoint = {
  id: "checkpoint-1", graphId: "graph-1", runId: "run-1", nodeId: "node-1", timestamp: 1,
  state: { input, scratch: {}, artifacts: {}, diagnostics: {} }, nodeResults: {}, visitedNodes: [], pendingEdges: [],
};

test("values come back as instances of this realm's classes", async () => {
  const store = new CheckpointStore(__filename + ".db");
  await store.save(checkpoint);
  const found = await store.get("checkpoint-1");
  expect(found.state).toStrictEqual(checkpoint.state);
  const { at, map, set, error, bytes, wide, long } = found.state.input;
  expect([at, map, set, error, bytes, wide, long].map((value) => value.constructor))
    .toEqual([Date, Map, Set, RangeError, Uint8Array, Float64Array, Array]);
  expect([...set][0]).toBeInstanceOf(RegExp);
  expect(map.get("key")).toBeInstanceOf(Object);
  expect(error.cause).toBeInstanceOf(Date);
  await store.save({ ...found, id: "checkpoint-2" });
  expect(await store.get("checkpoint-2")).toStrictEqual({ ...found, id: "checkpoint-2" });
  await store.close();
});

test("errors", async () => {
  const store = new CheckpointStore("memory:");
  const error = await store.fork("none").catch((error) => error);
  expect([isForkpointError(error), error.code, error instanceof Error]).toEqual([true, "NOT_FOUND", true]);
  expect(() => new CheckpointStore(7)).toThrow(TypeError);
});

test("a step's result is merged over the state that was read", async () => {
  const workflow = new Workflow({
    name: "w", initialState: { n: 0, at: new Date(5) }, checkpointStore: new WorkflowCheckpointStore("memory:"),
    steps: [{ name: "s", run: async ({ n, at }) => ({ n: n + at.getTime() }) }],
  });
  expect((await workflow.runWithCheckpoints()).state).toStrictEqual({ n: 5, at: new Date(5) });
});

test("the other entry points", async () => {
  const threads = new Checkpointer("memory:");
  await threads.put({ threadId: "thread-1", state: { at: new Date(7) } });
  expect((await threads.get("thread-1")).state).toStrictEqual({ at: new Date(7) });
  expect(typeof SessionStore).toBe("function");
});
`;

it.each(forms)("works in two test files, with two workers and with none: %s", (form) => {
  const folder = folderIn(form, { "package.json": "{}", "a.test.js": test, "b.test.js": test });
  for (const how of ["--runInBand", "--maxWorkers=2"]) {
    const { status, stderr } = node([tool("jest/bin/jest.js"), how, "--rootDir", folder, "--watchman=false"], folder);
    expect([status, stderr]).toEqual([0, expect.stringMatching(/^Tests: +8 passed, 8 total$/m)]);
    expect(stderr).not.toMatch(/warn|did not exit|force exited/i);
  }
});
