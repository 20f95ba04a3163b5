// Tests pending writes: the writes that tasks of a step have made before the step ends.
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Log, all, checkpoint, kinds, metadata, saver, says, sideBySide, thread } from "./helpers.js";

describe.each(kinds)("on %s", (kind) => {
  it("no write waits for a checkpoint that has come, when a node has blocked the event loop", async () => {
    // No time passes but in the node. So a write that waits for its timer would wait for ever.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const checkpointer = saver(kind);
    const app = sideBySide(Log, {
      fast: says("fast"),
      slow: async () => {
        // The write of the other node comes first. The event loop doesn't turn.
        for (let turn = 0; turn < 200; turn++) await Promise.resolve();
        vi.advanceTimersByTime(60_000);
        return { log: ["slow"] };
      },
      slower: async () => {
        for (let turn = 0; turn < 400; turn++) await Promise.resolve();
        return { log: ["slower"] };
      },
    }).compile({ checkpointer });
    const config = { ...thread(), durability: "async" as const };
    expect((await app.invoke({ log: [] }, config)).log).toEqual(["fast", "slow", "slower"]);
    const { pendingWrites } = (await all(checkpointer.list(thread())))[1]!;
    expect(pendingWrites!.filter(([, channel]) => channel === "log")).toHaveLength(3);
  });

  it("writes of nothing are none", async () => {
    const checkpointer = saver(kind);
    const at = await checkpointer.put(thread(), checkpoint(), metadata(), {});
    await checkpointer.putWrites(at, [], "task");
    expect((await checkpointer.getTuple(at))!.pendingWrites).toEqual([]);
  });
});
