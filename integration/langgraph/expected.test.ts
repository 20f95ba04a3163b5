// Tests `expectedParent`. If two runs continue from the same checkpoint, one of them gets an error. Other savers fork
// the history without notice.
import { describe, expect, it } from "vitest";
import { Gate } from "../../__test__/helpers.js";
import { Log, all, checkpoint, kinds, metadata, rejection, saver, says, sequence, thread } from "./helpers.js";

/** A graph whose node waits until the test lets it continue. */
function waiting(checkpointer: ReturnType<typeof saver>, name: string) {
  const gate = new Gate();
  const app = sequence(Log, { work: async () => (await gate.wait(), { log: [name] }) }).compile({ checkpointer });
  return { app, gate };
}

const parents = async (checkpointer: ReturnType<typeof saver>) =>
  (await all(checkpointer.list(thread()))).map(({ parentConfig }) => parentConfig?.configurable?.["checkpoint_id"]);

describe.each(kinds)("on %s", (kind) => {
  it.each(["sync", "exit"] as const)(
    "of two runs on one thread one has CONFLICT, durability %s",
    async (durability) => {
      const checkpointer = saver(kind, { expectedParent: true });
      await sequence(Log, { first: says("first") })
        .compile({ checkpointer })
        .invoke({ log: [] }, thread());
      // Both runs continue from the same checkpoint. The later run must not see the checkpoints of the earlier run.
      const [one, two] = [waiting(checkpointer, "one"), waiting(checkpointer, "two")];
      const from = (await checkpointer.getTuple(thread()))!.config.configurable!;
      const config = { configurable: { ...from }, durability };
      const [first, second] = [
        one.app.invoke({ log: ["in"] }, config),
        rejection(two.app.invoke({ log: ["in"] }, config)),
      ];
      if (durability === "exit") await Promise.all([one.gate.reached, two.gate.reached]);
      one.gate.open();
      expect((await first).log).toEqual(["first", "in", "one"]);
      two.gate.open();
      const error = await second;
      expect(error).toMatchObject({ name: "ForkpointError", code: "CONFLICT", retryable: false });
      expect(error.message).toContain('another run has continued thread "thread"');
      expect(error.message).toContain("expected_parent: false");
      expect((await checkpointer.getTuple(thread()))!.checkpoint.channel_values["log"]).toEqual(["first", "in", "one"]);
      const found = await parents(checkpointer);
      expect(new Set(found).size).toBe(found.length);
    },
  );

  it("the same checkpoint may be put again, as one does that does not know whether it was stored", async () => {
    const checkpointer = saver(kind, { expectedParent: true });
    const [first, second] = [checkpoint(), checkpoint()];
    const root = await checkpointer.put(thread(), first, metadata(), {});
    await checkpointer.put(thread(), first, metadata(), {});
    await checkpointer.put(root, second, metadata(), {});
    await checkpointer.put(root, second, metadata(), {});
    expect(await rejection(checkpointer.put(thread(), first, metadata(), {}))).toMatchObject({ code: "CONFLICT" });
    expect(await parents(checkpointer)).toEqual([first.id, undefined]);
  });

  it("a new thread begins once; namespaces and threads are each by themselves", async () => {
    const checkpointer = saver(kind, { expectedParent: true });
    await checkpointer.put(thread(), checkpoint(), metadata(), {});
    expect(await rejection(checkpointer.put(thread(), checkpoint(), metadata(), {}))).toMatchObject({
      code: "CONFLICT",
    });
    await checkpointer.put(thread("thread", { checkpoint_ns: "sub" }), checkpoint(), metadata(), {});
    await checkpointer.put(thread("other"), checkpoint(), metadata(), {});
  });

  it("a branch is made on purpose with expected_parent: false, and a call can ask for it too", async () => {
    const checkpointer = saver(kind, { expectedParent: true });
    const app = sequence(Log, { a: says("a"), b: says("b") }).compile({ checkpointer });
    await app.invoke({ log: [] }, thread());
    const old = (await all(app.getStateHistory(thread()))).find(({ next }) => next[0] === "b")!;
    expect(await rejection(app.invoke(null, { ...old.config, durability: "sync" }))).toMatchObject({
      code: "CONFLICT",
    });
    const branch = {
      configurable: { ...old.config.configurable, expected_parent: false },
      durability: "sync" as const,
    };
    expect((await app.invoke(null, branch)).log).toEqual(["a", "b"]);

    const lax = saver(kind);
    const root = await lax.put(thread(), checkpoint(), metadata(), {});
    await lax.put(root, checkpoint(), metadata(), {});
    await lax.put(root, checkpoint(), metadata(), {});
    const asking = { configurable: { ...root.configurable, expected_parent: true } };
    expect(await rejection(lax.put(asking, checkpoint(), metadata(), {}))).toMatchObject({ code: "CONFLICT" });
  });

  it("a checkpoint whose id is before its parent's is the latest all the same: the clock was set back", async () => {
    const checkpointer = saver(kind, { expectedParent: true });
    const early = checkpoint();
    const root = await checkpointer.put(thread(), checkpoint(), metadata(), {});
    await checkpointer.put(root, early, metadata(), {});
    expect((await checkpointer.getTuple(thread()))!.checkpoint.id).toBe(early.id);
    expect(await rejection(checkpointer.put(root, checkpoint(), metadata(), {}))).toMatchObject({ code: "CONFLICT" });
  });

  it("an option or a key of another type is refused", async () => {
    expect(() => saver(kind, { expectedParent: "yes" as never })).toThrow(
      /option "expectedParent" must be true or false/,
    );
    const wrong = { configurable: { thread_id: "thread", expected_parent: 1 } };
    expect((await rejection(saver(kind).put(wrong, checkpoint(), metadata(), {}))).message).toMatch(
      /expected_parent must be true or false/,
    );
  });
});
