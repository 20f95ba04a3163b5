// Effects that are asked for a second time while they run: whoever waits gets the result, also when the run moves on meanwhile.
import { setTimeout as delay } from "node:timers/promises";
import { Annotation, START, StateGraph } from "@langchain/langgraph";
import { type EffectAttempt, effects } from "forkpoint/effects";
import { describe, expect, it } from "vitest";
import { Child } from "./children.js";
import { checkpoint, folder, kinds, metadata, open, place, saver, sharedKinds, thread } from "./helpers.js";

/** How often each pair meets. */
const ROUNDS = 15;
/** The same for two processes. */
const MEETINGS = 4;

/** An effect that takes a while. It remembers the idempotency keys of its calls. */
class Charge {
  readonly keys: string[] = [];
  readonly make = async ({ idempotencyKey }: EffectAttempt): Promise<number> => {
    const receipt = this.keys.push(idempotencyKey);
    await delay(30);
    return receipt;
  };
}

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
    const checkpointer = saver(kind);
    const charge = new Charge();
    const once = effects(checkpointer);
    const nodes = { arrived: 0 };
    const pay = async (attempt: EffectAttempt) => {
      while (nodes.arrived < 2) await delay(1);
      return charge.make(attempt);
    };
    const graph = new StateGraph(Annotation.Root({ receipt: Annotation<number> }))
      .addNode("pay", async (_, config) => {
        nodes.arrived += 1;
        return { receipt: await once(config, "charge", pay) };
      })
      .addEdge(START, "pay")
      .compile({ checkpointer, interruptBefore: ["pay"] });
    for (let round = 1; round <= ROUNDS; round++) {
      await graph.invoke({}, thread(`t${round}`));
      nodes.arrived = 0;
      const runs = [1, 2].map(async (at) => {
        await delay(at === 1 ? 0 : round % 10);
        return graph.invoke(null, thread(`t${round}`));
      });
      for (const { receipt } of await Promise.all(runs)) expect(receipt).toBe(round);
      expect(charge.keys).toHaveLength(round);
    }
  });
});

describe.each(sharedKinds)("on %s", (kind) => {
  it("two processes that run one thread at the same time", { timeout: 60_000 }, async () => {
    const target = place(kind);
    const checkpointer = open(target);
    const rest = new StateGraph(Annotation.Root({ receipt: Annotation<number> }))
      .addNode("pay", () => ({}))
      .addEdge(START, "pay")
      .compile({ checkpointer, interruptBefore: ["pay"] });
    for (let round = 0; round < MEETINGS; round++) await rest.invoke({}, thread(`${round}`));
    const args = [target, folder(), String(MEETINGS)];
    const children = [new Child(args, {}, "pay.mjs"), new Child(args, {}, "pay.mjs")];
    const paid: string[] = [];
    const listen = async (child: Child) => {
      for (;;) {
        const { event, thread } = await child.next();
        if (event === "end") return;
        paid.push(thread as string);
      }
    };
    await Promise.all(children.map(listen));
    expect(paid.toSorted()).toEqual(Array.from({ length: MEETINGS }, (_, round) => `${round}`));
  });
});
