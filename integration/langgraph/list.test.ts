// Finding checkpoints and removing threads, with all kinds of names.
import { type CheckpointListOptions, type CheckpointTuple, MemorySaver, uuid6 } from "@langchain/langgraph-checkpoint";
import { isDeepStrictEqual } from "node:util";
import { openStore } from "forkpoint";
import { ForkpointSaver } from "forkpoint/langgraph";
import { describe, expect, it, onTestFinished } from "vitest";
import { all, checkpoint, mainKinds, metadata, open, place, rejection, saver, thread } from "./helpers.js";

const ids = (tuples: CheckpointTuple[]) => tuples.map((tuple) => tuple.checkpoint.id);

/** Puts a checkpoint and returns its id. */
async function put(to: ReturnType<typeof saver>, config = thread(), fields: object = {}, id = checkpoint().id) {
  await to.put(config, { ...checkpoint(), id }, metadata(fields), {});
  return id;
}

const hostile = [
  "__proto__",
  "constructor",
  "'; DROP TABLE checkpoints; --",
  '"quoted"',
  "a%b_c*?",
  "a|b:c/../d",
  "line\nline",
  "NUL\u0000NUL",
  "NUL\u0000",
  " ",
  " padded ",
  "\u00e9",
  "e\u0301",
  "漢字😀",
  "true",
  "0",
  "null",
  "undefined",
  "x".repeat(1_000),
];

describe.each(mainKinds)("on %s", (kind) => {
  describe("order", () => {
    it("is what was put last first, whatever the ids say", async () => {
      const checkpointer = saver(kind);
      const made = Array.from({ length: 9 }, () => checkpoint().id);
      const order = [4, 0, 8, 2, 6, 1, 7, 3, 5].map((at) => made[at]!);
      for (const id of order) await put(checkpointer, thread(), {}, id);
      expect(ids(await all(checkpointer.list(thread())))).toEqual(order.toReversed());
      expect((await checkpointer.getTuple(thread()))!.checkpoint.id).toBe(order[8]);
      for (const [at, checkpoint_id] of order.entries()) {
        const before = { configurable: { checkpoint_id } };
        expect(ids(await all(checkpointer.list(thread(), { before })))).toEqual(order.slice(0, at).toReversed());
      }
    });

    it("holds over threads and namespaces", async () => {
      const checkpointer = saver(kind);
      const made: string[] = [];
      for (let i = 0; i < 12; i++) {
        made.push(await put(checkpointer, thread(`thread ${i % 3}`, { checkpoint_ns: i % 2 === 0 ? "" : "sub" })));
      }
      expect(ids(await all(checkpointer.list({})))).toEqual(made.toReversed());
      expect(ids(await all(checkpointer.list({}, { limit: 5 })))).toEqual(made.toReversed().slice(0, 5));
    });

    it("goes by the order of the puts, not by the time or by the parent", async () => {
      const checkpointer = saver(kind);
      const names = ["1", "10", "2", "a", "b"];
      let at = thread();
      for (const id of names) {
        at = (await checkpointer.put(at, { ...checkpoint(), id }, metadata(), {})) as typeof at;
      }
      expect(ids(await all(checkpointer.list(thread())))).toEqual(names.toReversed());
    });
  });

  describe("limit and before", () => {
    it("SqliteSaver: limit 0 is none, not all", async () => {
      const checkpointer = saver(kind);
      for (let i = 0; i < 3; i++) await put(checkpointer);
      expect(await all(checkpointer.list(thread(), { limit: 0 }))).toEqual([]);
      expect(await all(checkpointer.list({}, { limit: 0 }))).toEqual([]);
      for (const limit of [-1, Number.NaN]) expect(await all(checkpointer.list({}, { limit }))).toEqual([]);
      expect(await all(checkpointer.list(thread(), { limit: 0, filter: { source: "loop" } }))).toEqual([]);
    });

    it("gives as many as there are, and no more than asked for", async () => {
      const checkpointer = saver(kind);
      const made: string[] = [];
      for (let i = 0; i < 5; i++) made.unshift(await put(checkpointer));
      for (const limit of [1, 2, 4, 5, 6, 1_000]) {
        expect(ids(await all(checkpointer.list(thread(), { limit })))).toEqual(made.slice(0, limit));
      }
      expect(ids(await all(checkpointer.list(thread(), {})))).toEqual(made);
      const none = { limit: undefined, before: undefined, filter: undefined } as unknown as CheckpointListOptions;
      expect(ids(await all(checkpointer.list(thread(), none)))).toEqual(made);
    });

    it("before excludes its checkpoint and what is newer, and need not exist", async () => {
      const checkpointer = saver(kind);
      const made: string[] = [];
      for (let i = 0; i < 6; i++) made.push(uuid6(i));
      for (const i of [0, 1, 2, 4, 5]) await put(checkpointer, thread(), {}, made[i]);
      const before = async (id: string, limit?: number) => {
        const options = { before: { configurable: { checkpoint_id: id } }, ...(limit === undefined ? {} : { limit }) };
        return ids(await all(checkpointer.list(thread(), options)));
      };
      expect(await before(made[2]!)).toEqual([made[1], made[0]]);
      expect(await before(made[3]!)).toEqual([made[2], made[1], made[0]]);
      expect(await before(made[0]!)).toEqual([]);
      expect(await before(made[5]!, 2)).toEqual([made[4], made[2]]);
      expect(await before(made[5]!, 0)).toEqual([]);
    });

    it("before and an id are both conditions", async () => {
      const checkpointer = saver(kind);
      const names = ["a", "b", "b\u0000", "b\uffff", "b😀", "c"];
      for (const id of names) await put(checkpointer, thread(), {}, id);
      // UTF-8 puts 😀 after U+FFFF, UTF-16 does not.
      for (const [at, id] of names.entries()) {
        for (const [end, before] of names.entries()) {
          const options = { before: { configurable: { checkpoint_id: before } } };
          const found = ids(await all(checkpointer.list(thread("thread", { checkpoint_id: id }), options)));
          expect(found, JSON.stringify([id, before])).toEqual(at < end ? [id] : []);
        }
      }
    });

    it("before without a checkpoint is no condition", async () => {
      const checkpointer = saver(kind);
      const id = await put(checkpointer);
      expect(ids(await all(checkpointer.list(thread(), { before: thread() })))).toEqual([id]);
      expect(ids(await all(checkpointer.list(thread(), { before: {} })))).toEqual([id]);
    });
  });

  describe("the config", () => {
    it("thread, namespace and id are each optional, and each exact", async () => {
      const checkpointer = saver(kind);
      const made: Array<{ thread_id: string; checkpoint_ns: string; checkpoint_id: string }> = [];
      for (const thread_id of ["a", "ab", "A", "a "]) {
        for (const checkpoint_ns of ["", "sub", "sub:1", "Sub", "su"]) {
          const checkpoint_id = await put(checkpointer, thread(thread_id, { checkpoint_ns }));
          made.unshift({ thread_id, checkpoint_ns, checkpoint_id });
        }
      }
      // A checkpoint with the same id in another thread is a different checkpoint.
      const twin = { ...made[0]!, thread_id: "ab" };
      await put(checkpointer, thread(twin.thread_id, { checkpoint_ns: twin.checkpoint_ns }), {}, twin.checkpoint_id);

      const key = (config: object) => JSON.stringify(Object.entries(config).toSorted());
      const parts = ["thread_id", "checkpoint_ns", "checkpoint_id"] as const;
      for (const target of made) {
        for (let mask = 0; mask < 8; mask++) {
          const chosen = parts.filter((_, i) => (mask & (1 << i)) !== 0);
          const configurable = Object.fromEntries(chosen.map((part) => [part, target[part]]));
          const expected = [...made, twin].filter((one) => chosen.every((part) => one[part] === target[part]));
          const found = (await all(checkpointer.list({ configurable }))).map(({ config }) => key(config.configurable!));
          expect(found.toSorted(), JSON.stringify(configurable)).toEqual(expected.map(key).toSorted());
        }
      }
    });

    it("an undefined namespace is all of them, an empty one the root", async () => {
      const checkpointer = saver(kind);
      const root = await put(checkpointer, thread("thread", { checkpoint_ns: "" }));
      const sub = await put(checkpointer, thread("thread", { checkpoint_ns: "sub" }));
      expect(ids(await all(checkpointer.list(thread())))).toEqual([sub, root]);
      const unsaid = { configurable: { thread_id: "thread", checkpoint_ns: undefined } };
      expect(ids(await all(checkpointer.list(unsaid)))).toEqual([sub, root]);
      expect(ids(await all(checkpointer.list(thread("thread", { checkpoint_ns: "" }))))).toEqual([root]);
      // `getTuple` without a namespace reads the root namespace; `list` reads all namespaces.
      expect((await checkpointer.getTuple(thread()))!.checkpoint.id).toBe(root);
      expect(await checkpointer.getTuple(thread("thread", { checkpoint_id: sub }))).toBeUndefined();
    });

    it("gives configs of exactly thread, namespace and id, and stores no other keys", async () => {
      const checkpointer = saver(kind);
      const parent = checkpoint();
      const own = { thread_id: "thread", checkpoint_ns: "sub" };
      const more = { user: "Ada", run_id: "r", checkpoint_map: { "": "x" }, __pregel_resuming: true };
      const first = await checkpointer.put({ configurable: { ...own, ...more } }, parent, metadata(), {});
      expect(first).toEqual({ configurable: { ...own, checkpoint_id: parent.id } });
      const child = checkpoint();
      const config = { configurable: { ...first.configurable, ...more }, metadata: { user: "Ada" }, tags: ["t"] };
      const at = await checkpointer.put(config, child, metadata(), {});
      expect(at).toEqual({ configurable: { ...own, checkpoint_id: child.id } });
      const tuple = (await checkpointer.getTuple({ configurable: own }))!;
      expect(tuple).toEqual({
        config: at,
        parentConfig: first,
        checkpoint: child,
        metadata: metadata(),
        pendingWrites: [],
      });
      const listed = await all(checkpointer.list({ configurable: own }));
      expect(listed[0]).toEqual(tuple);
      expect(Object.keys(listed[1]!)).not.toContain("parentConfig");
    });

    it("a config with nothing in it gets no tuple, and lists everything", async () => {
      const checkpointer = saver(kind);
      expect(await checkpointer.getTuple({})).toBeUndefined();
      expect(await all(checkpointer.list({}))).toEqual([]);
      const id = await put(checkpointer);
      expect(await checkpointer.getTuple({})).toBeUndefined();
      expect(await checkpointer.getTuple({ configurable: {} })).toBeUndefined();
      expect(await checkpointer.getTuple({ configurable: { checkpoint_id: id } })).toBeUndefined();
      expect(ids(await all(checkpointer.list({})))).toEqual([id]);
      expect(ids(await all(checkpointer.list({ configurable: {} })))).toEqual([id]);
    });

    it("what is not there is undefined", async () => {
      const checkpointer = saver(kind);
      const id = await put(checkpointer);
      expect(await checkpointer.getTuple(thread("other"))).toBeUndefined();
      expect(await checkpointer.getTuple(thread("thread", { checkpoint_ns: "sub" }))).toBeUndefined();
      expect(await checkpointer.getTuple(thread("thread", { checkpoint_id: uuid6(0) }))).toBeUndefined();
      expect(await checkpointer.getTuple(thread("thread", { checkpoint_id: id.slice(0, -1) }))).toBeUndefined();
      expect(await checkpointer.get(thread("other"))).toBeUndefined();
      expect((await checkpointer.get(thread()))!.id).toBe(id);
    });
  });

  describe("filter", () => {
    it("is equality of every key, of value and type", async () => {
      const checkpointer = saver(kind);
      const values = [1, "1", true, "true", null, "null", "", 0, false, 1.5, -1, "é"];
      const made = new Map<unknown, string>();
      for (const value of values) made.set(value, await put(checkpointer, thread(), { value, same: "same" }));
      await put(checkpointer, thread(), { same: "same" });
      for (const value of values) {
        const found = ids(await all(checkpointer.list(thread(), { filter: { value } })));
        expect(found, JSON.stringify(value)).toEqual([made.get(value)]);
        expect(ids(await all(checkpointer.list(thread(), { filter: { same: "same", value } })))).toEqual(found);
        expect(await all(checkpointer.list(thread(), { filter: { value, same: "other" } }))).toEqual([]);
      }
      expect(await all(checkpointer.list(thread(), { filter: { value: "absent" } }))).toEqual([]);
      expect(await all(checkpointer.list(thread(), { filter: { absent: 1 } }))).toEqual([]);
      expect(await all(checkpointer.list(thread(), { filter: {} }))).toHaveLength(values.length + 1);
    });

    it("with an index finds the same, in old and new checkpoints", async () => {
      const store = await openStore(place(kind));
      onTestFinished(() => store.close());
      const plain = new ForkpointSaver(store);
      const indexed = new ForkpointSaver(store, { metadataIndexes: ["user", "a.b", "it's"] });
      const values = [
        1,
        "1",
        true,
        null,
        "it's",
        'a "quote"',
        "\\",
        "é\u2028😀",
        "x".repeat(500),
        -0,
        1e21,
        { a: 1 },
        ["1"],
      ];
      const fields = [
        ...values.map((user) => ({ user, "a.b": user })),
        {},
        { a: { user: 1 } },
        { user: undefined, other: 1 },
      ];
      for (const each of fields) await put(plain, thread(`${kind} 1`), each);
      const compare = async () => {
        for (const user of [...values, 2, "nobody", "x".repeat(501), -1]) {
          for (const key of ["user", "a.b", "it's"]) {
            const filter = { [key]: user };
            const found = ids(await all(indexed.list({}, { filter })));
            const wanted = await all(indexed.list({}));
            const same = wanted.filter(({ metadata }) => isDeepStrictEqual((metadata as never)[key], user));
            expect(found, JSON.stringify(filter)).toEqual(ids(same));
            expect(ids(await all(indexed.list({}, { filter, limit: 1 })))).toEqual(found.slice(0, 1));
          }
        }
      };
      await compare();
      for (const each of fields) await put(indexed, thread(`${kind} 2`), each);
      await indexed.deleteThread(`${kind} 1`);
      await compare();
      expect((await indexed.check()).findings).toEqual([]);
    });

    it("refuses a key that cannot have an index", () => {
      for (const key of ['a"b', "a\\b", "a\nb", 1]) {
        expect(() => open("memory:", { metadataIndexes: [key as string] }), String(key)).toThrow(
          'option "metadataIndexes"[0] must',
        );
      }
      expect(() => open("memory:", { metadataIndexes: "user" as never })).toThrow(
        'option "metadataIndexes" must be an array',
      );
    });

    it("a limit counts what it finds, not what it looks at", async () => {
      const checkpointer = saver(kind);
      const odd: string[] = [];
      for (let i = 0; i < 40; i++) {
        const id = await put(checkpointer, thread(), { odd: i % 2 === 1 });
        if (i % 2 === 1) odd.unshift(id);
      }
      expect(ids(await all(checkpointer.list(thread(), { filter: { odd: true }, limit: 15 })))).toEqual(
        odd.slice(0, 15),
      );
      const before = { configurable: { checkpoint_id: odd[10]! } };
      expect(ids(await all(checkpointer.list(thread(), { filter: { odd: true }, before, limit: 3 })))).toEqual(
        odd.slice(11, 14),
      );
    });

    it("SqliteSaver: a key with dots is a key, not a path", async () => {
      const checkpointer = saver(kind);
      const flat = await put(checkpointer, thread(), { "a.b": 1 });
      const deep = await put(checkpointer, thread(), { a: { b: 1 } });
      await put(checkpointer, thread(), { a: 1, b: 1 });
      expect(ids(await all(checkpointer.list(thread(), { filter: { "a.b": 1 } })))).toEqual([flat]);
      expect(ids(await all(checkpointer.list(thread(), { filter: { a: 1 } })))).not.toContain(deep);
    });

    it.each([
      "",
      ".",
      "$",
      "$.a",
      "a[0]",
      '"',
      'a"b',
      "'",
      "') OR 1=1 --",
      "\\",
      "a\\u0000",
      "a\u0000b",
      "a b",
      "é",
      "ключ",
      "😀",
      "0",
      "-1",
      "#",
      "*",
      "hasOwnProperty",
      "toString",
      "length",
    ])("a key may be %j", async (key) => {
      const checkpointer = saver(kind);
      const value = 'it\'s "this" \\ one\u0000';
      const other = await put(checkpointer, thread(), { [key]: "other", a: [value, { a: value }], b: value });
      const wanted = await put(checkpointer, thread(), { [key]: value });
      expect(ids(await all(checkpointer.list(thread(), { filter: { [key]: value } })))).toEqual([wanted]);
      expect(ids(await all(checkpointer.list(thread(), { filter: { [key]: "other" } })))).toEqual([other]);
      expect(await all(checkpointer.list(thread(), { filter: { [`${key}x`]: value } }))).toEqual([]);
    });

    it("what every object inherits is not in the metadata", async () => {
      const checkpointer = saver(kind);
      await put(checkpointer);
      for (const key of ["constructor", "__proto__", "toString", "valueOf"]) {
        const filter = Object.fromEntries([[key, "x"]]);
        expect(await all(checkpointer.list(thread(), { filter }))).toEqual([]);
      }
    });
  });

  describe("iteration", () => {
    /** A saver whose serializer counts its reads of the checkpoints' values. */
    function counting() {
      const plus = new MemorySaver().serde;
      const read = { count: 0 };
      const checkpointer = saver(kind, {
        serde: {
          dumpsTyped: (value) => plus.dumpsTyped(value),
          loadsTyped: (type, data) => {
            if (Buffer.from(data as Uint8Array).includes("a known value")) read.count += 1;
            return plus.loadsTyped(type, data);
          },
        },
      });
      return { checkpointer, read };
    }

    it("SqliteSaver: does not read what nobody asks for", async () => {
      const { checkpointer, read } = counting();
      for (let i = 0; i < 1_000; i++) {
        const made = checkpoint({ channel_values: { a: `a known value ${i}` }, channel_versions: { a: i } });
        await checkpointer.put(thread(), made, metadata(), { a: i });
      }
      read.count = 0;
      const iterator = checkpointer.list(thread());
      expect(read.count).toBe(0);
      const first = await iterator.next();
      expect((first.value as CheckpointTuple).checkpoint.channel_values["a"]).toBe("a known value 999");
      expect(read.count).toBeLessThanOrEqual(200);
      await iterator.return(undefined);
      expect((await iterator.next()).done).toBe(true);
      expect(read.count).toBeLessThanOrEqual(200);
    });

    it("goes on while checkpoints are put and threads are removed", async () => {
      const checkpointer = saver(kind);
      const made: string[] = [];
      for (let i = 0; i < 300; i++) made.unshift(await put(checkpointer));
      await put(checkpointer, thread("other"));
      const found: string[] = [];
      for await (const tuple of checkpointer.list(thread())) {
        found.push(tuple.checkpoint.id);
        if (found.length === 2) await put(checkpointer);
        if (found.length === 3) await checkpointer.deleteThread("other");
      }
      expect(found).toEqual(made);
    });

    it("several at once do not disturb each other", async () => {
      const checkpointer = saver(kind);
      const made: string[] = [];
      for (let i = 0; i < 30; i++) made.unshift(await put(checkpointer));
      const [a, b] = [checkpointer.list(thread()), checkpointer.list(thread(), { limit: 10 })];
      const found: [string[], string[]] = [[], []];
      for (let i = 0; i < 10; i++) {
        found[0].push(((await a.next()).value as CheckpointTuple).checkpoint.id);
        found[1].push(((await b.next()).value as CheckpointTuple).checkpoint.id);
      }
      expect(found).toEqual([made.slice(0, 10), made.slice(0, 10)]);
      expect((await b.next()).done).toBe(true);
      expect(ids(await all(a))).toEqual(made.slice(10));
    });

    it("shows pending writes and parents as getTuple does", async () => {
      const checkpointer = saver(kind);
      let at: Awaited<ReturnType<typeof checkpointer.put>> = thread();
      for (let i = 0; i < 5; i++) {
        const made = checkpoint({ channel_values: { i }, channel_versions: { i } });
        at = await checkpointer.put(at, made, metadata({ step: i }), { i });
        await checkpointer.putWrites(
          at,
          [
            ["i", i],
            ["bytes", new Uint8Array([i])],
          ],
          `task ${i}`,
        );
      }
      const listed = await all(checkpointer.list(thread()));
      expect(listed).toHaveLength(5);
      for (const tuple of listed) expect(await checkpointer.getTuple(tuple.config)).toEqual(tuple);
    });
  });

  describe("deleteThread", () => {
    it("SqliteSaver: works on a store that has never held anything", async () => {
      const checkpointer = saver(kind);
      await checkpointer.deleteThread("thread");
      expect(await all(checkpointer.list({}))).toEqual([]);
    });

    it("removes every namespace, checkpoint and write of the thread, and nothing of another", async () => {
      const checkpointer = saver(kind);
      const kept: CheckpointTuple[] = [];
      const early = uuid6(0);
      for (const thread_id of ["a", "b", "ab"]) {
        for (const checkpoint_ns of ["", "sub"]) {
          const made = checkpoint({
            channel_values: { same: "same", [thread_id]: 1 },
            channel_versions: { same: 1, [thread_id]: 1 },
          });
          const versions = { same: 1, [thread_id]: 1 };
          const at = await checkpointer.put(thread(thread_id, { checkpoint_ns }), made, metadata(), versions);
          await checkpointer.putWrites(at, [["same", "same"]], "task");
          if (thread_id !== "a") kept.unshift((await checkpointer.getTuple(at))!);
        }
        // Writes to a checkpoint that is not stored yet are removed too.
        await checkpointer.putWrites(
          thread(thread_id, { checkpoint_ns: "", checkpoint_id: early }),
          [["w", 1]],
          "task",
        );
      }
      await checkpointer.deleteThread("a");
      expect(await checkpointer.getTuple(thread("a"))).toBeUndefined();
      expect(await all(checkpointer.list(thread("a")))).toEqual([]);
      expect(await all(checkpointer.list({}))).toEqual(kept);
      for (const [thread_id, writes] of [
        ["a", []],
        ["b", [["task", "w", 1]]],
      ] as const) {
        await put(checkpointer, thread(thread_id), {}, early);
        const at = thread(thread_id, { checkpoint_ns: "", checkpoint_id: early });
        expect((await checkpointer.getTuple(at))!.pendingWrites).toEqual(writes);
      }
    });

    it("leaves nothing that a new thread of that name could inherit", async () => {
      const checkpointer = saver(kind);
      const made = checkpoint({ channel_values: { a: "old" }, channel_versions: { a: 1 } });
      await checkpointer.put(thread(), made, metadata(), { a: 1 });
      await checkpointer.deleteThread("thread");
      const next = checkpoint({ channel_values: { a: "new" }, channel_versions: { a: 1 } });
      await checkpointer.put(thread(), next, metadata(), {});
      expect((await checkpointer.getTuple(thread()))!.checkpoint.channel_values["a"]).not.toBe("old");
      await checkpointer.deleteThread("thread");
      await checkpointer.deleteThread("thread");
      expect(await all(checkpointer.list({}))).toEqual([]);
    });
  });

  describe("names", () => {
    it.each(hostile)("a thread, a namespace, a checkpoint, a task and a channel may be called %j", async (name) => {
      const checkpointer = saver(kind);
      const others = hostile.filter((other) => other !== name).slice(-6);
      for (const other of others) await put(checkpointer, thread(other, { checkpoint_ns: other }), {}, other);
      const at = await checkpointer.put(
        thread(name, { checkpoint_ns: name }),
        { ...checkpoint(), id: name },
        metadata({ name }),
        {},
      );
      expect(at).toEqual(thread(name, { checkpoint_ns: name, checkpoint_id: name }));
      await checkpointer.putWrites(at, [[name, name]], name);
      const tuple = (await checkpointer.getTuple(thread(name, { checkpoint_ns: name })))!;
      expect(tuple).toMatchObject({ config: at, pendingWrites: [[name, name, name]], metadata: { name } });
      expect(ids(await all(checkpointer.list(thread(name))))).toEqual([name]);
      expect(ids(await all(checkpointer.list({}, { filter: { name } })))).toEqual([name]);
      await checkpointer.deleteThread(name);
      expect(await checkpointer.getTuple(at)).toBeUndefined();
      expect(await all(checkpointer.list({}))).toHaveLength(others.length);
      expect(Object.keys(Object.prototype)).toEqual([]);
    });
  });

  it("put without a thread rejects, and so does one whose parts are not texts", async () => {
    const checkpointer = saver(kind);
    await rejection(checkpointer.put({}, checkpoint(), metadata(), {}));
    for (const thread_id of [undefined, null, {}, []]) {
      await rejection(checkpointer.put({ configurable: { thread_id } }, checkpoint(), metadata(), {}));
    }
    expect(await all(checkpointer.list({}))).toEqual([]);
  });

  it("getNextVersion counts in integers", () => {
    const checkpointer = saver(kind);
    expect(checkpointer.getNextVersion(undefined)).toBe(1);
    expect(checkpointer.getNextVersion(1)).toBe(2);
    expect(checkpointer.getNextVersion(41)).toBe(42);
  });
});
