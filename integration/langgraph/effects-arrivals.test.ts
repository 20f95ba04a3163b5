// Effects that are asked for a second time while they run: whoever waits gets the result, also when the run moves on meanwhile.
import { setTimeout as delay } from "node:timers/promises";
import { Annotation, START, StateGraph } from "@langchain/langgraph";
import { type EffectAttempt, effects } from "forkpoint/effects";
import { describe, expect, it } from "vitest";
import { amount } from "../../__test__/faults/faults.js";
import { Gate } from "../../__test__/helpers.js";
import { type Kind, all, checkpoint, kinds, metadata, saver, sequence, thread } from "./helpers.js";

/** How often each pair meets. */
const ROUNDS = amount("FORKPOINT_TEST_ROUNDS", 15);

/** An effect that takes a while. It remembers the idempotency keys of its calls. */
class Charge {
  readonly keys: string[] = [];
  readonly make = async ({ idempotencyKey }: EffectAttempt): Promise<number> => {
    const receipt = this.keys.push(idempotencyKey);
    await delay(30);
    return receipt;
  };
}

function charging(kind: Kind) {
  const checkpointer = saver(kind);
  return { checkpointer, charge: new Charge(), once: effects(checkpointer) };
}

const Receipt = Annotation.Root({ receipt: Annotation<number> });

describe.each(kinds)("on %s", (kind) => {
  it("two calls from one checkpoint, whose successor is saved as soon as the first call has its result", async () => {
    const checkpointer = saver(kind);
    const charge = new Charge();
    for (let round = 1; round <= ROUNDS; round++) {
      const first = await checkpointer.put(thread(`t${round}`), checkpoint(), metadata(), {});
      const once = effects(checkpointer);
      const one = once(first, "charge", charge.make);
      await delay(round % 20);
      const other = once(first, "charge", charge.make);
      expect(await one).toBe(round);
      await checkpointer.put(first, checkpoint(), metadata(), {});
      expect(await other).toBe(round);
      expect(charge.keys).toHaveLength(round);
    }
  });

  it("two runs of one thread at the same time", async () => {
    const { checkpointer, charge, once } = charging(kind);
    const nodes = { arrived: 0 };
    const pay = async (attempt: EffectAttempt) => {
      while (nodes.arrived < 2) await delay(1);
      return charge.make(attempt);
    };
    const graph = sequence(Receipt, {
      pay: async (_, config) => {
        nodes.arrived += 1;
        return { receipt: await once(config, "charge", pay) };
      },
    }).compile({ checkpointer, interruptBefore: ["pay"] });
    for (let round = 1; round <= ROUNDS; round++) {
      await graph.invoke({}, thread(`t${round}`));
      nodes.arrived = 0;
      const runs = [1, 2].map(async (at) => {
        await delay(at === 1 ? 0 : round % 10);
        return graph.invoke(null, thread(`t${round}`));
      });
      await endAs(runs, round);
      expect(charge.keys).toHaveLength(round);
    }
  });

  it("a run whose node comes to the effect after the other run has ended", async () => {
    const { checkpointer, charge, once } = charging(kind);
    const late = { go: Promise.resolve() as Promise<unknown>, nodes: 0 };
    const graph = sequence(Receipt, {
      pay: async (_, config) => {
        late.nodes += 1;
        if (late.nodes === 2) await late.go;
        return { receipt: await once(config, "charge", charge.make) };
      },
      after: () => ({}),
    }).compile({ checkpointer, interruptBefore: ["pay"] });
    for (let round = 1; round <= ROUNDS; round++) {
      await graph.invoke({}, thread(`t${round}`));
      const state = await graph.getState(thread(`t${round}`));
      let first!: Promise<unknown>;
      late.nodes = 0;
      late.go = new Promise((resolve) => setTimeout(() => first.then(resolve)));
      // A program may name the latest checkpoint when it goes on. That asks for no branch.
      const configs = round % 2 === 0 ? [thread(`t${round}`), thread(`t${round}`)] : [state.config, state.config];
      const runs = configs.map((config) => graph.invoke(null, config));
      first = runs[0]!;
      await endAs(runs, round);
      expect(charge.keys).toHaveLength(round);
    }
  });

  it.each(["sync", "async"] as const)(
    "durability %s: a run that another one has overtaken before it comes to the effect",
    async (durability) => {
      const { checkpointer, charge, once } = charging(kind);
      const graph = (wait?: () => Promise<void>) =>
        sequence(Annotation.Root({ who: Annotation<string>, receipt: Annotation<number> }), {
          pay: async (_, config) => {
            await wait?.();
            return { receipt: await once(config, "charge", charge.make) };
          },
        }).compile({ checkpointer });
      const gate = new Gate();
      const config = { ...thread(), durability };
      const first = graph(gate.wait).invoke({ who: "first" }, config);
      await gate.reached;
      const [second] = await Promise.allSettled([graph().invoke({ who: "second" }, config)]);
      gate.open();
      const ends = [second, ...(await Promise.allSettled([first]))];
      // With "async", the first run may not have stored anything when the second one begins.
      expect(ends.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
      for (const end of ends) {
        if (end.status === "rejected") expect(end.reason).toMatchObject({ code: "CONFLICT" });
        else expect(end.value).toMatchObject({ receipt: 1 });
      }
      expect(charge.keys).toHaveLength(1);
    },
  );

  it.each(["sync", "async"] as const)(
    "durability %s: a branch that another run has overtaken at the branch's own checkpoint",
    async (durability) => {
      const { checkpointer, charge, once } = charging(kind);
      const graph = (wait?: () => Promise<void>) =>
        sequence(Receipt, {
          begin: () => ({}),
          pay: async (_, config) => {
            await wait?.();
            return { receipt: await once(config, "charge", charge.make) };
          },
        }).compile({ checkpointer });
      await graph().invoke({}, { ...thread(), durability: "sync" });
      for (const next of ["begin", "pay"]) {
        charge.keys.length = 1;
        const from = (await all(graph().getStateHistory(thread()))).find((state) => state.next[0] === next)!;
        const gate = new Gate();
        const branch = graph(gate.wait).invoke(null, { ...from.config, durability });
        await gate.reached;
        // The latest checkpoint is the branch's now.
        while ((await graph().getState(thread())).next[0] !== "pay") await delay(1);
        expect(await graph().invoke(null, { ...thread(), durability })).toMatchObject({ receipt: 2 });
        gate.open();
        expect(await branch).toMatchObject({ receipt: 2 });
        expect(new Set(charge.keys).size).toBe(2);
      }
    },
  );

  it("an edit that is saved between a node's checkpoint and its effect is no branch", async () => {
    const { checkpointer, charge, once } = charging(kind);
    let edits = true;
    const graph = new StateGraph(Annotation.Root({ receipt: Annotation<number>, note: Annotation<string> }))
      .addNode("pay", async (_, config) => {
        if (edits) await graph.updateState(thread(), { note: "edited" });
        edits = false;
        return { receipt: await once(config, "charge", charge.make) };
      })
      .addNode("before", () => ({}))
      .addEdge(START, "before")
      .addEdge("before", "pay")
      .compile({ checkpointer });
    await expect(graph.invoke({}, { ...thread(), durability: "sync" })).rejects.toMatchObject({ code: "CONFLICT" });
    expect(charge.keys).toHaveLength(1);
    // Whoever continues gets the receipt of the run that was refused.
    expect(await graph.invoke(null, thread())).toEqual({ receipt: 1, note: "edited" });
    expect(charge.keys).toHaveLength(1);
  });

  it("a branch that a caller asks for has an effect of its own", async () => {
    const { checkpointer, charge, once } = charging(kind);
    const graph = sequence(Receipt, {
      pay: async (_, config) => ({ receipt: await once(config, "charge", charge.make) }),
      after: () => ({}),
    }).compile({ checkpointer, interruptBefore: ["pay"] });
    await graph.invoke({}, thread());
    const before = (await graph.getState(thread())).config;
    expect((await graph.invoke(null, before)).receipt).toBe(1);
    const branch = await graph.updateState(before, {});
    expect((await graph.invoke(null, branch)).receipt).toBe(2);
    expect(new Set(charge.keys).size).toBe(2);
  });
});

/** One run of a thread ends with this receipt. The other one does so too, or another run has continued before it. */
async function endAs(runs: Array<Promise<{ receipt: number }>>, receipt: number): Promise<void> {
  const ends = await Promise.allSettled(runs);
  expect(ends.map(({ status }) => status)).toContain("fulfilled");
  for (const end of ends)
    if (end.status === "fulfilled") expect(end.value.receipt).toBe(receipt);
    else expect(end.reason).toMatchObject({ code: "CONFLICT" });
}
