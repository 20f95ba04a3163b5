// Finding checkpoints and removing threads, with all kinds of names.
import { type CheckpointListOptions, type CheckpointTuple } from "@langchain/langgraph-checkpoint";
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
  describe("limit and before", () => {
    it("a limit that is no number above 0 is none, and an undefined option is as good as left out", async () => {
      const checkpointer = saver(kind);
      const id = await put(checkpointer);
      for (const limit of [0, -1, Number.NaN]) expect(await all(checkpointer.list({}, { limit }))).toEqual([]);
      const none = { limit: undefined, before: undefined, filter: undefined } as unknown as CheckpointListOptions;
      const unsaid = { configurable: { thread_id: "thread", checkpoint_ns: undefined } };
      expect(ids(await all(checkpointer.list(unsaid, none)))).toEqual([id]);
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
  });

  describe("filter", () => {
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
  });

  describe("iteration", () => {
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
});
