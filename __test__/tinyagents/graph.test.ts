// Graphs over the checkpointer of this package: supersteps, edges, questions, durability, inspection, resume.
import {
  type CheckpointConfig,
  Checkpointer,
  Command,
  DrainController,
  END,
  Graph,
  type GraphCheckpointer,
  type GraphConfig,
  type GraphEvent,
  type NewThreadCheckpoint,
  type PendingWrite,
  RunDrainedError,
  START,
  Send,
  type ThreadCheckpoint,
} from "forkpoint/tinyagents";
import { beforeEach, describe, expect, it } from "vitest";
import { closing, failure, kinds, place, rejection, thrown } from "../helpers.js";
import { path } from "./helpers.js";

interface State {
  log: string[];
  n?: number;
}
type Update = { log?: string[]; n?: number };

const reducer = (state: State, { log = [], ...rest }: Update): State => ({
  ...state,
  ...rest,
  log: [...state.log, ...log],
});
const says = (name: string) => () => ({ log: [name] });
const empty: State = { log: [] };

/** The kind of target of the running tests. */
let running: (typeof kinds)[number] = "memory";

/** Describes tests that run on each kind of target. */
function over(name: string, tests: () => void): void {
  describe.each(kinds)(`${name} over %s`, (kind) => {
    beforeEach(() => {
      running = kind;
    });
    tests();
  });
}

function open(target = place(running)): Checkpointer<State> {
  return closing(new Checkpointer<State>(target));
}

type Config = Omit<GraphConfig<State, Update>, "reducer">;
const graphOf = (config: Config) => new Graph<State, Update>({ reducer, ...config });

const subOf = (subgraph: Graph<State, Update>) => ({
  subgraph,
  input: () => empty,
  output: ({ log }: State) => ({ log }),
});

/** A graph with a node that asks, and beside it one that does not. */
function asking(more: Partial<Config> = {}) {
  const { runs, nodes } = counting(["other"]);
  const checkpointer = open();
  const gate: Config["nodes"][string] = ({ n }, { interrupt }) => ({ log: [`${interrupt<string>("?")}${n ?? ""}`] });
  const graph = graphOf({ nodes: { gate, ...nodes }, edges: [[START, ["gate", "other"]]], checkpointer, ...more });
  return { graph, runs, checkpointer };
}

/** A graph that runs its nodes one after the other. */
const inLine = (nodes: Config["nodes"], more: Partial<Config> = {}) =>
  graphOf({ nodes, entry: Object.keys(nodes)[0]!, edges: path(...Object.keys(nodes)), ...more });

/** Counts how often each node has run. */
function counting(names: string[]) {
  const runs: Record<string, number> = {};
  const nodes = Object.fromEntries(
    names.map((name) => [
      name,
      () => {
        runs[name] = (runs[name] ?? 0) + 1;
        return { log: [name] };
      },
    ]),
  );
  return { runs, nodes };
}

describe.each(kinds)("over a %s store", (kind) => {
  it("runs nodes in supersteps and stores a checkpoint at each boundary", async () => {
    const checkpointer = open(place(kind));
    const graph = graphOf({
      nodes: { a: says("a"), b1: says("b1"), b2: says("b2"), c: says("c") },
      edges: [...path(START, "a"), ["a", ["b1", "b2"]], [["b1", "b2"], "c"]],
      checkpointer,
    });
    const { state, status, step, runId } = await graph.invoke(empty, { threadId: "t" });
    expect({ status, step, log: state.log }).toEqual({ status: "done", step: 3, log: ["a", "b1", "b2", "c"] });
    const history = await graph.getStateHistory("t");
    expect(history.map(({ next, metadata }) => [next, metadata["source"], metadata["step"]])).toEqual([
      [[], "loop", 3],
      [["c"], "loop", 2],
      [["b1", "b2"], "loop", 1],
      [["a"], "input", 0],
    ]);
    expect((await checkpointer.stateHistory("t")).map((checkpoint) => checkpoint.runId)).toEqual(
      Array.from({ length: 4 }, () => runId),
    );
  });

  it("asks a question, and goes on with the answer in another graph object", async () => {
    const target = place(kind);
    const checkpointer = open(target);
    const { runs, nodes } = counting(["other", "after"]);
    const make = (over: Checkpointer<State>) =>
      graphOf({
        nodes: {
          ...nodes,
          gate: (_, context) => ({ log: [`said ${context.interrupt<string>({ ask: "go on?" })}`] }),
        },
        edges: [[START, ["gate", "other"]], ...path("gate", "after")],
        checkpointer: over,
      });
    const asked = await make(checkpointer).invoke(empty, { threadId: "t" });
    expect(asked).toMatchObject({
      status: "interrupted",
      interrupts: [{ node: "gate", namespace: [], value: { ask: "go on?" } }],
      state: empty,
    });
    const snapshot = (await make(checkpointer).getState("t"))!;
    expect(snapshot.tasks.map(({ node, status }) => [node, status])).toEqual([
      ["gate", "interrupted"],
      ["other", "done"],
    ]);
    expect(snapshot.interrupts).toEqual(asked.interrupts);
    expect(snapshot.next).toEqual(["gate"]);
    // Without an answer, nothing runs.
    expect((await make(checkpointer).resume("t")).status).toBe("interrupted");
    expect(runs).toEqual({ other: 1 });
    const { state, status } = await make(checkpointer).resume("t", { resume: "yes" });
    expect({ status, log: state.log }).toEqual({ status: "done", log: ["said yes", "other", "after"] });
    expect(runs).toEqual({ other: 1, after: 1 });
  });
});

over("edges", () => {
  it("conditional edges, loops, commands and sends choose the next nodes", async () => {
    const graph = graphOf({
      nodes: {
        count: ({ n = 0 }) => ({ n: n + 1, log: [`count ${n + 1}`] }),
        fan: () => new Command({ update: { log: ["fan"] }, goto: [new Send("item", 1), new Send("item", 2)] }),
        item: (_, { sendArg }) => ({ log: [`item ${sendArg}`] }),
        last: says("last"),
      },
      entry: "count",
      edges: [["count", async ({ n = 0 }) => (n < 3 ? "count" : "fan")], ...path("item", "last", END)],
    });
    const { state } = await graph.invoke(empty);
    expect(state.log).toEqual(["count 1", "count 2", "count 3", "fan", "item 1", "item 2", "last"]);
  });

  it("folds updates in the order of activation, whichever task ends first", async () => {
    const slow = (name: string, ms: number) => async () => {
      await new Promise((resolve) => setTimeout(resolve, ms));
      return { log: [name] };
    };
    const graph = graphOf({
      nodes: { a: slow("a", 20), b: slow("b", 10), c: slow("c", 0) },
      edges: [[START, ["a", "b", "c"]]],
    });
    expect((await graph.invoke(empty)).state.log).toEqual(["a", "b", "c"]);
  });

  it("every task gets its own copy of the state", async () => {
    const graph = graphOf({
      nodes: { a: (state) => void state.log.push("changed"), b: ({ log }) => ({ log: [`saw ${log.length}`] }) },
      edges: [[START, ["a", "b"]]],
    });
    expect((await graph.invoke(empty)).state.log).toEqual(["saw 0"]);
  });

  it.each<[string, Config, string]>([
    ["no first node", { nodes: { a: says("a") } }, "first node"],
    ["an unknown entry", { nodes: { a: says("a") }, entry: "b" }, '"b"'],
    ["an unknown target", { nodes: { a: says("a") }, entry: "a", edges: [["a", "x"]] }, "edges[0][1]"],
    ["a reserved name", { nodes: { [START]: says("a") }, entry: START }, "cannot be the name"],
    ["a wrong policy", { nodes: { a: { run: says("a"), effectClass: "big" as "pure" } }, entry: "a" }, "effectClass"],
    ["no function", { nodes: { a: {} as never }, entry: "a" }, "either run or subgraph"],
    ["an unknown option", { nodes: { a: says("a") }, entry: "a", edge: [] } as Config, 'Did you mean "edges"?'],
  ])("refuses a graph with %s", (_, config, message) => {
    expect(thrown(() => graphOf(config)).message).toContain(message);
  });

  it("ends an endless loop", async () => {
    const graph = graphOf({ nodes: { a: says("a") }, entry: "a", edges: [["a", "a"]], maxSupersteps: 5 });
    expect((await failure(graph.invoke(empty), "INVALID_ARGUMENT")).message).toContain("5 supersteps");
  });

  it("names an unknown node that a command or a conditional edge chose", async () => {
    const command = graphOf({ nodes: { a: () => new Command({ goto: "x" }) }, entry: "a" });
    expect(await failure(command.invoke(empty), "INVALID_ARGUMENT")).toMatchObject({ node: "a" });
    const edge = graphOf({ nodes: { a: says("a") }, entry: "a", edges: [["a", () => "x"]] });
    expect((await failure(edge.invoke(empty), "INVALID_ARGUMENT")).message).toContain('a conditional edge of node "a"');
  });
});

over("failures", () => {
  it("an error passes through with the node and the task, and completed tasks do not run again", async () => {
    const { runs, nodes } = counting(["good", "next"]);
    let broken = true;
    const error = new Error("boom");
    const graph = graphOf({
      nodes: {
        ...nodes,
        bad: async () => {
          await new Promise((resolve) => setTimeout(resolve, 5));
          if (broken) throw error;
          return { log: ["bad"] };
        },
      },
      edges: [
        [START, ["good", "bad"]],
        [["good", "bad"], "next"],
      ],
      checkpointer: open(),
    });
    const caught = await rejection(graph.invoke(empty, { threadId: "t" }));
    expect(caught).toBe(error);
    expect(caught).toMatchObject({ node: "bad", threadId: "t", cause: { node: "bad" } });
    const { tasks } = (await graph.getState("t"))!;
    expect(tasks.map(({ node, status, error: why, result }) => ({ node, status, why, result }))).toEqual([
      { node: "good", status: "done", result: { log: ["good"] }, why: undefined },
      { node: "bad", status: "failed", why: { name: "Error", message: "boom" }, result: undefined },
    ]);
    broken = false;
    expect((await graph.resume("t")).state.log).toEqual(["good", "bad", "next"]);
    expect(runs).toEqual({ good: 1, next: 1 });
  });

  it("tries again with growing waits, and gives up after that", async () => {
    const events: Array<GraphEvent<State>> = [];
    let attempts = 0;
    const graph = inLine({
      a: {
        run: (_, { attempt }) => {
          attempts += 1;
          if (attempt < 2) throw new Error(`attempt ${attempt}`);
          return { log: ["a"] };
        },
        retry: { maxRetries: 2, backoffMs: 1 },
      },
    });
    for await (const event of graph.stream(empty)) events.push(event);
    expect(attempts).toBe(3);
    const retries = events.flatMap((event) => (event.type === "task" && event.status === "retry" ? [event] : []));
    expect(retries.map(({ attempt, delayMs }) => [attempt, delayMs])).toEqual([
      [0, 1],
      [1, 2],
    ]);
    expect(events.map(({ type }) => type).filter((type) => type !== "task")).toEqual([
      "run.start",
      "state",
      "superstep.start",
      "state",
      "run.complete",
    ]);
  });

  it("an attempt that takes too long fails and its signal aborts", async () => {
    let signalled: AbortSignal | undefined;
    const graph = inLine({
      slow: { run: (_, { signal }) => new Promise(() => void (signalled = signal)), timeoutMs: 10 },
    });
    expect(await failure(graph.invoke(empty), "UNAVAILABLE")).toMatchObject({ node: "slow" });
    expect(signalled!.aborted).toBe(true);
  });

  it("an abort ends the run at once with the reason", async () => {
    const control = new AbortController();
    const graph = inLine(
      { a: () => (control.abort(new Error("enough")), new Promise(() => {})) },
      { checkpointer: open() },
    );
    expect((await rejection(graph.invoke(empty, { threadId: "t", signal: control.signal }))).message).toBe("enough");
    expect((await graph.getState("t"))!.next).toEqual(["a"]);
  });

  it("a drain finishes the superstep, and a resume goes on", async () => {
    const drain = new DrainController();
    const graph = inLine({ a: () => (drain.requestDrain(), { log: ["a"] }), b: says("b") }, { checkpointer: open() });
    expect(await rejection(graph.invoke(empty, { threadId: "t", drain }))).toBeInstanceOf(RunDrainedError);
    expect((await graph.resume("t")).state.log).toEqual(["a", "b"]);
  });

  it("one thread runs once at a time", async () => {
    const graph = inLine(
      { a: () => new Promise<void>((resolve) => setTimeout(resolve, 20)) },
      { checkpointer: open() },
    );
    const first = graph.invoke(empty, { threadId: "t" });
    expect((await failure(graph.resume("t"), "CONFLICT")).message).toContain('thread "t"');
    await first;
  });
});

over("durability", () => {
  /** A checkpointer of the user that puts in this way. */
  function putting(put: (inner: Checkpointer<State>, checkpoint: NewThreadCheckpoint<State>) => Promise<string>) {
    const inner = open();
    const rest = { getTuple: inner.getTuple.bind(inner), putWrites: inner.putWrites.bind(inner) };
    return {
      ...rest,
      get: inner.get.bind(inner),
      put: (checkpoint: NewThreadCheckpoint<State>) => put(inner, checkpoint),
    };
  }

  const chain = (checkpointer: GraphConfig<State, Update>["checkpointer"], more: Partial<Config> = {}) =>
    inLine({ a: says("a"), b: says("b") }, { ...(checkpointer && { checkpointer }), ...more });

  it("sync stores before the next step, async behind it and in order, exit at the end", async () => {
    for (const [durability, expected] of [
      ["sync", ["put 0", "a", "put 1", "b", "put 2"]],
      ["async", ["a", "b", "put 0", "put 1", "put 2"]],
      ["exit", ["a", "b", "put 2"]],
    ] as const) {
      const order: string[] = [];
      const slow = putting(async (inner, checkpoint) => {
        await new Promise((resolve) => setTimeout(resolve, 10));
        order.push(`put ${checkpoint.metadata?.["step"]}`);
        return inner.put(checkpoint);
      });
      const noting = (name: string) => () => void order.push(name);
      const graph = chain(slow, { nodes: { a: noting("a"), b: noting("b") }, durability });
      await graph.invoke(empty, { threadId: "t" });
      expect(order).toEqual(expected);
    }
  });

  it("async stops after a failed write, and the run rejects with it", async () => {
    const stored: unknown[] = [];
    const failing = putting(async (inner, checkpoint) => {
      const step = checkpoint.metadata?.["step"];
      if (step === 1) throw new Error("disk");
      stored.push(step);
      return inner.put(checkpoint);
    });
    const graph = chain(failing, { durability: "async" });
    expect((await rejection(graph.invoke(empty, { threadId: "t" }))).message).toBe("disk");
    expect(stored).toEqual([0]);
  });

  it("exit stores the questions, and what a failed superstep had done", async () => {
    const { graph, runs } = asking({ durability: "exit" });
    await graph.invoke(empty, { threadId: "t" });
    expect((await graph.getState("t"))!.interrupts).toMatchObject([{ value: "?" }]);
    expect((await graph.resume("t", { resume: "!" })).state.log).toEqual(["!", "other"]);
    expect(runs).toEqual({ other: 1 });
    expect(await graph.getStateHistory("t")).toHaveLength(2);
  });

  it("checkpoint policies of the graph and of its nodes", async () => {
    const steps = async (more: Partial<Config>) => {
      const checkpointer = open();
      await chain(checkpointer, more).invoke(empty, { threadId: "t" });
      return (await checkpointer.list("t")).map(({ metadata }) => metadata["step"]);
    };
    const nodes = (checkpoint: "before" | "none") => ({ a: says("a"), b: { run: says("b"), checkpoint } });
    expect(await steps({})).toEqual([0, 1, 2]);
    expect(await steps({ checkpoint: "none" })).toEqual([]);
    expect(await steps({ checkpoint: "explicit" })).toEqual([]);
    expect(await steps({ checkpoint: "explicit", nodes: nodes("before") })).toEqual([1]);
    expect(await steps({ nodes: nodes("none") })).toEqual([0, 1]);
  });
});

over("effect classes", () => {
  it("a resume uses the results of write, external and human, and runs pure and read again", async () => {
    const runs: Record<string, number> = {};
    const node = (effectClass: "pure" | "read" | "write" | "external" | "human") => ({
      effectClass,
      run: () => ({ log: [`${effectClass} ${(runs[effectClass] = (runs[effectClass] ?? 0) + 1)}`] }),
    });
    const classes = ["pure", "read", "write", "external", "human"] as const;
    const graph = graphOf({
      nodes: {
        ...Object.fromEntries(classes.map((each) => [each, node(each)])),
        gate: (_, { interrupt }) => ({ log: [interrupt<string>()] }),
      },
      edges: [[START, [...classes, "gate"]]],
      checkpointer: open(),
    });
    await graph.invoke(empty, { threadId: "t" });
    const { state } = await graph.resume("t", { resume: "ok" });
    expect(state.log).toEqual(["pure 2", "read 2", "write 1", "external 1", "human 1", "ok"]);
  });

  it("the result of a single external task is recorded, and used when an older checkpoint is continued", async () => {
    let calls = 0;
    const graph = inLine(
      { call: { effectClass: "external", run: () => ({ log: [`call ${++calls}`] }) }, b: says("b") },
      { checkpointer: open() },
    );
    await graph.invoke(empty, { threadId: "t" });
    const first = (await graph.getStateHistory("t")).at(-1)!;
    const { state } = await graph.resumeFrom("t", first.config.checkpointId);
    expect([state.log, calls]).toEqual([["call 1", "b"], 1]);
  });
});

over("memory", () => {
  it.each(["live", "snapshot", "journaled"] as const)("%s memory is saved and restored", async (consistency) => {
    const restored: unknown[] = [];
    const graph = graphOf({
      nodes: { gate: { run: (_, { interrupt }) => ({ log: [interrupt<string>()] }), memory: { consistency } } },
      entry: "gate",
      checkpointer: open(),
      memory: {
        capture: () => ({ reads: [{ traceId: "r" }], pendingWrites: [{ type: "w" }] }),
        restore: (snapshot) => void restored.push(snapshot),
      },
    });
    await graph.invoke(empty, { threadId: "t" });
    await graph.resume("t", { resume: "ok" });
    const reads = [{ traceId: "r" }];
    const expected = {
      live: [],
      snapshot: [{ reads, pendingWrites: [] }],
      journaled: [{ reads, pendingWrites: [{ type: "w" }] }],
    };
    expect(restored).toEqual(expected[consistency]);
  });
});

over("inspection and time travel", () => {
  const three = (checkpointer = open()) => {
    const { runs, nodes } = counting(["a", "b", "c"]);
    const graph = inLine(nodes, { checkpointer });
    return { graph, runs, checkpointer };
  };

  it("getState and getStateHistory", async () => {
    const { graph } = three();
    expect(await graph.getState("t")).toBeNull();
    expect(await graph.getStateHistory("t")).toEqual([]);
    await graph.invoke(empty, { threadId: "t" });
    const [latest, before, , first] = await graph.getStateHistory("t");
    expect(await graph.getState("t")).toEqual(latest);
    expect(await graph.getState("t", before!.config.checkpointId)).toEqual(before);
    expect(await graph.getState("t", "unknown")).toBeNull();
    expect(latest).toMatchObject({ values: { log: ["a", "b", "c"] }, next: [], parentConfig: before!.config });
    expect(latest!.createdAt).toBeGreaterThan(0);
    const ids = async (options: Parameters<typeof graph.getStateHistory>[1]) =>
      (await graph.getStateHistory("t", options)).map(({ metadata }) => metadata["step"]);
    expect(await ids({ limit: 2 })).toEqual([3, 2]);
    expect(await ids({ before: before!.config.checkpointId })).toEqual([1, 0]);
    expect(await ids({ before: first!.config.checkpointId })).toEqual([]);
    expect(await ids({ filter: { source: "input" } })).toEqual([0]);
  });

  it("resumeFrom runs the pending nodes of an older checkpoint and changes nothing that is stored", async () => {
    const { graph, runs, checkpointer } = three();
    await graph.invoke(empty, { threadId: "t" });
    const before = await checkpointer.stateHistory("t");
    const { state } = await graph.resumeFrom("t", before[2]!.checkpointId);
    expect([state.log, runs]).toEqual([["a", "b", "c"], { a: 1, b: 2, c: 2 }]);
    for (const old of before) expect(await checkpointer.get("t", old.checkpointId)).toEqual(old);
    expect(await checkpointer.list("t")).toHaveLength(6);
    await failure(graph.resumeFrom("t", "unknown"), "NOT_FOUND");
    await failure(graph.resume("nobody"), "NOT_FOUND");
  });

  it("an older question can be answered differently, and its checkpoint does not change", async () => {
    const { graph, runs, checkpointer } = asking();
    const { checkpointId } = await graph.invoke(empty, { threadId: "t" });
    await graph.resume("t", { resume: "yes" });
    const tuple = await checkpointer.getTuple({ threadId: "t", checkpointId: checkpointId! });
    const { state } = await graph.resumeFrom("t", checkpointId!, { resume: "no" });
    expect([state.log, runs]).toEqual([["no", "other"], { other: 1 }]);
    expect(await checkpointer.getTuple({ threadId: "t", checkpointId: checkpointId! })).toEqual(tuple);
  });

  it("updateState goes through the reducer, with and without a node", async () => {
    const { graph } = three();
    await failure(graph.updateState("t", { n: 1 }), "NOT_FOUND");
    await graph.invoke(empty, { threadId: "t" });
    const config = await graph.updateState("t", { log: ["me"] });
    expect(await graph.getState("t")).toMatchObject({ config, next: [], metadata: { source: "update", step: 4 } });
    await graph.updateState("t", { n: 5 }, "a");
    expect(await graph.getState("t")).toMatchObject({ values: { n: 5, log: ["a", "b", "c", "me"] }, next: ["b"] });
    await failure(graph.updateState("t", {}, "x"), "INVALID_ARGUMENT");
    await failure(graph.bulkUpdateState("t", []), "INVALID_ARGUMENT");
    const misnamed = rejection(graph.bulkUpdateState("t", [{ update: { n: 6 } }, { values: { n: 7 } } as never]));
    expect(await misnamed).toMatchObject({ code: "INVALID_ARGUMENT", message: expect.stringContaining('"values"') });
    expect(await graph.getState("t")).toMatchObject({ values: { n: 5 } });
    const last = await graph.bulkUpdateState("t", [{ update: { n: 6 } }, { update: { n: 7 }, asNode: "b" }]);
    expect(await graph.getState("t")).toMatchObject({ config: last, values: { n: 7 }, next: ["c"] });
    expect((await graph.resume("t")).state.log.at(-1)).toBe("c");
  });

  it("an update keeps the results and the questions of waiting tasks", async () => {
    const { graph, runs } = asking();
    await graph.invoke(empty, { threadId: "t" });
    await graph.updateState("t", { n: 9 });
    expect((await graph.getState("t"))!.interrupts).toMatchObject([{ value: "?" }]);
    expect((await graph.resume("t", { resume: "ok" })).state.log).toEqual(["ok9", "other"]);
    expect(runs).toEqual({ other: 1 });
  });

  it("forkState copies a checkpoint with its writes, and leaves the source alone", async () => {
    const { graph, runs, checkpointer } = asking();
    await graph.invoke(empty, { threadId: "t" });
    const source = await checkpointer.getTuple({ threadId: "t" });
    const config = await graph.forkState("t", null, "u");
    expect(await graph.getState("u")).toMatchObject({ config, parentConfig: null, metadata: { source: "fork" } });
    expect(await checkpointer.getWrites({ threadId: "u" })).toHaveLength(source!.pendingWrites.length);
    expect((await graph.resume("u", { resume: "forked" })).state.log).toEqual(["forked", "other"]);
    expect(await checkpointer.getTuple({ threadId: "t" })).toEqual(source);
    expect(runs).toEqual({ other: 1 });
    await failure(graph.forkState("t", "unknown", "v"), "NOT_FOUND");
  });

  it("a command updates the state and activates nodes before the run continues", async () => {
    const { graph } = three();
    await graph.invoke(empty, { threadId: "t" });
    const { state } = await graph.invoke(new Command({ update: { n: 1 }, goto: "b" }), { threadId: "t" });
    expect(state).toEqual({ n: 1, log: ["a", "b", "c", "b", "c"] });
  });

  it("answers to single tasks leave the others waiting", async () => {
    const gate =
      (name: string) =>
      (_: State, { interrupt }: { interrupt<T>(): T }) => ({
        log: [`${name} ${interrupt<string>()}`],
      });
    const graph = graphOf({
      nodes: { a: gate("a"), b: gate("b") },
      edges: [[START, ["a", "b"]]],
      checkpointer: open(),
    });
    await graph.invoke(empty, { threadId: "t" });
    const { interrupts } = await graph.resume("t", { answers: { b: 2 } });
    expect(interrupts.map(({ node }) => node)).toEqual(["a"]);
    const { state } = await graph.resume("t", { answers: { [interrupts[0]!.taskId]: 1 } });
    expect(state.log).toEqual(["a 1", "b 2"]);
    const unknown = graph.resume("t", { answers: { zzz: 1 } });
    expect((await failure(unknown, "CONFLICT")).message).toContain('"zzz"');
  });

  it("a node asks several questions, one after another", async () => {
    const graph = inLine(
      { gate: (_, { interrupt }) => ({ log: [interrupt<string>(1), interrupt<string>(2)] }) },
      { checkpointer: open() },
    );
    const first = await graph.invoke(empty, { threadId: "t" });
    const second = await graph.resume("t", { resume: "one" });
    expect([first, second].map(({ interrupts }) => interrupts[0]!.value)).toEqual([1, 2]);
    expect((await graph.resume("t", { resume: "two" })).state.log).toEqual(["one", "two"]);
  });

  it("a question needs a checkpointer", async () => {
    const graph = graphOf({ nodes: { gate: (_, { interrupt }) => interrupt("?") }, entry: "gate" });
    await failure(graph.invoke(empty), "INVALID_ARGUMENT");
    await failure(graph.getState("t"), "INVALID_ARGUMENT");
  });

  it("a node that the graph no longer has is named", async () => {
    const checkpointer = open();
    await checkpointer.put({ threadId: "t", state: empty, nextNodes: ["old"] });
    expect((await failure(three(checkpointer).graph.resume("t"), "CONFLICT")).message).toContain('"old"');
  });

  it("a checkpoint that was put by hand can be continued, and its completed tasks are skipped", async () => {
    const { graph, runs, checkpointer } = three();
    await checkpointer.put({
      threadId: "t",
      state: empty,
      nextNodes: ["a", "c"],
      pendingWrites: [
        { node: "a", taskId: "1", idx: 0, channel: "__update__", payload: { log: ["recorded"] } },
        { node: "a", taskId: "1", idx: 2, channel: "__done__", payload: true },
      ],
    });
    expect((await graph.resume("t")).state.log).toEqual(["recorded", "c", "b", "c"]);
    expect(runs).toEqual({ b: 1, c: 2 });
  });

  it("a thread continues with its state when the graph says how an input is taken up", async () => {
    const graph = new Graph<State, Update, string>({
      nodes: { reply: ({ log }) => ({ log: [`reply to ${log.at(-1)}`] }) },
      entry: "reply",
      reducer,
      input: (current, text) => reducer(current ?? empty, { log: [text] }),
      checkpointer: open(),
    });
    await graph.invoke("hello", { threadId: "t" });
    const { state, step } = await graph.invoke("again", { threadId: "t" });
    expect([state.log, step]).toEqual([["hello", "reply to hello", "again", "reply to again"], 3]);
  });
});

over("subgraphs", () => {
  it("run in a namespace of their task, ask through it, and continue where they were", async () => {
    const { runs, nodes } = counting(["before", "inside", "after"]);
    const checkpointer = open();
    const inner = inLine({
      inside: nodes["inside"]!,
      gate: (_, { interrupt }) => ({ log: [interrupt<string>("inner?")] }),
    });
    const graph = inLine(
      {
        before: nodes["before"]!,
        sub: subOf(inner),
        after: nodes["after"]!,
      },
      { checkpointer },
    );
    const { interrupts } = await graph.invoke(empty, { threadId: "t" });
    const [{ taskId, namespace, node }] = interrupts as [(typeof interrupts)[0]];
    expect({ node, namespace }).toEqual({ node: "sub", namespace: [taskId] });
    expect((await inner.getState.call(graph, "t", null, namespace))!.next).toEqual(["gate"]);
    const fork = await graph.forkState("t", null, "u");
    const { state } = await graph.resume("t", { resume: "yes" });
    expect(state.log).toEqual(["before", "inside", "yes", "after"]);
    expect((await graph.resume(fork.threadId, { resume: "no" })).state.log).toEqual([
      "before",
      "inside",
      "no",
      "after",
    ]);
    expect(runs).toEqual({ before: 1, inside: 1, after: 2 });
  });

  it("stop at a drain, and fail with the error of their node; both continue where they were", async () => {
    const drain = new DrainController();
    const { runs, nodes } = counting(["first"]);
    let broken = true;
    const inner = inLine({
      drains: () => drain.requestDrain(),
      ...nodes,
      breaks: () => {
        if (broken) throw new Error("inner");
        return { log: ["last"] };
      },
    });
    const sub = subOf(inner);
    const graph = graphOf({ nodes: { sub }, entry: "sub", checkpointer: open() });
    expect(await rejection(graph.invoke(empty, { threadId: "t", drain }))).toBeInstanceOf(RunDrainedError);
    const seen: Array<[string, number]> = [];
    const running = async () => {
      for await (const event of graph.stream(null, { threadId: "t" })) seen.push([event.type, event.namespace.length]);
    };
    expect(await rejection(running())).toMatchObject({ message: "inner", node: "sub" });
    expect(seen).toContainEqual(["checkpoint.saved", 1]);
    broken = false;
    expect((await graph.resume("t")).state.log).toEqual(["first", "last"]);
    expect(runs).toEqual({ first: 1 });
  });

  it("begin anew on every visit", async () => {
    const inner = graphOf({ nodes: { x: says("x") }, entry: "x" });
    const graph = graphOf({
      nodes: { sub: subOf(inner) },
      entry: "sub",
      edges: [["sub", ({ log }) => (log.length < 3 ? "sub" : END)]],
      checkpointer: open(),
    });
    expect((await graph.invoke(empty, { threadId: "t" })).state.log).toEqual(["x", "x", "x"]);
  });
});

describe("a checkpointer of the user", () => {
  /** Keeps the objects that it is given in lists, and gives back the same objects. */
  class Lists implements GraphCheckpointer<State> {
    readonly checkpoints: Array<ThreadCheckpoint<State>> = [];
    readonly writes: Array<{ id: string; write: PendingWrite }> = [];

    async put(checkpoint: NewThreadCheckpoint<State>) {
      this.checkpoints.push(checkpoint as ThreadCheckpoint<State>);
    }

    async get(threadId: string, checkpointId?: string | null, namespace: string[] = []) {
      const is = (each: ThreadCheckpoint<State>) =>
        each.threadId === threadId &&
        each.namespace.join() === namespace.join() &&
        (checkpointId ?? each.checkpointId) === each.checkpointId;
      return this.checkpoints.findLast(is) ?? null;
    }

    async getTuple({ threadId, checkpointId, namespace = [] }: CheckpointConfig) {
      const checkpoint = await this.get(threadId, checkpointId, namespace);
      if (checkpoint === null) return null;
      const id = checkpoint.checkpointId;
      const at = (one: string) => ({ threadId, namespace, checkpointId: one });
      const parent = checkpoint.parentCheckpointId;
      const pendingWrites = this.writes.filter((each) => each.id === id).map(({ write }) => write);
      return { config: at(id), checkpoint, parentConfig: parent === null ? null : at(parent), pendingWrites };
    }

    async putWrites({ checkpointId }: CheckpointConfig, writes: readonly PendingWrite[]) {
      this.writes.push(...writes.map((write) => ({ id: checkpointId!, write })));
    }
  }

  it("needs four methods, and its objects are not changed", async () => {
    const checkpointer = new Lists();
    const { runs, nodes } = counting(["other"]);
    const graph = graphOf({
      nodes: {
        ...nodes,
        gate: (state, { interrupt }) => {
          state.log.push("changed in place");
          return { log: [interrupt<string>("?")] };
        },
        z: (state) => void state.log.pop(),
      },
      edges: [[START, ["other", "gate"]], ...path("gate", "z")],
      checkpointer,
    });
    await graph.invoke(empty, { threadId: "t" });
    const { state } = await graph.resume("t", { resume: "ok" });
    expect([state.log, runs]).toEqual([["other", "ok"], { other: 1 }]);
    expect((await graph.getStateHistory("t")).map(({ values }) => values.log.length)).toEqual([2, 2, 0]);
  });

  it("without the methods, it is refused", () => {
    const checkpointer = { put: async () => {} } as never;
    expect(thrown(() => graphOf({ nodes: { a: says("a") }, entry: "a", checkpointer })).message).toContain("getTuple");
  });
});

it("the reader of a stream that leaves early aborts the run", async () => {
  let signal: AbortSignal | undefined;
  const graph = inLine({ a: (_, context) => new Promise<void>(() => void (signal = context.signal)) });
  for await (const event of graph.stream(empty)) if (event.type === "task") break;
  expect(signal!.aborted).toBe(true);
});

it("continuing before a subgraph runs the subgraph from its beginning", async () => {
  const { runs, nodes } = counting(["inside"]);
  const inner = graphOf({ nodes, entry: "inside" });
  const sub = subOf(inner);
  const graph = graphOf({ nodes: { sub }, entry: "sub", checkpointer: open() });
  await graph.invoke(empty, { threadId: "t" });
  const first = (await graph.getStateHistory("t")).at(-1)!.config.checkpointId;
  expect((await graph.resumeFrom("t", first)).state.log).toEqual(["inside"]);
  expect(runs).toEqual({ inside: 2 });
});
