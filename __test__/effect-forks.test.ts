// Forks and effects, for every way to fork: a fork made before an effect runs it again with another idempotency key, and a fork
// made after it shares its result.
import { CheckpointStore, type Store } from "forkpoint";
import { WorkflowCheckpointStore, type StepContext } from "forkpoint/agentium";
import { type EffectAttempt, effects } from "forkpoint/effects";
import { SessionStore } from "forkpoint/helix";
import { openInspector } from "forkpoint/inspect";
import { Checkpointer, END, Graph, START, type NodeContext } from "forkpoint/tinyagents";
import { describe, expect, it, onTestFinished } from "vitest";
import { checkpoint, kinds, place } from "./helpers.js";
import { flow } from "./agentium/helpers.js";
import { opened as shared } from "./contents.js";
import { path } from "./tinyagents/helpers.js";

/** The effect of a test. It counts its calls, and remembers their idempotency keys. */
class Charge {
  readonly keys: string[] = [];
  readonly make = ({ idempotencyKey }: EffectAttempt): number => this.keys.push(idempotencyKey);
}

/** Forks the run in a way of a framework, and returns the receipt that the fork has of the effect. */
type Way = (store: Store, charge: Charge, from: "before" | "at" | "after") => Promise<number>;

async function inspector(store: Store) {
  const opened = await openInspector(store, { write: true });
  onTestFinished(() => opened.close());
  return opened;
}

/** Asks for the effect of a run. */
const ask = (store: Store, space: "agentos" | "helix", charge: Charge) => (run: string) =>
  effects(store)({ space, run }, "charge", charge.make);

/** A run of AgentOS with a checkpoint before the effect, one from which it is begun, and one after it. */
async function agentos(store: Store, charge: Charge) {
  const graphs = new CheckpointStore(store);
  const made = [0, 1, 2].map((timestamp) => checkpoint({ timestamp }));
  await graphs.save(made[0]!);
  await graphs.save(made[1]!);
  await ask(store, "agentos", charge)("run-1");
  await graphs.save(made[2]!);
  return { graphs, ids: { before: made[0]!.id, at: made[1]!.id, after: made[2]!.id } };
}

async function agentium(store: Store, charge: Charge) {
  const pay = async (_state: { n: number }, { once }: StepContext) => ({ n: await once("charge", charge.make) });
  const workflow = flow<{ n: number }>(new WorkflowCheckpointStore(store), { n: 0 }, [
    { name: "begin", run: () => ({}) },
    { name: "pay", run: pay },
    { name: "again", run: pay },
  ]);
  await workflow.runWithCheckpoints({ runId: "run" });
  return { workflow, ids: { before: "run:initial", at: "run:step-1", after: "run:step-2" } };
}

async function tinyagents(store: Store, charge: Charge) {
  const checkpointer = new Checkpointer<{ n: number }>(store);
  const pay = async (_state: { n: number }, { once }: NodeContext) => ({ n: await once("charge", charge.make) });
  const graph = new Graph<{ n: number }>({
    nodes: { begin: () => ({}), pay, again: pay },
    edges: path(START, "begin", "pay", "again", END),
    reducer: (state, update) => ({ ...state, ...update }),
    checkpointer,
  });
  await graph.invoke({ n: 0 }, { threadId: "t" });
  const listed = await graph.getStateHistory("t");
  const idOf = (node: string) => listed.find(({ next }) => next.includes(node))!.config.checkpointId;
  return { checkpointer, graph, ids: { before: idOf("begin"), at: idOf("pay"), after: idOf("again") } };
}

async function helix(store: Store, charge: Charge) {
  const sessions = new SessionStore(store);
  await sessions.createSession("s", { agentType: "a" });
  const save = (id: string, stepCount: number) =>
    sessions.saveCheckpoint({ id, sessionId: "s", timestamp: stepCount, stepCount, state: { stepCount } } as never);
  await save("before", 1);
  await save("at", 2);
  await ask(store, "helix", charge)("s");
  await save("after", 3);
  return sessions;
}

const ways: Record<string, Way> = {
  "AgentOS fork": async (store, charge, from) => {
    const { graphs, ids } = await agentos(store, charge);
    return ask(store, "agentos", charge)(await graphs.fork(ids[from]));
  },
  "AgentOS fork of a fork": async (store, charge, from) => {
    const { graphs, ids } = await agentos(store, charge);
    const fork = await graphs.latest(await graphs.fork(ids[from]));
    return ask(store, "agentos", charge)(await graphs.fork(fork!.id, { scratch: { again: true } }));
  },
  "AgentOS inspector": async (store, charge, from) => {
    const { ids } = await agentos(store, charge);
    const { run } = await (await inspector(store)).fork({ space: "agentos", run: "run-1", id: ids[from] }, { as: "f" });
    return ask(store, "agentos", charge)(run);
  },
  "Agentium fork": async (store, charge, from) => {
    const { workflow, ids } = await agentium(store, charge);
    return (await workflow.fork(ids[from])).state.n;
  },
  "Agentium replay as a new run": async (store, charge, from) => {
    const { workflow, ids } = await agentium(store, charge);
    return (await workflow.replay(ids[from], { newRun: true })).state.n;
  },
  "Agentium inspector": async (store, charge, from) => {
    const { workflow, ids } = await agentium(store, charge);
    await (await inspector(store)).fork({ space: "agentium", run: "run", id: ids[from] }, { as: "f", set: [["n", 9]] });
    return (await workflow.runWithCheckpoints({ runId: "f", resume: true })).state.n;
  },
  "TinyAgents resumeFrom": async (store, charge, from) => {
    const { graph, ids } = await tinyagents(store, charge);
    return (await graph.resumeFrom("t", ids[from])).state.n;
  },
  "TinyAgents forkState": async (store, charge, from) => {
    const { graph, ids } = await tinyagents(store, charge);
    await graph.forkState("t", ids[from], "f");
    return (await graph.resume("f")).state.n;
  },
  "TinyAgents copyThread": async (store, charge, from) => {
    const { checkpointer, graph, ids } = await tinyagents(store, charge);
    await checkpointer.copyThread("t", "f");
    return (await graph.resumeFrom("f", ids[from])).state.n;
  },
  "TinyAgents inspector": async (store, charge, from) => {
    const { graph, ids } = await tinyagents(store, charge);
    await (await inspector(store)).fork({ space: "tinyagents", run: "t", id: ids[from] }, { as: "f", set: [["n", 9]] });
    return (await graph.resume("f")).state.n;
  },
  "Helix branchSession": async (store, charge, from) => {
    const sessions = await helix(store, charge);
    await sessions.branchSession(from, "f");
    return ask(store, "helix", charge)("f");
  },
  "Helix inspector": async (store, charge, from) => {
    await helix(store, charge);
    await (await inspector(store)).fork({ space: "helix", run: "s", id: from }, { as: "f" });
    return ask(store, "helix", charge)("f");
  },
};

describe.each(kinds)("on %s", (kind) => {
  describe.each(Object.keys(ways))("%s", (name) => {
    it.each([
      ["before", 2],
      ["at", 2],
      ["after", 1],
    ] as const)("a fork %s the effect has the receipt %i", async (from, receipt) => {
      const store = await shared(place(kind));
      const charge = new Charge();
      expect(await ways[name]!(store, charge, from)).toBe(receipt);
      expect(new Set(charge.keys).size).toBe(receipt);
    });
  });

  it("copies of a run leave out what has failed, and keep the results after the source is gone", async () => {
    const store = await shared(place(kind));
    const charge = new Charge();
    const { checkpointer, graph } = await tinyagents(store, charge);
    const once = effects(store);
    const [source, copy] = ["t", "f"].map((run) => ({ space: "tinyagents", run }) as const);
    await once(source!, "mail", () => Promise.reject(new Error("offline"))).catch(() => {});
    await once(source!, "no", () => Promise.reject(new RangeError("declined")), { remember: "errors" }).catch(() => {});
    await checkpointer.copyThread("t", "f");
    await checkpointer.deleteThread("t");
    expect(await once.list(source!)).toEqual([]);
    expect((await once.list(copy!)).map(({ key, state }) => `${key} ${state}`)).toEqual(["charge done", "no error"]);
    await expect(once(copy!, "no", () => 1)).rejects.toThrow("declined");
    expect((await graph.getState("f"))!.values.n).toBe(1);
    expect(await once(copy!, "charge", charge.make)).toBe(1);
    expect((await store.check()).findings).toEqual([]);
  });
});
