// Lists of namespaces.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import { type Put, fill, sorted, upTo } from "./helpers.js";
import { inMemory, type } from "./sources.js";
import type { Listing, Store } from "./store.js";

/** Returns a function that returns the namespaces that are listed, among these. */
async function among(store: Store, namespaces: string[][]) {
  await fill(store, ...namespaces.map((namespace): Put => [namespace, "k"]));
  return async (options?: Listing) => sorted(await store.listNamespaces(options));
}

const all = [["a"], ["a", "x"], ["a", "y", "z"], ["b", "x"], ["c", "x", "z"]];

export const namespaces = expectations<Store>("contract", {
  "langgraph-store/list-each-once": {
    must: type("BaseStore.listNamespaces"),
    title: "lists each namespace that holds items once",
    async checkStore(store) {
      assert.deepEqual(await store.listNamespaces(), []);
      const listed = await among(store, all);
      await store.put(["a", "x"], "other", {});
      assert.deepEqual(await listed(), sorted(all));
    },
  },
  "langgraph-store/list-prefix": {
    must: type("BaseStore.listNamespaces"),
    title: "lists the namespaces that begin with a prefix",
    async checkStore(store) {
      const listed = await among(store, all);
      assert.deepEqual(await listed({ prefix: ["a"] }), sorted(all.slice(0, 3)));
      assert.deepEqual(await listed({ prefix: ["a", "y", "z"] }), [["a", "y", "z"]]);
      assert.deepEqual(await listed({ prefix: ["a", "y", "z", "more"] }), []);
      assert.deepEqual(await listed({ prefix: ["x"] }), []);
    },
  },
  "langgraph-store/list-suffix": {
    must: type("BaseStore.listNamespaces"),
    title: "lists the namespaces that end with a suffix, and those that match both a prefix and a suffix",
    async checkStore(store) {
      const listed = await among(store, all);
      assert.deepEqual(await listed({ suffix: ["z"] }), sorted([all[2]!, all[4]!]));
      assert.deepEqual(await listed({ suffix: ["x", "z"] }), [all[4]]);
      assert.deepEqual(await listed({ suffix: ["a"] }), [["a"]]);
      assert.deepEqual(await listed({ prefix: ["c"], suffix: ["z"] }), [all[4]]);
      assert.deepEqual(await listed({ prefix: ["b"], suffix: ["z"] }), []);
    },
  },
  "langgraph-store/list-wildcards": {
    must: type("NameSpacePath"),
    title: "takes `*` in a prefix or suffix for any one label",
    async checkStore(store) {
      const listed = await among(store, all);
      assert.deepEqual(await listed({ prefix: ["*", "x"] }), sorted([all[1]!, all[3]!, all[4]!]));
      assert.deepEqual(await listed({ suffix: ["*", "z"] }), sorted([all[2]!, all[4]!]));
      assert.deepEqual(await listed({ prefix: ["a", "*", "z"] }), [all[2]]);
    },
  },
  "langgraph-store/list-max-depth": {
    should: inMemory("cuts namespaces at `maxDepth`, and so does LangGraph for Python"),
    title: "cuts namespaces after `maxDepth` labels, lists each once, and counts the page after that",
    async checkStore(store) {
      const listed = await among(store, [...all, ["a", "y", "w"], ["a", "x", "z"]]);
      assert.deepEqual(await listed({ maxDepth: 1 }), [["a"], ["b"], ["c"]]);
      assert.deepEqual(await listed({ maxDepth: 2, prefix: ["a"] }), sorted([["a"], ["a", "x"], ["a", "y"]]));
      assert.deepEqual(await listed({ maxDepth: 9 }), await listed());
      assert.equal((await listed({ maxDepth: 1, limit: 3 })).length, 3);
    },
  },
  "langgraph-store/list-pages": {
    group: "order",
    must: type("ListNamespacesOperation"),
    title: "lists each namespace on exactly one page",
    async checkStore(store) {
      const wanted = upTo(11).map((n) => ["p", `${n}`]);
      await among(store, wanted);
      const pages: string[][][] = [];
      for (let offset = 0; offset < 16; offset += 4) pages.push(await store.listNamespaces({ limit: 4, offset }));
      const lengths = pages.map(({ length }) => length);
      assert.deepEqual(lengths, [4, 4, 3, 0], "the number of namespaces of each page");
      assert.deepEqual(sorted(pages.flat()), sorted(wanted));
    },
  },
  "langgraph-store/list-limit-zero": {
    should: inMemory("lists nothing for a limit of 0"),
    title: "lists no namespaces for a limit of 0",
    async checkStore(store) {
      const listed = await among(store, all);
      assert.deepEqual(await listed({ limit: 0 }), []);
    },
  },
  "langgraph-store/list-sorted": {
    group: "order",
    should: inMemory("sorts namespaces"),
    title: "lists namespaces in alphabetical order",
    async checkStore(store) {
      await among(store, [["c"], ["a", "y"], ["b", "x"], ["a", "x"], ["a"]]);
      assert.deepEqual(await store.listNamespaces(), [["a"], ["a", "x"], ["a", "y"], ["b", "x"], ["c"]]);
      assert.deepEqual(await store.listNamespaces({ limit: 2, offset: 1 }), [
        ["a", "x"],
        ["a", "y"],
      ]);
    },
  },
  "langgraph-store/list-sorted-by-labels": {
    group: "order",
    ours: "the order is the same on each machine, and keeps what is below a namespace beside it",
    title: "sorts namespaces label by label, by code units",
    async checkStore(store) {
      await among(store, [["b"], ["B"], ["a", "b"], ["a-b"], ["é"], ["z"], ["a"]]);
      assert.deepEqual(await store.listNamespaces(), [["B"], ["a"], ["a", "b"], ["a-b"], ["b"], ["z"], ["é"]]);
    },
  },
});
