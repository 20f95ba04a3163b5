// A workflow of Agentium or a graph of TinyAgents changes while one of its runs is open: the tables of docs/changes.md.
// programs/ has each change at each place of a run.
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
  function workflow(store: Store, names: string[], more = {}) {
    const steps = names.map((name) => ({ name, run: ({ log }: Log) => ({ log: [...log, name] }) }));
    const checkpointStore = new WorkflowCheckpointStore<Log>(store);
    const made = new Workflow<Log>({ name: "w", initialState: { log: [] }, checkpointStore, steps, register: false });
    return made.runWithCheckpoints({ runId: "run", resume: true, ...more });
  }

  it("adds a step at the end: CONFLICT for a finished run. With force, the run runs the step", async () => {
    const store = await open();
    await workflow(store, ["a", "b"]);
    expect((await new WorkflowCheckpointStore(store).runs()).runs).toMatchObject([{ status: "finished" }]);
    const longer = ["a", "b", "c"];
    await expect(workflow(store, longer)).rejects.toMatchObject({ code: "CONFLICT" });
    expect((await workflow(store, longer, { force: true })).state).toEqual({ log: longer });
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

  it("removes the next node: CONFLICT, also if it is kept without an edge that leads to it", async () => {
    const store = await open();
    const old = { nodes: { ...logs("one"), two: crash }, edges: [["one", "two"]] } satisfies Options;
    await expect(begin(store, old)).rejects.toThrow("a crash");
    const without = graph(store, { nodes: logs("one", "new"), edges: [["one", "new"]] });
    const conflict = (two: string) => ({ code: "CONFLICT", message: expect.stringContaining(two) });
    await expect(without.resume(threadId)).rejects.toMatchObject(conflict("`two`, which is next, is gone"));
    // Without the node, nothing can run it.
    await expect(without.resume(threadId, {}, { force: true })).rejects.toMatchObject(conflict('"two"'));
    await expect(without.updateState(threadId, {}, "one")).rejects.toMatchObject(conflict('"two"'));
    const nodes = logs("one", "new", "two", "last");
    const edges: Options["edges"] = [
      ["one", "new"],
      ["two", "last"],
    ];
    const kept = graph(store, { nodes, edges });
    await expect(kept.resume(threadId)).rejects.toMatchObject(
      conflict("`one`, which has run, is no longer followed by `two`"),
    );
    expect((await kept.resume(threadId, {}, { force: true })).state.log).toEqual(["one", "two", "last"]);
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
