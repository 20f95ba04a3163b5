// A run belongs to the workflow or graph that made it, by its name. Another one's write is refused, unless it takes the run over.
import { Workflow, WorkflowCheckpointStore, type WorkflowConfig } from "forkpoint/agentium";
import { Checkpointer, Graph, type GraphConfig, START } from "forkpoint/tinyagents";
import { describe, expect, it } from "vitest";
import { Program } from "../faults/faults.js";
import { closing, fixture, place, rejection, sharedKinds } from "../helpers.js";

interface State {
  trace: string[];
}

const add = (name: string) => (state: State) => ({ trace: [...state.trace, name] });
const fails = () => {
  throw new Error("a crash");
};

const refused = (what: string, made = "billing", own = "support") => ({
  code: "CONFLICT",
  message:
    `${what} belongs to the program "${made}", and this is "${own}": nothing was stored. Continue it with "${made}". To take it over, ` +
    `pass { force: true }: it then belongs to "${own}"`,
});

const force = { force: true };

/** Runs the fixture until it is in its first step. */
async function running(contract: string, target: string) {
  const program = new Program([fixture("owner.mjs"), contract, target, "billing"], { deadlineMs: 60_000 });
  await program.until(1);
  const end = async () => {
    program.tell("");
    await program.ended;
    return program.lines.map((line) => JSON.parse(line) as any);
  };
  return { end };
}

describe.each(sharedKinds)("workflows on %s", (kind) => {
  function workflow(target: string, name: string, more: Partial<WorkflowConfig<State>> = {}) {
    const checkpointStore = closing(new WorkflowCheckpointStore<State>(target));
    const steps = [
      { name: "a", run: add("a") },
      { name: "b", run: add(name) },
    ];
    const own = { name, steps, initialState: { trace: [] }, checkpointStore, register: false, ...more };
    return { store: checkpointStore, flow: new Workflow<State>(own) };
  }

  /** A run of `billing` that stopped in its step `b`. */
  async function open(more: Partial<WorkflowConfig<State>> = {}) {
    const target = place(kind);
    const steps = [
      { name: "a", run: add("a") },
      { name: "b", run: fails },
    ];
    const billing = workflow(target, "billing", { steps });
    await rejection(billing.flow.runWithCheckpoints({ runId: "run" }));
    const before = await billing.store.list("run");
    return { target, before, billing: workflow(target, "billing"), support: workflow(target, "support", more) };
  }

  it.each<[string, (flow: Workflow<State>) => Promise<unknown>]>([
    ["a resume", (flow) => flow.runWithCheckpoints({ runId: "run", resume: true })],
    ["a new run with its id", (flow) => flow.runWithCheckpoints({ runId: "run" })],
    ["a replay", (flow) => flow.replay("run:step-1")],
    [
      "a stream",
      async (flow) => {
        for await (const _ of flow.stream({ runId: "run", resume: true }));
      },
    ],
  ])("%s of another workflow is refused, and stores nothing", async (_, write) => {
    const { support, billing, before } = await open();
    expect(await rejection(write(support.flow))).toMatchObject(refused('run "run"'));
    expect(await billing.store.list("run")).toEqual(before);
    const { state } = await billing.flow.runWithCheckpoints({ runId: "run", resume: true });
    expect(state.trace).toEqual(["a", "billing"]);
  });

  it.each<[string, (flow: Workflow<State>) => Promise<unknown>]>([
    ["a resume", (flow) => flow.runWithCheckpoints({ runId: "run", resume: true, ...force })],
    ["a new run with its id", (flow) => flow.runWithCheckpoints({ runId: "run", ...force })],
    ["a replay", (flow) => flow.replay("run:step-1", force)],
  ])("%s with force takes it over", async (_, write) => {
    const { support, billing } = await open();
    await write(support.flow);
    const error = await rejection(billing.flow.runWithCheckpoints({ runId: "run", resume: true }));
    expect(error).toMatchObject(refused('run "run"', "support", "billing"));
    await support.flow.runWithCheckpoints({ runId: "run", resume: true });
  });

  it("a replay of the first workflow is refused after another one has taken the run over", async () => {
    const { support, billing } = await open();
    await support.flow.runWithCheckpoints({ runId: "run", resume: true, ...force });
    const replay = rejection(billing.flow.replay("run:step-1"));
    expect(await replay).toMatchObject(refused('run "run"', "support", "billing"));
    expect((await support.flow.replay("run:step-1")).state.trace).toEqual(["a", "support"]);
  });

  it("a branch makes a run of its own, and a refused run frees its lease", async () => {
    const { support, billing, target } = await open({ lease: true });
    expect(await rejection(support.flow.runWithCheckpoints({ runId: "run" }))).toMatchObject(refused('run "run"'));
    const leased = workflow(target, "billing", { lease: true }).flow;
    expect((await support.flow.fork("run:step-1")).state.trace).toEqual(["a", "support"]);
    expect((await support.flow.replay("run:step-1", { newRun: true })).state.trace).toEqual(["a", "support"]);
    expect((await leased.runWithCheckpoints({ runId: "run", resume: true })).state.trace).toEqual(["a", "billing"]);
    // A run that no workflow has made has no owner.
    const { store } = billing;
    const checkpoint = { id: "r:step-1", runId: "r", stepIndex: 0, stepName: "a", state: { trace: [] }, createdAt: 1 };
    await store.save(checkpoint, { steps: 2 });
    await support.flow.runWithCheckpoints({ runId: "r", resume: true });
  });

  it("a workflow loses a run that another one takes over", async () => {
    const target = place(kind);
    const child = await running("agentium", target);
    const { flow } = workflow(target, "support");
    expect(await rejection(flow.runWithCheckpoints({ runId: "run" }))).toMatchObject(refused('run "run"'));
    await flow.runWithCheckpoints({ runId: "run", ...force });
    const [, ended, ...more] = await child.end();
    expect([ended.code, more]).toEqual(["CONFLICT", []]);
    expect((await flow.listCheckpoints("run")).at(-1)!.state.trace).toEqual(["a", "support"]);
  });
});

describe.each(sharedKinds)("graphs on %s", (kind) => {
  function graph(target: string, name: string | undefined, more: Partial<GraphConfig<State, State>> = {}) {
    const checkpointer = closing(new Checkpointer<State>(target));
    const nodes = { ask: (state: State, context: any) => add(`${name} ${context.interrupt("pay?")}`)(state) };
    const reducer = (_: State, update: State) => update;
    const named = name === undefined ? {} : { name };
    return {
      checkpointer,
      graph: new Graph<State, State>({ nodes, edges: [[START, "ask"]], reducer, checkpointer, ...named, ...more }),
    };
  }

  async function open(more: Partial<GraphConfig<State, State>> = {}) {
    const target = place(kind);
    const billing = graph(target, "billing");
    await billing.graph.invoke({ trace: [] }, { threadId: "run" });
    const before = await billing.checkpointer.stateHistory("run");
    return { target, before, billing, support: graph(target, "support", more) };
  }

  it.each<[string, (on: Graph<State, State>) => Promise<unknown>]>([
    ["a new input", (on) => on.invoke({ trace: [] }, { threadId: "run" })],
    ["a resume", (on) => on.resume("run", { resume: "yes" })],
    ["a resume of its checkpoint", async (on) => on.resumeFrom("run", await idOf(on), { resume: "yes" })],
    ["an update", (on) => on.updateState("run", { trace: ["edited"] })],
    ["updates", (on) => on.bulkUpdateState("run", [{ update: { trace: ["edited"] } }])],
  ])("%s of another graph is refused, and stores nothing", async (_, write) => {
    const { support, billing, before } = await open();
    expect(await rejection(write(support.graph))).toMatchObject(refused('thread "run"'));
    expect(await billing.checkpointer.stateHistory("run")).toEqual(before);
    expect((await billing.graph.resume("run", { resume: "yes" })).state.trace).toEqual(["billing yes"]);
  });
  const idOf = async (on: Graph<State, State>) => (await on.getState("run"))!.config.checkpointId;

  it.each<[string, (on: Graph<State, State>) => Promise<unknown>]>([
    ["a new input", (on) => on.invoke({ trace: [] }, { threadId: "run", ...force })],
    ["a resume", (on) => on.resume("run", { resume: "yes" }, force)],
    ["an update", (on) => on.updateState("run", { trace: ["edited"] }, null, force)],
    ["updates", (on) => on.bulkUpdateState("run", [{ update: { trace: [] } }, { update: { trace: [] } }], force)],
  ])("%s with force takes it over", async (_, write) => {
    const { support, billing } = await open();
    await write(support.graph);
    const error = await rejection(billing.graph.resume("run", { resume: "yes" }));
    expect(error).toMatchObject(refused('thread "run"', "support", "billing"));
    await support.graph.invoke({ trace: [] }, { threadId: "run" });
  });

  it("the latest checkpoint tells to whom a thread belongs, wherever a run begins", async () => {
    const { support, billing } = await open();
    const id = await idOf(billing.graph);
    await support.graph.invoke({ trace: [] }, { threadId: "run", ...force });
    const error = await rejection(billing.graph.resumeFrom("run", id, { resume: "yes" }));
    expect(error).toMatchObject(refused('thread "run"', "support", "billing"));
    const { state } = await support.graph.resumeFrom("run", id, { resume: "yes" });
    expect(state.trace).toEqual(["support yes"]);
  });

  it("a graph without a name continues every thread, and a subgraph has the thread of its graph", async () => {
    const { target, billing, support } = await open();
    const nameless = graph(target, undefined).graph;
    expect((await nameless.resume("run", { resume: "yes" })).state.trace).toEqual(["undefined yes"]);
    await support.graph.invoke({ trace: [] }, { threadId: "run" });
    const outer = (sub: Graph<State, State>) => graph(target, "outer", { nodes: { ask: { subgraph: sub } } }).graph;
    await outer(billing.graph).invoke({ trace: [] }, { threadId: "outer" });
    const { state } = await outer(support.graph).resume("outer", { resume: "yes" });
    expect(state.trace).toEqual(["support yes"]);
    await expect(billing.graph.updateState("run", { trace: [] }, null, { forced: true } as never)).rejects.toThrow(
      'Unknown option "forced"',
    );
  });

  it("a graph loses a thread that another one takes over", async () => {
    const target = place(kind);
    const child = await running("tinyagents", target);
    const { graph: on } = graph(target, "support");
    expect(await rejection(on.invoke({ trace: [] }, { threadId: "run" }))).toMatchObject(refused('thread "run"'));
    await on.invoke({ trace: ["taken"] }, { threadId: "run", ...force });
    const [, ended, ...more] = await child.end();
    expect([ended.code, more]).toEqual(["CONFLICT", []]);
    expect((await on.resume("run", { resume: "yes" })).state.trace).toEqual(["taken", "support yes"]);
  });
});
