// Tests two runs of one thread of a graph: a run makes a branch only if its caller asks for one, and an effect happens once.
import { setTimeout as delay } from "node:timers/promises";
import { Checkpointer, type CheckpointerOptions, Command, Graph, START } from "forkpoint/tinyagents";
import { describe, expect, it } from "vitest";
import { amount } from "../faults/faults.js";
import { closing, failure, kinds, pairOf, place } from "../helpers.js";
import { path } from "./helpers.js";

interface State {
  log: string[];
}

/** How often each pair meets. */
const ROUNDS = amount("FORKPOINT_TEST_ROUNDS", 10);

async function graphs(kind: (typeof kinds)[number], options?: CheckpointerOptions) {
  const payments: string[] = [];
  const checkpointers = await pairOf(kind, (target) => closing(new Checkpointer<State>(target, options)));
  const made = checkpointers.map(
    (checkpointer) =>
      new Graph<State, { log?: string[] }>({
        reducer: (state, { log = [] }) => ({ log: [...state.log, ...log] }),
        nodes: {
          approve: (_, context) => ({ log: [context.interrupt<string>("pay?")] }),
          pay: async (_, context) => {
            const receipt = await context.once("charge", async ({ idempotencyKey }) => {
              payments.push(idempotencyKey);
              await delay(20);
              return `receipt ${payments.length}`;
            });
            return { log: [receipt] };
          },
          tell: () => ({ log: ["told"] }),
        },
        edges: path(START, "approve", "pay", "tell"),
        checkpointer,
      }),
  );
  return { graphs: made as [Graph<State, any>, Graph<State, any>], payments };
}

describe.each(kinds)("on %s", (kind) => {
  it.each(["sync", "async"] as const)("durability %s: two answers at the same time pay once", async (durability) => {
    for (let round = 0; round < ROUNDS; round++) {
      const { graphs: both, payments } = await graphs(kind);
      await both[0].invoke({ log: [] }, { threadId: "t" });
      const ends = await Promise.allSettled(
        both.map(async (graph, at) => {
          await delay(at * (round % 5) * 4);
          return graph.resume("t", new Command({ resume: "yes" }), { durability });
        }),
      );
      expect(ends.map(({ status }) => status)).toContain("fulfilled");
      for (const end of ends) if (end.status === "rejected") expect(end.reason).toMatchObject({ code: "CONFLICT" });
      expect(payments).toHaveLength(1);
      expect((await both[0].getState("t"))!.values).toEqual({ log: ["yes", "receipt 1", "told"] });
      // The history has no branch.
      const parents = (await both[0].getStateHistory("t")).map(({ parentConfig }) => JSON.stringify(parentConfig));
      expect(new Set(parents).size).toBe(parents.length);
    }
  });

  it.each(["sync", "async", "exit"] as const)(
    "durability %s: of two starts of a thread, none loses what the other has stored",
    async (durability) => {
      const checkpointers = await pairOf(kind, (target) => closing(new Checkpointer<State>(target)));
      const both = checkpointers.map(
        (checkpointer) =>
          new Graph<State, { log: string[] }, { turn: string }>({
            input: (state, { turn }) => ({ log: [...(state?.log ?? []), turn] }),
            reducer: (state, { log }) => ({ log: [...state.log, ...log] }),
            nodes: { work: () => delay(5).then(() => ({ log: ["worked"] })), after: () => ({ log: [] }) },
            edges: path(START, "work", "after"),
            checkpointer,
          }),
      );
      const turns: string[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const ends = await Promise.allSettled(
          both.map(async (graph, at) => {
            await delay(at * (round % 5));
            await graph.invoke({ turn: `${round}-${at}` }, { threadId: "t", durability });
            return `${round}-${at}`;
          }),
        );
        for (const end of ends) {
          if (end.status === "rejected") expect(end.reason).toMatchObject({ code: "CONFLICT" });
          else turns.push(end.value);
        }
        const { values } = (await both[0]!.getState("t"))!;
        expect(values.log).toEqual(expect.arrayContaining(turns));
        expect(new Set(turns).size).toBe(turns.length);
      }
      expect(turns.length).toBeGreaterThanOrEqual(ROUNDS);
    },
  );

  it("a thread that was deleted while a run works on it stays deleted, and its effects do not run", async () => {
    const checkpointer = closing(new Checkpointer<State>(place(kind)));
    let paid = 0;
    const graph = new Graph<State, { log?: string[] }>({
      reducer: (state, { log = [] }) => ({ log: [...state.log, ...log] }),
      nodes: {
        first: () => ({ log: ["first"] }),
        pay: async (_, context) => {
          await checkpointer.deleteThread("t");
          return { log: [await context.once("charge", () => `${++paid}`)] };
        },
      },
      edges: path(START, "first", "pay"),
      checkpointer,
    });
    const error = await failure(graph.invoke({ log: [] }, { threadId: "t" }), "CONFLICT");
    expect(error.message).toContain('its effect "charge" did not run');
    expect(paid).toBe(0);
    expect(await checkpointer.list("t")).toEqual([]);
  });

  it("a caller that names an older checkpoint makes a branch with effects of its own", async () => {
    const {
      graphs: [graph],
      payments,
    } = await graphs(kind);
    await graph.invoke({ log: [] }, { threadId: "t" });
    await graph.resume("t", new Command({ resume: "yes" }));
    const old = (await graph.getStateHistory("t")).find(({ next }) => next[0] === "pay")!;
    const { checkpointId } = old.config;
    expect((await graph.resumeFrom("t", checkpointId!)).state.log).toEqual(["yes", "receipt 2", "told"]);
    expect(new Set(payments).size).toBe(2);
  });
});
