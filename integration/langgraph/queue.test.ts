// Puts that wait to be written: above `maxQueueBytes` they are refused, and the saver does not repeat them inside.
import { describe, expect, it } from "vitest";
import { checkpoint, kinds, metadata, open, place, thread } from "./helpers.js";

const MIB = 1 << 20;

describe.each(kinds)("on %s", (kind) => {
  it("a put and its writes are refused while too many bytes wait, and only then", async () => {
    const saver = open(place(kind), { maxQueueBytes: MIB });
    // The saver learns first whether it may serialise values itself. Until then it awaits the serializer.
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
    const large = { ...checkpoint(), channel_values: { text: "x".repeat(2 * MIB) }, channel_versions: { text: 1 } };
    const [first, ...refused] = await Promise.allSettled([
      saver.put(thread("first"), large, metadata(), { text: 1 }),
      saver.put(thread("second"), checkpoint(), metadata(), {}),
      saver.putWrites(thread("first", { checkpoint_id: large.id }), [["channel", 1]], "task"),
    ]);
    expect(first).toMatchObject({ status: "fulfilled" });
    for (const outcome of refused) expect(outcome).toMatchObject({ reason: { code: "BUSY", retryable: true } });
    expect(await saver.getTuple(thread("second"))).toBeUndefined();
    await saver.put(thread("second"), checkpoint(), metadata(), {});
    expect(await saver.getTuple(thread("second"))).toBeDefined();
    expect((await saver.getTuple(thread("first")))!.pendingWrites).toEqual([]);
  });
});
