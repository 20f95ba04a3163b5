// Labels, keys and values that break careless code, and namespaces that a store refuses. Filters are in filters.ts.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import { type Put, fill, found, rejection, valueOf } from "./helpers.js";
import { inMemory, page, type } from "./sources.js";
import type { Store, Value } from "./store.js";

const namespaces = "documented: InvalidNamespaceError and BaseStore.put in @langchain/langgraph-checkpoint";

/** Puts each value, reads it and compares both. */
async function keepsAll(store: Store, values: readonly Value[]) {
  for (const [n, value] of values.entries()) await store.put(["v"], `${n}`, value);
  for (const [n, value] of values.entries())
    assert.deepEqual(await valueOf(store, ["v"], `${n}`), value, `the value ${n}`);
}

export const hostile = expectations<Store>("hostile", {
  "langgraph-store/any-label": {
    should: page,
    title: "keeps items under any label that LangGraph's `put` allows: blanks, quotes, slashes, wildcards, emoji",
    async checkStore(store) {
      const labels = ["a b", "a/b", "ä😀", "me@home", "'; DROP TABLE store; --", '"', "__proto__", "constructor", "1"];
      labels.push("%", "user_1", "*", "a\\", "\\", "#", "?", "{}", "null", "long".repeat(50));
      await fill(store, ...labels.map((label, n): Put => [["l", label], "k", { n }]));
      for (const [n, label] of labels.entries()) {
        assert.deepEqual(await valueOf(store, ["l", label], "k"), { n }, `the label ${label}`);
        const items = await store.search(["l", label]);
        assert.deepEqual(
          items.map(({ namespace, value }) => [namespace, value]),
          [[["l", label], { n }]],
          `a search for the label ${label}`,
        );
      }
    },
  },
  "langgraph-store/any-key": {
    should: type("Item.key"),
    title: "keeps items under any key: empty, dots, quotes, slashes, wildcards, emoji, line breaks",
    async checkStore(store) {
      const keys = ["", ".", "..", "a.b", "a/b", "../a", "%", "_", "*", "ä😀", "$gt", "__proto__", "constructor"];
      keys.push("'; DROP TABLE store; --", '"', "\\", "a:b", "a\nb", "\t", "null", "undefined", "long".repeat(100));
      await fill(store, ...keys.map((key, n): Put => [["k"], key, { n }]));
      for (const [n, key] of keys.entries())
        assert.deepEqual(await valueOf(store, ["k"], key), { n }, `the key ${key}`);
      assert.deepEqual(await found(store, ["k"]), keys.toSorted());
      for (const key of keys) await store.delete(["k"], key);
      assert.deepEqual(await found(store, ["k"]), [], "all must be deleted");
    },
  },
  "langgraph-store/json-values": {
    must: type("PutOperation.value"),
    title: "returns every JSON value as it was put",
    async checkStore(store) {
      const deep = Array.from({ length: 100 }).reduce<Value>((inner) => ({ inner }), { end: true });
      await keepsAll(store, [
        {},
        { text: "", list: [], object: {}, none: null, no: false, zero: 0 },
        { text: "ä😀 \u2028 \n\t \" \\ ' $1 %s {{x}}", html: "</script><!--" },
        { max: Number.MAX_SAFE_INTEGER, min: -1, float: 0.1 + 0.2, large: 1e300, small: 5e-324 },
        { "": 1, "a.b": 2, $gt: 3, $type: "Date", "ä 😀": 4, constructor: 5, toString: 6, value: 7, namespace: 8 },
        { list: [[[1], null], [{ a: [] }]], mixed: [1, "1", true, null, { n: 1 }] },
        { date: "2026-11-27T00:00:00.000Z", number: "007", json: '{"a":1}' },
        Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`k${n}`, n])),
        deep,
      ]);
    },
  },
  "langgraph-store/proto-key": {
    should: inMemory("keeps such values; models write JSON, and JSON.parse makes such keys"),
    title: "keeps the key `__proto__` of a value as a key",
    async checkStore(store) {
      await store.put(["v"], "k", JSON.parse('{"__proto__":{"admin":true},"n":1}'));
      const value = (await valueOf(store, ["v"], "k"))!;
      assert.equal(value["admin"], undefined, "the key must not become the prototype");
      assert.equal(({} as Value)["admin"], undefined, "the prototype of all objects must stay as it is");
      assert.deepEqual(Object.keys(value).toSorted(), ["__proto__", "n"]);
      assert.deepEqual(Object.getOwnPropertyDescriptor(value, "__proto__")?.value, { admin: true });
    },
  },
  "langgraph-store/nul-characters": {
    should: inMemory("keeps them; they come with text that was read from files"),
    title: "keeps the character U+0000 in values",
    checkStore: (store) => keepsAll(store, [{ text: "a\0b" }, { "k\0": ["\0"] }]),
  },
  "langgraph-store/lone-surrogates": {
    ours: "text that was cut in the middle of an emoji has half a character, and JSON can say it",
    title: "keeps half a surrogate pair in values",
    checkStore: (store) => keepsAll(store, [{ text: "\ud83d" }, { text: "a\ude00b", more: ["😀"] }]),
  },
  "langgraph-store/beyond-json": {
    ours: "InMemoryStore keeps any value, and PutOperation promises JSON only",
    title: "returns dates, maps, sets, bytes, undefined and numbers that JSON has not, as they were put",
    async checkStore(store) {
      await keepsAll(store, [
        { date: new Date(7), inside: [new Date(8)] },
        { nothing: undefined, map: new Map([[1, new Set([2])]]) },
        { bytes: new Uint8Array([1, 2, 255]), big: 2n ** 70n },
        { zero: -0, nan: Number.NaN, infinite: -Infinity },
      ]);
    },
  },
  "langgraph-store/large-values": {
    should: inMemory("has no limit; deepagents keeps files in stores"),
    title: "keeps a value of 2 MB, and finds it by a filter",
    async checkStore(store) {
      const value = { name: "file", text: "0123456789abcdef".repeat(131_072) };
      await store.put(["v"], "k", value);
      assert.equal((await valueOf(store, ["v"], "k"))?.["text"].length, value.text.length);
      const [item] = await store.search(["v"], { filter: { name: "file" } });
      assert(item?.value["text"] === value.text, "the value must be complete");
    },
  },
  "langgraph-store/put-refuses-namespaces": {
    must: namespaces,
    title: "refuses to put into an empty namespace, one with an empty label, a dot or a number, and below `langgraph`",
    async checkStore(store) {
      for (const namespace of [[], [""], ["a", ""], ["a.b"], ["langgraph"], ["langgraph", "a"], ["a", 1]])
        await rejection(store.put(namespace as string[], "k", {}), `a put into ${JSON.stringify(namespace)}`);
      await store.put(["a", "langgraph"], "k", {});
      assert.deepEqual(await store.listNamespaces(), [["a", "langgraph"]], "nothing else must be stored");
    },
  },
  "langgraph-store/namespace-errors": {
    should: namespaces,
    title: "rejects a wrong namespace with an InvalidNamespaceError",
    async checkStore(store) {
      for (const namespace of [[], ["a", ""], ["a.b"], ["langgraph"]]) {
        const { name } = await rejection(store.put(namespace, "k", {}), `a put into ${JSON.stringify(namespace)}`);
        assert.equal(name, "InvalidNamespaceError", `the name of the error for ${JSON.stringify(namespace)}`);
      }
    },
  },
  "langgraph-store/reads-of-refused-namespaces": {
    ours: "AsyncBatchedStore of 1.2 lets these reads pass, and a read that rejects takes all calls of its tick along",
    title: "finds nothing in an empty or reserved namespace, and does not reject the batch",
    async checkStore(store) {
      await store.put(["a"], "k", { n: 1 });
      const results = await store.batch([
        { namespace: ["a"], key: "k" },
        { namespace: [], key: "k" },
        { namespace: ["langgraph"], key: "k" },
        { namespacePrefix: ["langgraph"] },
      ]);
      assert.deepEqual(results[0]?.value, { n: 1 });
      assert.deepEqual(results.slice(1), [null, null, []]);
    },
  },
});
