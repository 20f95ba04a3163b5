// What `list` does beyond the conformance suite: odd limits, an id with `before`, indexes of metadata, and several lists at once.
import { type CheckpointListOptions, type CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { isDeepStrictEqual } from "node:util";
import { ForkpointSaver } from "forkpoint/langgraph";
import { describe, expect, it } from "vitest";
import { all, checkpoint, mainKinds, metadata, open, place, saver, thread, openShared } from "./helpers.js";

const ids = (tuples: CheckpointTuple[]) => tuples.map((tuple) => tuple.checkpoint.id);

/** Puts a checkpoint and returns its id. */
async function put(to: ReturnType<typeof saver>, config = thread(), fields: object = {}, id = checkpoint().id) {
  await to.put(config, { ...checkpoint(), id }, metadata(fields), {});
  return id;
}

describe.each(mainKinds)("on %s", (kind) => {
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

  it("a filter with an index finds the same, in old and new checkpoints", async () => {
    const store = await openShared(place(kind));
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

  it("refuses a key of metadata that cannot have an index", () => {
    for (const key of ['a"b', "a\\b", "a\nb", 1]) {
      expect(() => open("memory:", { metadataIndexes: [key as string] }), String(key)).toThrow(
        'option "metadataIndexes"[0] must',
      );
    }
    expect(() => open("memory:", { metadataIndexes: "user" as never })).toThrow(
      'option "metadataIndexes" must be an array',
    );
  });

  it("several lists at once do not disturb each other", async () => {
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
