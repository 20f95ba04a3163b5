// Tests retention by the store's options. A checkpoint that a kept checkpoint depends on stays under every rule.
import { Command, interrupt } from "@langchain/langgraph";
import { ForkpointSaver } from "forkpoint/langgraph";
import { describe, expect, it } from "vitest";
import { Log, all, deltas, mainKinds, place, saver, says, sequence, thread, until, openShared } from "./helpers.js";

const checkpoints = async (checkpointer: ForkpointSaver) => (await all(checkpointer.list(thread()))).length;

describe.each(mainKinds)("on %s", (kind) => {
  it("keepLastN keeps the newest of each thread and namespace, and the graph goes on", async () => {
    const checkpointer = saver(kind, { keepLastN: 3 });
    const app = sequence(Log, {
      a: says("a"),
      ask: () => ({ log: [interrupt<string, string>("well?")] }),
      b: says("b"),
    }).compile({ checkpointer });
    for (const id of ["one", "two"]) {
      for (let turn = 0; turn < 5; turn++) {
        await app.invoke({ log: [`in${turn}`] }, thread(id));
        await app.invoke(new Command({ resume: `yes${turn}` }), thread(id));
      }
      expect(await all(checkpointer.list(thread(id)))).toHaveLength(3);
      expect((await app.getState(thread(id))).values.log).toHaveLength(20);
    }
    expect((await checkpointer.stats()).checkpoints).toBe(6);
  });

  describe.each([1, 2, 3, 1_000])("of a log with a snapshot every %i updates", (frequency) => {
    it("keepLastN leaves every state that is kept as it was, updates and branches too", async () => {
      const whole = deltas(saver(kind), frequency, false);
      const checkpointer = saver(kind, { keepLastN: 2 });
      const capped = deltas(checkpointer, frequency, false);
      for (let round = 1; round <= 6; round++) {
        for (const app of [whole, capped]) {
          await app.invoke({ log: [`in${round}`], round }, thread());
          if (round % 2 === 0) await app.updateState(thread(), { log: [`edited${round}`] }, "b");
          if (round % 3 === 0) await app.updateState(thread(), null, "__copy__");
        }
        const expected = (await all(whole.getStateHistory(thread(), { limit: 2 }))).map(({ values }: any) => values);
        const found = (await all(capped.getStateHistory(thread(), { limit: 2 }))).map(({ values }: any) => values);
        expect(found).toEqual(expected);
      }
      // Old checkpoints are removed if a later checkpoint stores the value.
      if (frequency <= 2) expect(await checkpoints(checkpointer)).toBeLessThan(12);
    });

    it("maxBytes leaves the latest state as it was", async () => {
      const checkpointer = saver(kind, { maxBytes: 4_000 });
      const app = deltas(checkpointer, frequency);
      const expected: string[] = [];
      for (let round = 1; round <= 8; round++) {
        const said = `in${round} ${"x".repeat(200)} ${Math.random()}`;
        await app.invoke({ log: [said], round }, thread());
        expected.push(said, `a${round}`, `b${round}`);
        // `vacuum` starts after the removals that the limit has caused, so they have ended when it returns.
        await checkpointer.vacuum();
        expect((await app.getState(thread())).values.log).toEqual(expected);
      }
    });
  });

  it("ttlMs takes a thread that nobody goes on with, with all that it is made of", async () => {
    const store = await openShared(place(kind), { ttlMs: 1_000 });
    const checkpointer = new ForkpointSaver(store);
    await deltas(checkpointer, 1_000).invoke({ log: ["in"], round: 1 }, thread());
    await until(async () => {
      await store.prune();
      return (await checkpoints(checkpointer)) === 0;
    });
    expect((await checkpointer.stats()).checkpoints).toBe(0);
  });
});
