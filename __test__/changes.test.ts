// A workflow of Agentium or a graph of TinyAgents changes while one of its runs is open: the tables of docs/changes.md.
import { type Store, openStore } from "forkpoint";
import { Workflow, WorkflowCheckpointStore } from "forkpoint/agentium";
import { Checkpointer, Graph, type GraphConfig } from "forkpoint/tinyagents";
import { describe, expect, it, onTestFinished } from "vitest";

async function open(): Promise<Store> {
  const store = await openStore("memory:");
  onTestFinished(() => store.close());
  return store;
}

const crash = () => {
  throw new Error("a crash");
};

interface Log {
  log: string[];
}

describe("Agentium", () => {
  function workflow(store: Store, names: string[], others: Record<string, () => never> = {}, more = {}) {
    const steps = names.map((name) => ({
      name,
      run: others[name] ?? (({ log }: Log) => ({ log: [...log, name] })),
    }));
    const checkpointStore = new WorkflowCheckpointStore<Log>(store);
    const made = new Workflow<Log>({ name: "w", initialState: { log: [] }, checkpointStore, steps, register: false });
    return made.runWithCheckpoints({ runId: "run", resume: true, ...more });
  }

  it.each([
    ["adds a later step", ["a", "b", "new", "c"], ["a", "b", "new", "c"]],
    ["renames the next step", ["a", "b", "C"], ["a", "b", "C"]],
    ["removes the next step", ["a", "b"], ["a", "b"]],
    ["renames an earlier step", ["A", "b", "c"], ["a", "b", "c"]],
  ])("%s", async (_, names, log) => {
    const store = await open();
    await expect(workflow(store, ["a", "b", "c"], { c: crash })).rejects.toThrow("a crash");
    expect((await workflow(store, names)).state).toEqual({ log });
  });

  it.each([
    ["renames the last completed step", ["a", "B", "c"]],
    ["adds a step before it", ["new", "a", "b", "c"]],
    ["removes a step before it", ["b", "c"]],
  ])("%s: CONFLICT", async (_, names) => {
    const store = await open();
    await expect(workflow(store, ["a", "b", "c"], { c: crash })).rejects.toThrow("a crash");
    await expect(workflow(store, names)).rejects.toMatchObject({ code: "CONFLICT" });
    expect((await workflow(store, names, {}, { force: true })).state.log.slice(0, 2)).toEqual(["a", "b"]);
  });

  it("adds a step at the end: a finished run runs it when it is resumed", async () => {
    const store = await open();
    await workflow(store, ["a", "b"]);
    expect((await new WorkflowCheckpointStore(store).runs()).runs).toMatchObject([{ status: "finished" }]);
    expect((await workflow(store, ["a", "b", "c"])).state).toEqual({ log: ["a", "b", "c"] });
  });
});

describe("TinyAgents", () => {
  type Options = Required<Pick<GraphConfig<Log, Partial<Log>>, "nodes" | "edges">>;
  const reducer = (state: Log, { log = [] }: Partial<Log>): Log => ({ log: [...state.log, ...log] });
  const logs = (...names: string[]) => Object.fromEntries(names.map((name) => [name, () => ({ log: [name] })]));
  const threadId = "thread";

  function graph(store: Store, { nodes, edges }: Options) {
    const entry = Object.keys(nodes)[0]!;
    return new Graph<Log, Partial<Log>>({ nodes, entry, edges, reducer, checkpointer: new Checkpointer<Log>(store) });
  }

  const begin = (store: Store, options: Options) => graph(store, options).invoke({ log: [] }, { threadId });

  it("removes the next node: CONFLICT. Keeps it without an edge that leads to it", async () => {
    const store = await open();
    const old = { nodes: { ...logs("one"), two: crash }, edges: [["one", "two"]] } satisfies Options;
    await expect(begin(store, old)).rejects.toThrow("a crash");
    const without = graph(store, { nodes: logs("one", "new"), edges: [["one", "new"]] });
    const conflict = { code: "CONFLICT", message: expect.stringContaining('"two"') };
    await expect(without.resume(threadId)).rejects.toMatchObject(conflict);
    await expect(without.updateState(threadId, {}, "one")).rejects.toMatchObject(conflict);
    const nodes = logs("one", "new", "two", "last");
    const edges: Options["edges"] = [
      ["one", "new"],
      ["two", "last"],
    ];
    expect((await graph(store, { nodes, edges }).resume(threadId)).state.log).toEqual(["one", "two", "last"]);
  });

  it("removes a node inside a subgraph: CONFLICT", async () => {
    const store = await open();
    const nested = (name: string): Options => {
      const asks = {
        [name]: (_: Log, { interrupt }: { interrupt: (question: string) => string }) => ({ log: [interrupt("?")] }),
      };
      const subgraph = new Graph<Log, Partial<Log>>({ nodes: asks, entry: name, reducer });
      return { nodes: { inner: { subgraph, input: (state: Log) => state, output: (state: Log) => state } }, edges: [] };
    };
    expect((await begin(store, nested("ask"))).status).toBe("interrupted");
    const changed = graph(store, nested("review")).resume(threadId, { resume: "yes" });
    await expect(changed).rejects.toMatchObject({ code: "CONFLICT" });
  });

  it("changes a barrier: its order does not matter. After a renaming, what follows it never runs", async () => {
    const joined = (first: string, second: (() => never) | undefined, join: string[]): Options => ({
      nodes: { ...logs("start", first, "b1", "b2", "last"), ...(second && { b2: second }) },
      edges: [
        ["start", [first, "b1"]],
        ["b1", "b2"],
        [join, "last"],
      ],
    });
    for (const [first, join, last] of [
      ["a", ["b2", "a"], ["b2", "last"]],
      ["A", ["A", "b2"], ["b2"]],
    ] as const) {
      const store = await open();
      await expect(begin(store, joined("a", crash, ["a", "b2"]))).rejects.toThrow("a crash");
      const { state } = await graph(store, joined(first, undefined, [...join])).resume(threadId);
      expect(state.log.slice(3)).toEqual(last);
    }
  });

  it("adds a question before another: the answer goes to the new one", async () => {
    const store = await open();
    const asking = (...questions: string[]): Options => ({
      nodes: { ask: (_, { interrupt }) => ({ log: questions.map((question) => interrupt<string>(question)) }) },
      edges: [],
    });
    await begin(store, asking("refund?"));
    const { interrupts } = await graph(store, asking("language?", "refund?")).resume(threadId, { resume: "yes" });
    expect(interrupts.map(({ value }) => value)).toEqual(["refund?"]);
  });
});
