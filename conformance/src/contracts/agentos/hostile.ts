// Values that break careless code.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import type { Checkpoint, Store } from "./store.js";
import { checkpoint, graph, holding, id, ids, keepsOrRejects, none, rejection, run, same } from "./checkpoints.js";
import { own, runtime, type } from "./sources.js";

/** Saves a checkpoint, and expects it as it was from `get` and `latest`. */
async function keeps(store: Store, saved: Checkpoint, what: string) {
  await store.save(structuredClone(saved));
  same(await store.get(saved.id), saved, `a checkpoint with ${what}`);
  same(await store.latest(saved.runId), saved, `latest() of a checkpoint with ${what}`);
}

export const hostile = expectations<Store>("hostile", {
  "agentos/json-values": {
    must: type("Checkpoint: a complete, serialisable snapshot"),
    title: "keeps every text and number that JSON can hold exactly",
    async checkStore(store) {
      const scratch = {
        texts: [
          "",
          " a ",
          "'\"`\\",
          "';--",
          "${x}",
          "%_*?",
          "\n\r\t",
          "\u2028\u2029\ufeff",
          "ä",
          "a\u0308",
          "日本",
          "👩‍👩‍👧",
          "<b>&amp;",
        ],
        numbers: [0, -1, 0.1 + 0.2, 1e21, 5e-324, 1.7976931348623157e308, 2 ** 53 - 1, 2 ** 53 + 2, 1e-7, 180.5],
        others: [true, false, null, [], {}, [[]], [{}], [null]],
        like: { date: "2026-01-01T00:00:00.000Z", number: "42", json: '{"a":1}', isTrue: "true", nothing: "null" },
      };
      await keeps(store, holding(scratch), "the values of JSON");
    },
  },
  "agentos/odd-text": {
    ours: "Postgres takes no U+0000 in text or jsonb, and UTF-8 no half of a surrogate pair",
    title: "keeps texts with U+0000 or half a surrogate pair, or rejects the save",
    async checkStore(store) {
      await keepsOrRejects(store, holding({ text: "a\0b" }), "U+0000 in a text");
      await keepsOrRejects(store, holding({ "a\0b": 1 }, { id: id(2) }), "U+0000 in a key");
      await keepsOrRejects(store, holding({ text: "a\ud83d" }, { id: id(3) }), "half a surrogate pair");
    },
  },
  "agentos/undefined": {
    should: runtime(
      "records `output: undefined` for nodes that return nothing, and `input: undefined` for runs without one",
    ),
    title: "saves a checkpoint with undefined in it, and reads it as undefined, null or missing",
    async checkStore(store) {
      const saved = checkpoint({
        memorySnapshot: undefined,
        nodeResults: { search: { effectClass: "read", output: undefined, durationMs: 0 } },
        visitedNodes: ["search", "book"],
      } as Record<string, unknown>);
      saved.state.input = undefined;
      saved.state.scratch = { nothing: undefined, something: 1 };
      await store.save(saved);
      const found = await store.get(id(1));
      assert.ok(found, "a checkpoint with undefined in it is not found");
      assert.equal(found.state.input ?? undefined, undefined);
      assert.equal(found.nodeResults["search"]?.output ?? undefined, undefined);
      assert.deepEqual([found.state.scratch.nothing ?? undefined, found.state.scratch.something], [undefined, 1]);
      assert.deepEqual(found.visitedNodes, ["search", "book"]);
      const [listed] = await store.list(graph);
      assert.equal(listed?.hasMemorySnapshot, false, "a memorySnapshot that is undefined is none");
    },
  },
  "agentos/keys": {
    should: own("keeps every key, and users choose the keys of their states and the ids of their nodes"),
    title: "keeps keys such as `__proto__`, `constructor`, `a.b`, `$set` and the empty one as data",
    async checkStore(store) {
      const text =
        '{"__proto__":{"isAdmin":true},"constructor":{"prototype":{"isAdmin":true}},"a.b":1,"$set":2,"":3,"length":4,"1":5}';
      const saved = holding(JSON.parse(text));
      saved.nodeResults = JSON.parse('{"__proto__":{"effectClass":"write","output":{"isAdmin":true},"durationMs":1}}');
      await store.save(structuredClone(saved));
      const found = await store.get(id(1));
      assert.equal(({} as Record<string, unknown>)["isAdmin"], undefined, "the save has changed Object.prototype");
      assert.deepEqual(Object.keys(found!.state.scratch), Object.keys(saved.state.scratch));
      same(found, saved, "a checkpoint with such keys");
    },
  },
  "agentos/rich-values": {
    ours: "JSON turns them into something else without an error, and the resumed run goes on with that",
    title: "keeps Dates, Maps, Sets, bytes, BigInts, NaN and infinities as they are, or rejects the save",
    async checkStore(store) {
      const values: Record<string, unknown> = {
        "a Date": new Date(5),
        "a Map": new Map([["k", { v: 1 }]]),
        "a Set": new Set([1, "a"]),
        bytes: new Uint8Array([1, 2, 255]),
        "a BigInt": 2n ** 70n,
        NaN: Number.NaN,
        Infinity: Number.POSITIVE_INFINITY,
      };
      for (const [n, [what, value]] of Object.entries(values).entries())
        await keepsOrRejects(store, holding({ value }, { id: id(n) }), what);
    },
  },
  "agentos/circular": {
    ours: "a state that cannot be stored must not break the run's other checkpoints",
    title: "keeps a state that contains itself or rejects it, and still lists the run after that",
    async checkStore(store) {
      await store.save(checkpoint());
      const scratch: Record<string, unknown> = { a: 1 };
      scratch["self"] = scratch;
      const saved = holding(scratch, { id: id(2), timestamp: checkpoint().timestamp + 1 });
      const error = await rejection(store.save(saved), "save() of a state that contains itself");
      if (error === undefined) same(await store.get(id(2)), saved, "a checkpoint whose state contains itself");
      else none(await store.get(id(2)), "a checkpoint whose save() was rejected");
      const listed = ids(await store.list(graph));
      assert.deepEqual(listed, error === undefined ? [id(2), id(1)] : [id(1)]);
      assert.equal((await store.latest(run(1)))?.id, listed[0]);
    },
  },
  "agentos/nested": {
    should: own("sets no limit, and results of tools and parsed documents are nested"),
    title: "keeps a state that is nested 100 levels deep",
    async checkStore(store) {
      let nested: unknown = "the end";
      for (let level = 0; level < 50; level++) nested = { level, inner: [nested] };
      await keeps(store, holding({ nested }), "100 levels");
    },
  },
  "agentos/large": {
    should: own("sets no limit, and states hold documents and conversations"),
    title: "keeps a state of 3 MB",
    async checkStore(store, trial) {
      const letters = Array.from({ length: 2_000 }, () => String.fromCharCode(97 + trial.random(26))).join("");
      const documents = Array.from({ length: 1_500 }, (_, n) => ({ n, text: letters }));
      await store.save(holding({ documents }));
      const found = await store.get(id(1));
      const kept = found?.state.scratch.documents;
      assert.ok(Array.isArray(kept) && kept.length === 1_500, "the list of a large state has lost members");
      const isKept = kept.every((one, n) => one.n === n && one.text === letters);
      assert.ok(isKept, "a text of a large state has changed");
    },
  },
});
