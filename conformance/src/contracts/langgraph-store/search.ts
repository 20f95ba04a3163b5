// Searches: prefixes, pages and orders. What filters match is in filters.ts.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import { type Put, fill, found, keysOf, upTo } from "./helpers.js";
import { inMemory, page, type } from "./sources.js";
import type { Item, Store } from "./store.js";

const parts = ({ namespace, key, value, createdAt, updatedAt }: Item) => ({
  namespace,
  key,
  value,
  createdAt,
  updatedAt,
});

export const search = expectations<Store>("contract", {
  "langgraph-store/search-prefix": {
    must: page,
    title: "finds the items of a namespace and of all namespaces below it",
    async checkStore(store) {
      await fill(
        store,
        [["users", "7"], "a"],
        [["users", "7", "trips"], "b"],
        [["users", "7", "trips", "2026"], "c"],
        [["users", "8"], "d"],
        [["other"], "e"],
      );
      assert.deepEqual(await found(store, ["users", "7"]), ["a", "b", "c"]);
      assert.deepEqual(await found(store, ["users", "7", "trips"]), ["b", "c"]);
      assert.deepEqual(await found(store, ["users"]), ["a", "b", "c", "d"]);
      assert.deepEqual(await found(store, ["none"]), []);
      assert.deepEqual(await found(store, ["7"]), [], "a prefix begins with the first label");
    },
  },
  "langgraph-store/search-everything": {
    must: type("SearchOperation.namespacePrefix"),
    title: "finds the items of all namespaces by an empty prefix",
    async checkStore(store) {
      await fill(store, [["a"], "1"], [["b", "c"], "2"]);
      const [all] = await store.batch([{ namespacePrefix: [] }]);
      assert.deepEqual(keysOf(all).toSorted(), ["1", "2"]);
    },
  },
  "langgraph-store/search-items": {
    must: type("SearchItem"),
    title: "returns complete items from a search, with the same dates as from a get",
    async checkStore(store, trial) {
      await store.put(["a", "b"], "k", { n: 1, list: [1, 2] });
      await trial.sleep(5);
      await store.put(["a", "b"], "k", { n: 2, list: [1, 2] });
      const [item] = await store.search(["a"]);
      assert(item, "the item must be found");
      assert.deepEqual(parts(item), parts((await store.get(["a", "b"], "k"))!));
    },
  },
  "langgraph-store/search-default-limit": {
    must: type("SearchOperation.limit"),
    title: "returns at most 10 items by default",
    async checkStore(store) {
      await fill(store, ...upTo(12).map((n): Put => [["a"], `${n}`]));
      assert.equal((await store.search(["a"])).length, 10);
      assert.equal((await store.batch([{ namespacePrefix: ["a"] }]))[0].length, 10, "in a batch");
    },
  },
  "langgraph-store/search-limit-zero": {
    should: inMemory("returns nothing for a limit of 0"),
    title: "returns no items for a limit of 0",
    async checkStore(store) {
      await store.put(["a"], "k", {});
      assert.deepEqual(await store.search(["a"], { limit: 0 }), []);
    },
  },
  "langgraph-store/search-pages": {
    group: "order",
    must: page,
    title: "returns each item on exactly one page",
    async checkStore(store) {
      await fill(store, ...upTo(23).map((n): Put => [["a", `${n % 3}`], `${n}`, { n }]));
      const pages: string[][] = [];
      for (let offset = 0; offset < 30; offset += 5)
        pages.push(keysOf(await store.search(["a"], { limit: 5, offset })));
      const lengths = pages.map(({ length }) => length);
      assert.deepEqual(lengths, [5, 5, 5, 5, 3, 0], "the number of items of each page");
      assert.equal(new Set(pages.flat()).size, 23, "no item may be on two pages");
    },
  },
  "langgraph-store/search-filter-then-page": {
    group: "order",
    must: type("SearchOperation"),
    title: "counts `limit` and `offset` among the items that match the filter",
    async checkStore(store) {
      await fill(store, ...upTo(30).map((n): Put => [["a"], `${n}`, { n, kind: n % 3 === 0 ? "third" : "other" }]));
      const filter = { kind: "third" };
      const pages = [0, 4, 8, 12].map((offset) => store.search(["a"], { filter, limit: 4, offset }));
      const numbers = (await Promise.all(pages)).map((one) => one.map(({ value }) => value["n"] as number));
      const lengths = numbers.map(({ length }) => length);
      assert.deepEqual(lengths, [4, 4, 2, 0], "the number of items of each page");
      const all = numbers.flat().toSorted((one, other) => one - other);
      assert.deepEqual(all, [0, 3, 6, 9, 12, 15, 18, 21, 24, 27]);
    },
  },
  "langgraph-store/order-first-put": {
    group: "order",
    ours: "InMemoryStore does so, and the page about stores leaves the order to the store",
    title: "returns the items of a namespace in the order of their first put",
    async checkStore(store) {
      const keys = ["m", "z", "a", "10", "9"];
      await fill(store, ...keys.map((key): Put => [["a"], key]));
      assert.deepEqual(keysOf(await store.search(["a"])), keys);
      await store.put(["a"], "z", { n: 2 });
      assert.deepEqual(keysOf(await store.search(["a"])), keys, "an update must keep the place of its item");
      assert.deepEqual(keysOf(await store.search(["a"], { limit: 2, offset: 1 })), keys.slice(1, 3));
    },
  },
  "langgraph-store/order-over-namespaces": {
    group: "order",
    ours: "the order does not depend on where an item is, so a page below a prefix has the oldest items",
    title: "returns the items of several namespaces in the order of their first put",
    async checkStore(store) {
      await fill(
        store,
        [["u", "b"], "1"],
        [["u", "a"], "2"],
        [["u", "b"], "3"],
        [["u"], "4"],
        [["u", "a", "x"], "5"],
        [["u", "b"], "6"],
      );
      assert.deepEqual(keysOf(await store.search(["u"])), ["1", "2", "3", "4", "5", "6"]);
    },
  },
  "langgraph-store/order-of-calls": {
    group: "order",
    ours: "callers who do not wait for each put still mean the last one",
    title: "keeps the order of calls that are not awaited",
    async checkStore(store) {
      await store.put(["a"], "k", { n: -1 });
      const puts = upTo(20).map((n) => store.put(["a"], "k", { n }));
      const [item] = await Promise.all([store.get(["a"], "k"), ...puts]);
      assert.equal(item?.value["n"], 19, "a get must see the puts before it");
      assert.equal((await store.get(["a"], "k"))?.value["n"], 19, "the last put must be stored");
    },
  },
});
