// Tests pending writes: their values, many at once, and what is refused. model.test.ts states which write a slot keeps.
import { ERROR, INTERRUPT, RESUME } from "forkpoint/tinyagents";
import { describe, expect, it } from "vitest";
import { failure, kinds, rejection, wrongType } from "../helpers.js";
import { type Kind, make, write } from "./helpers.js";

const config = { threadId: "t", checkpointId: "a" };

it("the constants are the documented ones", () => {
  expect({ RESUME, ERROR, INTERRUPT }).toEqual({ RESUME: -1, ERROR: -2, INTERRUPT: -3 });
});

describe.each(kinds)("on %s", (kind: Kind) => {
  /** Opens a checkpointer and puts the checkpoint "a". */
  async function filled() {
    const store = make(kind);
    await store.put({ ...config, state: 0 });
    return store;
  }

  it("a write comes back with all of its fields", async () => {
    const store = await filled();
    const writes = [
      write({ node: "search", taskId: "t1", idx: 0, channel: "hits", payload: { n: 3, at: new Date(0) } }),
      write({ node: "", taskId: "", idx: 7, channel: "", payload: undefined }),
    ];
    expect(await store.putWrites(config, writes)).toBeUndefined();
    expect(await store.getWrites(config)).toStrictEqual(writes);
    expect((await store.getTuple(config))!.pendingWrites).toStrictEqual(writes);
  });

  it("the largest slots are kept exactly", async () => {
    const store = await filled();
    const slots = [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER];
    await store.putWrites(
      config,
      slots.map((idx) => write({ idx })),
    );
    expect((await store.getWrites(config)).map(({ idx }) => idx)).toEqual(slots);
  });

  it("many writes of many tasks, in one call and in parallel calls", async () => {
    const store = await filled();
    const of = (task: number, count: number) =>
      Array.from({ length: count }, (_, idx) => write({ taskId: `task-${task}`, idx, payload: [task, idx] }));
    await store.putWrites(config, of(0, 1_000));
    await Promise.all(Array.from({ length: 50 }, (_, task) => store.putWrites(config, of(task + 1, 4))));
    const expected = [...of(0, 1_000), ...Array.from({ length: 50 }, (_, task) => of(task + 1, 4)).flat()];
    expect(await store.getWrites(config)).toEqual(expected);
  });

  it("a large write is kept while other writes of its task are added, and its own memory is used again", async () => {
    const store = await filled();
    const payload = "0123456789abcdef".repeat(2 ** 18);
    await store.putWrites(config, [write({ payload })]);
    const others = Array.from({ length: 20 }, (_, at) => Buffer.alloc(payload.length + 2, at + 1));
    await store.putWrites(config, [write({ idx: 1, payload: "small" })]);
    await store.vacuum();
    const wanted = [write({ payload }), write({ idx: 1, payload: "small" })];
    expect(await store.getWrites(config)).toEqual(wanted);
    expect((await store.getTuple(config))!.pendingWrites).toEqual(wanted);
    expect(others.every((other, at) => other[0] === at + 1)).toBe(true);
  });

  it("are snapshots, and reads return fresh objects", async () => {
    const store = await filled();
    const given = [write({ payload: { list: [1] } })];
    const pending = store.putWrites(config, given);
    (given[0]!.payload as { list: number[] }).list.push(2);
    given.push(write({ idx: 1 }));
    await pending;
    const [found] = await store.getWrites(config);
    expect(found).toEqual(write({ payload: { list: [1] } }));
    (found!.payload as { list: number[] }).list.push(3);
    expect(await store.getWrites(config)).toEqual([write({ payload: { list: [1] } })]);
  });

  describe("putWrites refuses, and stores nothing,", () => {
    it("a config without a checkpoint id, and all writes of a call in which one cannot be stored", async () => {
      const store = await filled();
      for (const checkpointId of [undefined, null]) {
        const nowhere = store.putWrites({ threadId: "t", checkpointId: checkpointId! }, [write()]);
        expect((await failure(nowhere, "INVALID_ARGUMENT")).message).toContain("checkpointId");
      }
      const writes = [write(), write({ idx: 1, payload: { deep: Promise.resolve() } })];
      expect((await failure(store.putWrites(config, writes), "INVALID_ARGUMENT")).message).toContain("deep");
      for (const half of ["node", "taskId", "channel"])
        await failure(store.putWrites(config, [write({ [half]: "\ud83d" })]), "INVALID_ARGUMENT");
      expect(await store.getWrites(config)).toEqual([]);
    });

    it("a config or writes of the wrong type", async () => {
      const store = await filled();
      const { threadId, checkpointId } = config;
      const configs = [
        undefined,
        null,
        7,
        { checkpointId },
        { threadId: 7, checkpointId },
        { threadId, checkpointId: 7 },
      ];
      for (const wrong of [...configs, { ...config, namespace: "sub" }, { ...config, namespace: [7] }])
        await wrongType(store.putWrites(wrong as never, [write()]));
      const fields = [
        { node: undefined },
        { taskId: 7 },
        { channel: null },
        { idx: "1" },
        { idx: 1n },
        { idx: undefined },
      ];
      const writes = [null, "x", ...fields.map((one) => Object.assign(write({ idx: 1 }), one))];
      for (const wrong of [undefined, null, {}, ...writes.map((one) => [write(), one])])
        await wrongType(store.putWrites(config, wrong as never));
      expect(await store.getWrites(config)).toEqual([]);
      await store.put({ ...config, threadId: "7", state: 0 });
      expect(await store.getWrites({ ...config, threadId: "7" })).toEqual([]);
    });

    it.each([1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, -(2 ** 53)])("the slot %s", async (idx) => {
      const store = await filled();
      const error = await rejection(store.putWrites(config, [write(), write({ idx })]));
      expect(error).toBeInstanceOf(RangeError);
      expect(error.message).toContain("writes[1].idx");
      expect(await store.getWrites(config)).toEqual([]);
    });
  });
});
