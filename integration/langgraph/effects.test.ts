// Effects of LangGraph's nodes, and all the ways to go back in a thread or to fork it: whatever begins before an effect runs it
// again with another idempotency key, and whatever begins after it shares its result.
import {
  Annotation,
  Command,
  START,
  Send,
  StateGraph,
  entrypoint,
  getConfig,
  interrupt,
  task,
} from "@langchain/langgraph";
import { type Store } from "forkpoint";
import { effects, type EffectAttempt } from "forkpoint/effects";
import { openInspector } from "forkpoint/inspect";
import { ForkpointSaver } from "forkpoint/langgraph";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Kind, all, everyKind, kinds, mainKinds, place, saver, sequence, openShared } from "./helpers.js";

/** The effect of a test. It counts its calls, and remembers their idempotency keys. */
class Charge {
  readonly keys: string[] = [];
  readonly make = ({ idempotencyKey }: EffectAttempt): number => this.keys.push(idempotencyKey);
}

const State = Annotation.Root({ n: Annotation<number>, note: Annotation<string> });

type Durability = "sync" | "async" | "exit";

/** A graph whose two nodes ask for the same effect, and a thread that has run through it. */
async function ran(checkpointer: ForkpointSaver, charge: Charge, durability: Durability) {
  const once = effects(checkpointer);
  const graph = sequence(State, {
    begin: () => ({}),
    pay: async (_state, config) => ({ n: await once(config, "charge", charge.make) }),
    again: async (_state, config) => ({ n: await once(config, "charge", charge.make) }),
  }).compile({ checkpointer });
  const config = { configurable: { thread_id: "t" }, durability };
  // To go back to a step, it must have been stored.
  await graph.invoke({ n: 0 }, { ...config, durability: "sync" });
  const history = await all(graph.getStateHistory(config));
  const before = (node: string) => history.find(({ next }) => next.includes(node))!.config;
  return { graph, once, config, at: { before: before("begin"), at: before("pay"), after: before("again") } };
}

type Ran = Awaited<ReturnType<typeof ran>>;
type From = keyof Ran["at"];

async function inspector(store: Store) {
  const opened = await openInspector(store, { write: true });
  onTestFinished(() => opened.close());
  return opened;
}

/** Goes back or forks in one way, lets the graph continue, and returns the receipt that it then has. */
const ways: Record<string, (ran: Ran, from: From, store: Store) => Promise<number>> = {
  async checkpoint_id({ graph, config, at }, from) {
    return (await graph.invoke(null, { ...config, ...at[from] })).n;
  },
  async "checkpoint_id twice"({ graph, config, at }, from) {
    const first = (await graph.invoke(null, { ...config, ...at[from] })).n;
    const second = (await graph.invoke(null, { ...config, ...at[from] })).n;
    // Each time is a branch of its own.
    expect(second).toBe(from === "after" ? 1 : first + 1);
    return first;
  },
  async updateState({ graph, config, at }, from) {
    const updated = await graph.updateState(at[from], { note: "changed" });
    return (await graph.invoke(null, { ...config, ...updated })).n;
  },
  async "updateState, then the newest"({ graph, config, at }, from) {
    await graph.updateState(at[from], { note: "changed" });
    return (await graph.invoke(null, config)).n;
  },
  async copyThread({ graph, config, at }, from, store) {
    await new ForkpointSaver(store).copyThread("t", "f");
    const configurable = { ...at[from].configurable, thread_id: "f" };
    return (await graph.invoke(null, { ...config, configurable })).n;
  },
  async "the inspector's branch"({ graph, config, at }, from, store) {
    const ref = { space: "langgraph" as const, run: "t", id: at[from].configurable!["checkpoint_id"] as string };
    await (await inspector(store)).fork(ref, { set: [["n", 9]] });
    return (await graph.invoke(null, config)).n;
  },
  async "the inspector's fork"({ graph, config, at }, from, store) {
    const ref = { space: "langgraph" as const, run: "t", id: at[from].configurable!["checkpoint_id"] as string };
    await (await inspector(store)).fork(ref, { as: "f" });
    return (await graph.invoke(null, { ...config, configurable: { thread_id: "f" } })).n;
  },
};

const moments = [
  ["before", 2],
  ["at", 2],
  ["after", 1],
] as const;

/** What a durability changes does not depend on the store. */
const durabilitiesOf = (kind: Kind): Durability[] => (kind === mainKinds[0] ? ["sync", "async", "exit"] : ["sync"]);

describe.each(mainKinds)("on %s", (kind) => {
  describe.each(durabilitiesOf(kind))("durability %s", (durability) => {
    describe.each(Object.keys(ways))("%s", (name) => {
      it.each(moments)("from a checkpoint %s the effect has the receipt %i", async (from, receipt) => {
        const store = await openShared(place(kind));
        const charge = new Charge();
        const made = await ran(new ForkpointSaver(store), charge, durability);
        expect(await ways[name]!(made, from, store)).toBe(receipt);
        expect(new Set(charge.keys).size).toBe(charge.keys.length);
        expect(charge.keys.length).toBeGreaterThanOrEqual(receipt);
      });
    });
  });
});

describe.each(kinds)("on %s", (kind) => {
  it.each(["sync", "async", "exit"] as const)(
    "an effect before interrupt() happens once, durability %s",
    async (durability) => {
      const checkpointer = saver(kind);
      const [once, charge] = [effects(checkpointer), new Charge()];
      let nodes = 0;
      const graph = sequence(State, {
        pay: async (_state, config) => {
          nodes += 1;
          const n = await once(config, "charge", charge.make);
          return { n, note: interrupt("go on?") as string };
        },
      }).compile({ checkpointer });
      const config = { configurable: { thread_id: "t" }, durability };
      await graph.invoke({ n: 0 }, config);
      expect(await graph.invoke(new Command({ resume: "yes" }), config)).toEqual({ n: 1, note: "yes" });
      expect([nodes, charge.keys.length]).toEqual([2, 1]);
      // Somebody edits the state while the graph waits: the effect has happened in this thread.
      const other = { ...config, configurable: { thread_id: "u" } };
      await graph.invoke({ n: 0 }, other);
      await graph.updateState(other, { note: "edited" });
      for (let round = 0; (await graph.getState(other)).next.length > 0; round++) {
        expect(round).toBeLessThan(3);
        await graph.invoke(round === 0 ? null : new Command({ resume: "yes" }), other);
      }
      expect(charge.keys.length).toBe(2);
    },
  );

  it("Send tasks, subgraphs and tasks of the functional API have effects of the thread", async () => {
    const checkpointer = saver(kind);
    const [once, charge] = [effects(checkpointer), new Charge()];
    const Sum = Annotation.Root({ sum: Annotation<number>({ reducer: (a, b) => a + b, default: () => 0 }) });
    const inner = sequence(Sum, {
      pay: async (_state, config) => ({ sum: await once(config, "inner", charge.make) }),
    }).compile();
    const graph = new StateGraph(Sum)
      .addNode("begin", () => ({}))
      .addNode("pay", async ({ key }: { key: string }, config) => ({ sum: await once(config, key, charge.make) }))
      .addNode("sub", inner)
      .addEdge(START, "begin")
      .addConditionalEdges("begin", () => ["a", "b", "a"].map((key) => new Send("pay", { key })))
      .addEdge("pay", "sub")
      .compile({ checkpointer });
    await graph.invoke({}, { configurable: { thread_id: "t" } });
    const listed = await once.list({ space: "langgraph", run: "t" });
    expect(listed.map(({ key, state, attempts }) => `${key} ${state} ${attempts}`).toSorted()).toEqual([
      "a done 1",
      "b done 1",
      "inner done 1",
    ]);
    expect(charge.keys).toHaveLength(3);
    const pay = task("pay", (key: string) => once(getConfig(), key, charge.make));
    const flow = entrypoint({ name: "flow", checkpointer }, async (_input: string, config) => [
      await once(config, "own", charge.make),
      await pay("task"),
    ]);
    const thread = { configurable: { thread_id: "f" } };
    expect(await flow.invoke("go", thread)).toEqual([4, 5]);
    expect((await once.list({ space: "langgraph", run: "f" })).map(({ key }) => key)).toEqual(["own", "task"]);
    await checkpointer.deleteThread("f");
    expect(await once.list({ space: "langgraph", run: "f" })).toEqual([]);
    expect(everyKind).toContain(kind);
  });
});
