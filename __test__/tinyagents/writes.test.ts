// Tests pending writes: putWrites and getWrites, and how the other operations treat the writes.
import { ERROR, INTERRUPT, RESUME } from "forkpoint/tinyagents";
import { describe, expect, it } from "vitest";
import { failure, kinds, rejection, wrongType } from "../helpers.js";
import { type Kind, chain, idsOf, make, write } from "./helpers.js";

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

  it("a slot from 0 on keeps its first write", async () => {
    const store = await filled();
    await store.putWrites(config, [write({ idx: 0, payload: 1 })]);
    await store.putWrites(config, [write({ idx: 0, payload: 2, node: "other", channel: "other" })]);
    await store.putWrites(config, [write({ idx: 0, payload: 3 }), write({ idx: 1, payload: 4 })]);
    expect(await store.getWrites(config)).toEqual([write({ idx: 0, payload: 1 }), write({ idx: 1, payload: 4 })]);
  });

  it("a slot below 0 keeps its last write", async () => {
    const store = await filled();
    for (const idx of [RESUME, ERROR, INTERRUPT, -4, -1_000]) {
      await store.putWrites(config, [write({ idx, payload: "first" })]);
      await store.putWrites(config, [write({ idx, payload: "last", node: "other", channel: "other" })]);
    }
    expect(await store.getWrites(config)).toEqual(
      [RESUME, ERROR, INTERRUPT, -4, -1_000].map((idx) =>
        write({ idx, payload: "last", node: "other", channel: "other" }),
      ),
    );
  });

  it("the same holds within one call", async () => {
    const store = await filled();
    await store.putWrites(config, [
      write({ idx: 0, payload: 1 }),
      write({ idx: -1, payload: 2 }),
      write({ idx: 0, payload: 3 }),
      write({ idx: -1, payload: 4 }),
    ]);
    expect(await store.getWrites(config)).toEqual([write({ idx: 0, payload: 1 }), write({ idx: -1, payload: 4 })]);
  });

  it("slots are of a task, and the writes are in the order of the tasks' and the slots' first writes", async () => {
    const store = await filled();
    await store.putWrites(config, [write({ taskId: "z", idx: 5, payload: 1 })]);
    await store.putWrites(config, [write({ taskId: "a", idx: 5, payload: 2 })]);
    await store.putWrites(config, [write({ taskId: "z", idx: 0, payload: 3 })]);
    await store.putWrites(config, [write({ taskId: "a", idx: RESUME, payload: 4 })]);
    await store.putWrites(config, [write({ taskId: "z", idx: RESUME, payload: 5 })]);
    await store.putWrites(config, [write({ taskId: "a", idx: RESUME, payload: 6 })]);
    const found = await store.getWrites(config);
    expect(found.map(({ taskId, idx, payload }) => [taskId, idx, payload])).toEqual([
      ["z", 5, 1],
      ["z", 0, 3],
      ["z", RESUME, 5],
      ["a", 5, 2],
      ["a", RESUME, 6],
    ]);
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

  it("a large write is kept", async () => {
    const store = await filled();
    const payload = "0123456789abcdef".repeat(2 ** 16);
    await store.putWrites(config, [write({ payload })]);
    expect(await store.getWrites(config)).toEqual([write({ payload })]);
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

  it("the checkpoint may be put later", async () => {
    const store = make(kind);
    await store.putWrites(config, [write()]);
    // An unknown checkpoint has no writes, and no thread.
    expect(await store.getWrites(config)).toEqual([]);
    expect(await store.listThreads()).toEqual([]);
    await store.putWrites(config, [write({ payload: "late" }), write({ idx: 1 })]);
    await store.put({ ...config, state: 0, pendingWrites: [write({ payload: "inside" })] });
    expect(await store.getWrites(config)).toEqual([write(), write({ idx: 1 })]);
    expect((await store.getTuple(config))!.pendingWrites).toEqual([write(), write({ idx: 1 })]);
  });

  it("belong to an id, not to one of the checkpoints with this id", async () => {
    const store = await filled();
    await store.putWrites(config, [write({ idx: 0 })]);
    await store.put({ ...config, state: "again", pendingWrites: [write({ payload: "inside" })] });
    expect(await store.getTuple(config)).toMatchObject({ checkpoint: { state: "again" }, pendingWrites: [write()] });
    await store.putWrites(config, [write({ idx: 0, payload: "late" }), write({ idx: 1 })]);
    expect(await store.getWrites(config)).toEqual([write({ idx: 0 }), write({ idx: 1 })]);
    expect(await store.getWrites({ threadId: "t" })).toEqual([write({ idx: 0 }), write({ idx: 1 })]);
  });

  it("without an id, the writes of the latest checkpoint are read: of the namespace, or of the thread", async () => {
    const store = make(kind);
    await chain(store, 3);
    await chain(store, 2, { namespace: ["sub"] });
    const place = (checkpointId: string, namespace: string[] = []) => ({ threadId: "t", checkpointId, namespace });
    await store.putWrites(place("c2"), [write({ payload: "root" })]);
    await store.putWrites(place("c1", ["sub"]), [write({ payload: "sub" })]);
    expect(await store.getWrites({ threadId: "t", namespace: [] })).toEqual([write({ payload: "root" })]);
    expect(await store.getWrites({ threadId: "t" })).toEqual([write({ payload: "sub" })]);
    expect(await store.getWrites({ threadId: "t", checkpointId: null, namespace: ["sub"] })).toEqual([
      write({ payload: "sub" }),
    ]);
    expect(await store.getWrites(place("c1"))).toEqual([]);
    expect(await store.getWrites(place("c2", ["sub"]))).toEqual([]);
    expect(await store.getWrites({ threadId: "t", namespace: ["none"] })).toEqual([]);
    expect(await store.getWrites({ threadId: "none" })).toEqual([]);
  });

  it("threads, namespaces and checkpoints do not touch each other's writes", async () => {
    const store = make(kind);
    const places = ["t", "u"].flatMap((threadId) =>
      [[], ["n"], ["n", "n"]].flatMap((namespace) =>
        ["a", "aa"].map((checkpointId) => ({ threadId, namespace, checkpointId })),
      ),
    );
    for (const place of places) await store.put({ ...place, state: 0 });
    for (const [n, place] of places.entries()) await store.putWrites(place, [write({ payload: n })]);
    for (const [n, place] of places.entries()) expect(await store.getWrites(place)).toEqual([write({ payload: n })]);
    await store.deleteCheckpoints("t", ["a"]);
    for (const [n, place] of places.entries()) {
      const gone = place.threadId === "t" && place.checkpointId === "a";
      expect(await store.getWrites(place)).toEqual(gone ? [] : [write({ payload: n })]);
    }
    await store.deleteThread("t");
    for (const [n, place] of places.entries()) {
      expect(await store.getWrites(place)).toEqual(place.threadId === "t" ? [] : [write({ payload: n })]);
    }
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

  it("no writes are nothing to do", async () => {
    const store = await filled();
    await store.putWrites(config, []);
    expect(await store.getWrites(config)).toEqual([]);
    expect(idsOf(await store.list("t"))).toEqual(["a"]);
  });

  describe("putWrites refuses, and stores nothing,", () => {
    it("a config without a checkpoint id", async () => {
      const store = await filled();
      for (const checkpointId of [undefined, null]) {
        const error = await failure(
          store.putWrites({ threadId: "t", checkpointId: checkpointId! }, [write()]),
          "INVALID_ARGUMENT",
        );
        expect(error.message).toContain("checkpointId");
      }
      expect(await store.getWrites(config)).toEqual([]);
    });

    it.each<[string, unknown]>([
      ["undefined", undefined],
      ["null", null],
      ["a number", 7],
      ["no threadId", { checkpointId: "a" }],
      ["a number as threadId", { threadId: 7, checkpointId: "a" }],
      ["a number as checkpointId", { threadId: "t", checkpointId: 7 }],
      ["a string as namespace", { ...config, namespace: "sub" }],
      ["a number in the namespace", { ...config, namespace: [7] }],
    ])("the config %s", async (_, wrong) => {
      const store = await filled();
      await wrongType(store.putWrites(wrong as never, [write()]));
      await store.put({ ...config, threadId: "7", state: 0 });
      expect(await store.getWrites({ ...config, threadId: "7" })).toEqual([]);
    });

    it.each<[string, unknown]>([
      ["undefined", undefined],
      ["null", null],
      ["an object", {}],
      ["a write that is null", [write(), null]],
      ["a write that is a string", [write(), "x"]],
      ["no node", [write(), { ...write({ idx: 1 }), node: undefined }]],
      ["a number as task", [write(), { ...write({ idx: 1 }), taskId: 7 }]],
      ["no channel", [write(), { ...write({ idx: 1 }), channel: null }]],
      ["a string as slot", [write(), { ...write(), idx: "1" }]],
      ["a BigInt as slot", [write(), { ...write(), idx: 1n }]],
      ["no slot", [write(), { ...write(), idx: undefined }]],
    ])("the writes %s", async (_, wrong) => {
      const store = await filled();
      await wrongType(store.putWrites(config, wrong as never));
      expect(await store.getWrites(config)).toEqual([]);
    });

    it.each([1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, -(2 ** 53)])("the slot %s", async (idx) => {
      const store = await filled();
      const error = await rejection(store.putWrites(config, [write(), write({ idx })]));
      expect(error).toBeInstanceOf(RangeError);
      expect(error.message).toContain("writes[1].idx");
      expect(await store.getWrites(config)).toEqual([]);
    });

    it("a payload that cannot be stored: none of the call's writes are stored", async () => {
      const store = await filled();
      const writes = [write(), write({ idx: 1, payload: { deep: Promise.resolve() } })];
      const error = await failure(store.putWrites(config, writes), "INVALID_ARGUMENT");
      expect(error.message).toContain("deep");
      expect(await store.getWrites(config)).toEqual([]);
    });

    it("half of a surrogate pair", async () => {
      const store = await filled();
      for (const fields of [{ node: "\ud83d" }, { taskId: "\ud83d" }, { channel: "\ud83d" }]) {
        await failure(store.putWrites(config, [write(fields)]), "INVALID_ARGUMENT");
      }
      expect(await store.getWrites(config)).toEqual([]);
    });
  });
});
