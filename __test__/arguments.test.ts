// Every argument of every method, and every field of it, is replaced by hostile values. A call must reject with an error
// of this package and never throw. Values that the call can store or ignore may resolve.
import { join } from "node:path";
import { CheckpointStore, type Serializer, isForkpointError, openStore } from "forkpoint";
import {
  ForkpointStorage,
  InMemoryStorage,
  StorageBackedCheckpointStore,
  Workflow,
  WorkflowCheckpointStore,
} from "forkpoint/agentium";
import { SessionStore } from "forkpoint/helix";
import { Checkpointer, END, Graph } from "forkpoint/tinyagents";
import { describe, expect, onTestFinished, test } from "vitest";
import { checkpoint, expectSound, failure, folder } from "./helpers.js";
import { type Methods, variants, wrongAnswers } from "./hostile-values.js";

interface Subject {
  open(target: any): Methods & object;
  /** Good arguments of each method. */
  calls: Record<string, () => unknown[]>;
}

const signal = () => new AbortController().signal;
const pruneOptions = () => ({
  olderThan: 1,
  keepLastN: 5,
  maxBytes: 1e9,
  dryRun: true,
  share: 0.5,
  signal: signal(),
  onProgress() {},
});
const lease = (space: string, ns?: string | string[]) => () => [
  { space, run: `run-${Math.random()}`, ...(ns !== undefined && { ns }) },
  { ttlMs: 1_000, signal: signal() },
];
const common = {
  prune: () => [pruneOptions()],
  stats: () => [{ largest: 3 }],
  check: () => [{ onProgress() {}, signal: signal() }],
  vacuum: () => [],
};
const workflowCheckpoint = () => ({
  id: "run:1",
  runId: "run",
  stepIndex: 1,
  stepName: "step",
  state: { a: { b: 1 } },
  createdAt: 5,
  more: { list: [1] },
});
const workflowCalls = {
  save: () => [workflowCheckpoint()],
  rewind: () => [workflowCheckpoint()],
  load: () => ["run:1"],
  latest: () => ["run"],
  list: () => ["run"],
  listForRun: () => ["run"],
  clear: () => ["run"],
  delete: () => ["run:1"],
};
const session = () => ({
  agentType: "type",
  status: "active",
  stepCount: 1,
  customState: { a: 1 },
  messages: [{ role: "user" }],
});
const threadCheckpoint = () => ({
  threadId: "thread",
  checkpointId: "id",
  parentCheckpointId: null,
  namespace: ["sub"],
  state: { a: { b: 1 } },
  nextNodes: ["node"],
  completedTasks: [{ a: 1 }],
  pendingWrites: [{ a: 1 }],
  interrupts: [],
  runId: "run",
  metadata: { a: { b: 1 } },
  dependsOnParent: false,
  more: { a: 1 },
});
const config = () => ({ threadId: "thread", checkpointId: "id", namespace: ["sub"] });

const policy = () => ({ maxRetries: 0, backoffMs: 0 });
const workflowConfig = () => ({
  name: "w",
  initialState: { a: 1 },
  retryPolicy: policy(),
  register: false,
  checkpointStore: new WorkflowCheckpointStore<object>("memory:"),
  steps: [
    { name: "s", run: () => ({ a: 2 }), retryPolicy: policy(), timeoutMs: 1000 },
    { name: "c", condition: () => true, steps: [{ name: "i", run: () => ({}) }] },
    { name: "p", parallel: [{ name: "q", run: () => ({}) }] },
  ],
});
const graphConfig = () => ({
  name: "g",
  nodes: { a: { run: () => ({ n: 1 }), effectClass: "pure", retry: policy(), timeoutMs: 1000 }, b: () => ({}) },
  edges: [
    ["a", "b"],
    ["b", END],
  ],
  entry: "a",
  maxSupersteps: 10,
  reducer: (state: object, update: object) => ({ ...state, ...update }),
  checkpointer: new Checkpointer("memory:"),
  durability: "sync",
  checkpoint: "every_node",
  memory: { consistency: "live" },
});

const callsOfWorkflow: Record<string, () => unknown[]> = {
  run: () => [{ runId: `r-${Math.random()}`, initialState: { a: 1 }, signal: signal() }],
  runWithCheckpoints: () => [{ runId: `r-${Math.random()}`, initialState: { a: 1 }, signal: signal() }],
  listCheckpoints: () => ["run"],
  replay: () => ["id", { signal: signal() }],
  fork: () => ["id", (state: object) => state, { runId: "other", signal: signal() }],
  stream: () => [{ runId: `r-${Math.random()}`, signal: signal() }],
};
const graphOptions = () => ({ threadId: `t-${Math.random()}`, signal: signal(), durability: "sync", runId: "r" });
const graphCalls: Record<string, () => unknown[]> = {
  invoke: () => [{ n: 0 }, graphOptions()],
  stream: () => [{ n: 0 }, graphOptions()],
  resume: () => ["t", { resume: 1 }, { signal: signal() }],
  resumeFrom: () => ["t", "latest", { resume: 1 }, { signal: signal() }],
  getState: () => ["t", "id", ["sub"]],
  getStateHistory: () => ["t", { limit: 1, namespace: ["sub"] }],
  updateState: () => ["t", { n: 1 }, "a"],
  bulkUpdateState: () => ["t", [{ update: { n: 1 }, asNode: "a" }]],
  forkState: () => ["t", "id", { n: 1 }],
};

const subjects: Record<string, Subject> = {
  Store: { open: (store) => store, calls: { ...common, lease: lease("langgraph", "ns") } },
  CheckpointStore: {
    open: (store) => new CheckpointStore(store) as unknown as Methods,
    calls: {
      ...common,
      save: () => [
        checkpoint({ id: "id", skippedNodes: [], memorySnapshot: { reads: [], pendingWrites: [] }, extra: { a: [1] } }),
      ],
      get: () => ["id"],
      load: () => ["run-1", "node-1"],
      latest: () => ["run-1"],
      list: () => ["graph", { limit: 1, runId: "run-1" }],
      listByRun: () => ["run-1", { limit: 1 }],
      delete: () => ["other"],
      clear: () => ["other"],
      fork: () => ["id", { input: { a: 1 }, scratch: { a: 1 } }],
      runs: () => [{ graphIdPrefix: "g", limit: 1, cursor: null }],
      lease: lease("agentos"),
    },
  },
  WorkflowCheckpointStore: {
    open: (store) => new WorkflowCheckpointStore(store) as unknown as Methods,
    calls: {
      ...common,
      ...workflowCalls,
      save: () => [workflowCheckpoint(), { parent: "other", steps: 3 }],
      rewind: () => [workflowCheckpoint(), { parent: "other", steps: 3 }],
      timeline: () => ["run"],
      lease: lease("agentium"),
      runs: () => [{ limit: 1, cursor: null }],
    },
  },
  "StorageBackedCheckpointStore in memory": {
    open: () => new StorageBackedCheckpointStore(new InMemoryStorage()) as unknown as Methods,
    calls: workflowCalls,
  },
  "StorageBackedCheckpointStore on a store": {
    open: (store) => new StorageBackedCheckpointStore(new ForkpointStorage(store)) as unknown as Methods,
    calls: workflowCalls,
  },
  ForkpointStorage: {
    open: (store) => new ForkpointStorage(store) as unknown as Methods,
    calls: {
      set: () => ["space", "key", { a: { b: 1 } }],
      get: () => ["space", "key"],
      list: () => ["space", "k"],
      delete: () => ["space", "other"],
    },
  },
  InMemoryStorage: {
    open: () => new InMemoryStorage() as unknown as Methods,
    calls: {
      set: () => ["space", "key", { a: { b: 1 } }],
      get: () => ["space", "key"],
      list: () => ["space", "k"],
      delete: () => ["space", "other"],
    },
  },
  SessionStore: {
    open: (store) => new SessionStore(store) as unknown as Methods,
    calls: {
      ...common,
      createSession: () => [`session-${Math.random()}`, { agentType: "type", initialState: { a: 1 }, more: { a: 1 } }],
      sessionExists: () => ["session"],
      exists: () => ["session"],
      deleteSession: () => ["other"],
      loadState: () => ["session"],
      saveState: () => ["session", session()],
      updateStatus: () => ["session", "done"],
      compareAndSetStatus: () => ["session", ["active", "done"], "done"],
      incrementStepCount: () => ["session"],
      mergeCustomState: () => ["session", { values: { a: [1] }, arrayReplacements: ["a"] }],
      stageChanges: () => ["session", { values: { a: [1] }, arrayReplacements: ["a"] }],
      getStaging: () => ["session"],
      promoteStaging: () => ["session"],
      discardStaging: () => ["session"],
      appendMessages: () => ["session", [{ role: "user", content: "a" }]],
      getMessages: () => ["session", { offset: 0, limit: 1, includeThinking: false }],
      getMessageCount: () => ["session"],
      truncateMessages: () => ["session", 0],
      saveCheckpoint: () => [
        {
          id: "id",
          sessionId: "session",
          stepCount: 1,
          timestamp: 1,
          state: session(),
          streamSequence: 0,
          messageCount: 1,
          more: { a: 1 },
        },
      ],
      getCheckpoint: () => ["session", "id"],
      getLatestCheckpoint: () => ["session"],
      listCheckpoints: () => ["session", { limit: 1, cursor: null }],
      rewindTo: () => ["session", "id"],
      branchSession: () => ["id", `branch-${Math.random()}`],
      startRun: () => ["session", { runId: `run-${Math.random()}`, status: "a", more: { a: 1 } }],
      endRun: () => ["session", "run", { status: "a", more: { a: 1 } }],
      listRuns: () => ["session"],
      addSubSession: () => ["session", { subSessionId: "sub", more: { a: 1 } }],
      listSubSessions: () => ["session"],
      sessions: () => [{ limit: 1, cursor: null, status: ["active"], agentType: ["type"] }],
      lease: lease("helix"),
    },
  },
  Checkpointer: {
    open: (store) => new Checkpointer(store) as unknown as Methods,
    calls: {
      put: () => [threadCheckpoint(), { expectedParent: false }],
      get: () => ["thread", "id", ["sub"]],
      list: () => ["thread", { before: null, limit: 3, filter: { a: 1 }, namespace: ["sub"] }],
      getTuple: () => [config()],
      putWrites: () => [config(), [{ node: "n", taskId: "t", idx: 0, channel: "c", payload: { a: 1 } }]],
      getWrites: () => [config()],
      stateHistory: () => ["thread", ["sub"], 3],
      listThreads: () => [],
      threads: () => [{ limit: 1, cursor: null }],
      deleteThread: () => ["other"],
      deleteCheckpoints: () => ["thread", ["other"]],
      deleteByRun: () => ["thread", "other"],
      copyThread: () => ["thread", `copy-${Math.random()}`],
      prune: () => ["thread", 100, { protect: "ancestors", dryRun: true, signal: signal(), onProgress() {} }],
      lease: lease("tinyagents", ["sub"]),
      stats: common.stats,
      check: common.check,
      vacuum: common.vacuum,
    },
  },
  Workflow: { open: () => new Workflow(workflowConfig() as never) as never, calls: callsOfWorkflow },
  Graph: { open: () => new Graph(graphConfig() as never) as never, calls: graphCalls },
};

describe.each<[string, () => object, new (config: never) => object]>([
  ["Workflow", workflowConfig, Workflow as never],
  ["Graph", graphConfig, Graph as never],
])("%s", (_, config, Class) => {
  test("the constructor throws an error of this package for hostile definitions", () => {
    let [calls, refusals] = [0, 0];
    const wrong: string[] = [];
    for (const [what, value] of variants(config())) {
      calls += 1;
      try {
        void new Class(value as never);
      } catch (error) {
        refusals += 1;
        if (isForkpointError(error) && error.code === "INVALID_ARGUMENT") continue;
        wrong.push(`${what}: ${(error as Error)?.stack?.slice?.(0, 500)}`);
      }
    }
    expect(wrong, `${calls} calls`).toEqual([]);
    expect(refusals).toBeGreaterThan(50);
  });
});

test.each([
  ["CheckpointStore", CheckpointStore],
  ["WorkflowCheckpointStore", WorkflowCheckpointStore],
  ["ForkpointStorage", ForkpointStorage],
  ["SessionStore", SessionStore],
  ["Checkpointer", Checkpointer],
])("the constructor of %s throws an error of this package for hostile targets and options", (_, Contract) => {
  const good = {
    keepLastN: 1,
    serializer: { name: "mine", serialize: () => new Uint8Array(), deserialize: () => ({}) },
  };
  const given = [
    ...[...variants(undefined)].map(([what, target]) => [what, target, undefined] as const),
    ...[...variants(good)].map(([what, options]) => [what, "memory:", options] as const),
  ];
  let refusals = 0;
  for (const [what, target, options] of given) {
    try {
      void new (Contract as new (...args: unknown[]) => { close(): Promise<void> })(target, options).close();
    } catch (error) {
      refusals += 1;
      expect([what, isForkpointError(error)]).toEqual([what, true]);
      expect(error).toMatchObject({ code: "INVALID_ARGUMENT", retryable: false });
    }
  }
  expect(refusals).toBeGreaterThan(30);
});

describe("a serializer", () => {
  const mine = new Error("mine");
  const json: Serializer = {
    name: "mine",
    serialize: (value) => Buffer.from(JSON.stringify(value)),
    deserialize: (bytes) => JSON.parse(Buffer.from(bytes).toString()) as unknown,
  };
  const fail = (): never => {
    throw mine;
  };

  const contracts: Array<[name: string, write: string, ...reads: string[]]> = [
    ["CheckpointStore", "save", "get", "latest", "fork"],
    ["WorkflowCheckpointStore", "save", "load", "latest", "list"],
    ["ForkpointStorage", "set", "get", "list"],
    ["SessionStore", "saveState", "loadState"],
    ["Checkpointer", "put", "get", "getTuple", "stateHistory"],
  ];

  test.each(contracts)("that throws fails calls of %s with a code and its error", async (name, write, ...reads) => {
    const { open, calls } = subjects[name]!;
    // A workflow's step whose parent is missing is refused.
    const given = (method: string) => (method === "save" ? calls[method]!().slice(0, 1) : calls[method]!());
    const call = async (subject: Methods, method: string) => subject[method]!(...given(method));
    const file = join(folder(), "agent.db");
    const refusing = await openStore(file, { serializer: { ...json, serialize: fail } });
    const refusal = await failure(call(open(refusing), write), "INVALID_ARGUMENT");
    expect(refusal.message).toContain('the serializer "mine" threw Error: mine');
    expect(refusal.cause).toBe(mine);
    expect(await refusing.stats()).toMatchObject({ checkpoints: 0, records: 0 });
    await refusing.close();

    const writing = await openStore(file, { serializer: json });
    const subject = open(writing);
    await begin(subject);
    await call(subject, write);
    for (const read of reads) await call(subject, read);
    await writing.close();

    const unreadable = await openStore(file, { serializer: { ...json, deserialize: fail } });
    onTestFinished(() => unreadable.close());
    for (const read of reads) {
      const error = await failure(call(open(unreadable), read), "CORRUPT");
      expect(error.message).toMatch(/ cannot be read: the serializer "mine" threw Error: mine/);
      expect([error.cause, error.retryable]).toEqual([mine, false]);
    }
    expect((await unreadable.check()).ok).toBe(true);
  });
});

/** Begins what the calls on sessions need. */
async function begin(subject: Methods): Promise<void> {
  if (!("createSession" in subject)) return;
  await subject["createSession"]!("session", {});
  await subject["startRun"]!("session", { runId: "run" });
}

describe.each(Object.entries(subjects))("%s", (_, { open, calls }) => {
  test.each(Object.keys(calls))("%s() rejects hostile arguments with an error of this package", async (method) => {
    const store = await openStore("memory:");
    onTestFinished(() => store.close());
    const subject = open(store);
    await begin(subject);
    const { calls: made, wrong } = await wrongAnswers(subject, method, calls[method]!, isForkpointError);
    expect(wrong, `${made} calls`).toEqual([]);
    // The store still works, and everything in it can be read.
    await expectSound(store);
  });
});

const closable = Object.entries(subjects).filter(([name]) => !/Storage|Workflow$|Graph/.test(name));

test.each(closable)("every call of a %s that is closed rejects with CLOSED", async (_, { open, calls }) => {
  const store = await openStore("memory:");
  onTestFinished(() => store.close());
  const subject = open(store) as Methods & AsyncDisposable & { close(): Promise<void> };
  await Promise.all([subject.close(), subject.close()]);
  await subject[Symbol.asyncDispose]();
  for (const [method, given] of Object.entries(calls)) {
    const error = await failure(Promise.resolve(subject[method]!(...given())), "CLOSED");
    expect([error.message, error.retryable], method).toEqual([expect.stringContaining("closed"), false]);
  }
});
