// What the filters of searches match.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import { type Put, fill, found, rejection } from "./helpers.js";
import { inMemory, type } from "./sources.js";
import type { Store, Value } from "./store.js";

const operators = inMemory("compares so, and LangGraph's PostgresStore has these operators too");

/** Returns a function that returns the keys of the items that match a filter, among these items. */
async function among(store: Store, values: Record<string, Value>) {
  await fill(store, ...Object.entries(values).map(([key, value]): Put => [["f"], key, value]));
  return (filter: Value) => found(store, ["f"], { filter });
}

export const filters = expectations<Store>("contract", {
  "langgraph-store/filter-equal": {
    must: type("SearchOperation.filter"),
    title: "finds items whose value has an equal text, number or boolean",
    async checkStore(store) {
      const matching = await among(store, {
        text: { a: "x" },
        number: { a: 1.5 },
        yes: { a: true },
        no: { a: false },
        zero: { a: 0 },
        empty: { a: "" },
        inside: { b: { a: "x" } },
        none: {},
      });
      assert.deepEqual(await matching({ a: "x" }), ["text"]);
      assert.deepEqual(await matching({ a: 1.5 }), ["number"]);
      assert.deepEqual(await matching({ a: true }), ["yes"]);
      assert.deepEqual(await matching({ a: false }), ["no"]);
      assert.deepEqual(await matching({ a: 0 }), ["zero"]);
      assert.deepEqual(await matching({ a: "" }), ["empty"]);
      assert.deepEqual(await matching({ a: "y" }), []);
    },
  },
  "langgraph-store/filter-types": {
    should: inMemory("compares with `===`"),
    title: "does not take a number, a boolean or null for its text in a filter",
    async checkStore(store) {
      const matching = await among(store, {
        number: { a: 1 },
        text: { a: "1" },
        yes: { a: true },
        "yes-text": { a: "true" },
        null: { a: null },
        "null-text": { a: "null" },
      });
      assert.deepEqual(await matching({ a: 1 }), ["number"]);
      assert.deepEqual(await matching({ a: "1" }), ["text"]);
      assert.deepEqual(await matching({ a: true }), ["yes"]);
      assert.deepEqual(await matching({ a: "true" }), ["yes-text"]);
      assert.deepEqual(await matching({ a: null }), ["null"]);
      assert.deepEqual(await matching({ a: "null" }), ["null-text"]);
    },
  },
  "langgraph-store/filter-all-keys": {
    must: type("SearchOperation.filter"),
    title: "finds only items that match all keys of a filter",
    async checkStore(store) {
      const values = { both: { a: 1, b: 2, c: 3 }, first: { a: 1, b: 3 }, second: { a: 2, b: 2 } };
      const matching = await among(store, values);
      assert.deepEqual(await matching({ a: 1, b: 2 }), ["both"]);
      assert.deepEqual(await matching({ a: 1, b: { $gt: 2 } }), ["first"]);
      assert.deepEqual(await matching({ a: 2, b: 3 }), []);
      assert.deepEqual(await matching({}), ["both", "first", "second"], "an empty filter must match all items");
    },
  },
  "langgraph-store/filter-eq-ne": {
    must: type("SearchOperation.filter"),
    title: "compares with `$eq` and `$ne`",
    async checkStore(store) {
      const matching = await among(store, { one: { a: 1 }, two: { a: 2 }, three: { a: 3 } });
      assert.deepEqual(await matching({ a: { $eq: 2 } }), ["two"]);
      assert.deepEqual(await matching({ a: { $ne: 2 } }), ["one", "three"]);
      assert.deepEqual(await matching({ a: { $ne: 1, $eq: 1 } }), []);
    },
  },
  "langgraph-store/filter-ne-missing": {
    should: inMemory("takes a missing key for not equal"),
    title: "finds items without the key by `$ne`",
    async checkStore(store) {
      const matching = await among(store, { one: { a: 1 }, two: { a: 2 }, none: { b: 1 } });
      assert.deepEqual(await matching({ a: { $ne: 1 } }), ["none", "two"]);
    },
  },
  "langgraph-store/filter-greater-less": {
    must: type("SearchOperation.filter"),
    title: "compares numbers as numbers with `$gt`, `$gte`, `$lt` and `$lte`",
    async checkStore(store) {
      const matching = await among(store, {
        "-1": { a: -1 },
        "4.99": { a: 4.99 },
        5: { a: 5 },
        10: { a: 10 },
        100: { a: 100 },
      });
      assert.deepEqual(await matching({ a: { $gt: 4.99 } }), ["10", "100", "5"]);
      assert.deepEqual(await matching({ a: { $gte: 5 } }), ["10", "100", "5"]);
      assert.deepEqual(await matching({ a: { $lt: 5 } }), ["-1", "4.99"]);
      assert.deepEqual(await matching({ a: { $lte: 5 } }), ["-1", "4.99", "5"]);
      assert.deepEqual(await matching({ a: { $gte: 5, $lt: 100 } }), ["10", "5"], "a range");
    },
  },
  "langgraph-store/filter-greater-mixed": {
    group: "hostile",
    should: inMemory("finds neither texts that are no numbers nor missing keys so"),
    title: "finds by `$gt` and its like with a number no item that has a text or nothing there, and does not reject",
    async checkStore(store) {
      const values = { number: { a: 7 }, text: { a: "high" }, list: { a: [1, 2] }, none: { b: 7 } };
      const matching = await among(store, values);
      assert.deepEqual(await matching({ a: { $gt: 5 } }), ["number"]);
      assert.deepEqual(await matching({ a: { $lte: 9 } }), ["number"]);
    },
  },
  "langgraph-store/filter-greater-text": {
    ours: "dates are stored as texts, and SearchOperation says of no operator that it takes only numbers",
    title: "compares texts with texts with `$gt`, `$gte`, `$lt` and `$lte`",
    async checkStore(store) {
      const values = { early: { at: "2026-01-31" }, late: { at: "2026-11-02" }, number: { at: 2027 } };
      const matching = await among(store, values);
      assert.deepEqual(await matching({ at: { $gt: "2026-02-01" } }), ["late"]);
      assert.deepEqual(await matching({ at: { $lte: "2026-01-31" } }), ["early"]);
    },
  },
  "langgraph-store/filter-in-nin": {
    should: operators,
    title: "finds items whose value is in a list with `$in`, and the others with `$nin`",
    async checkStore(store) {
      const matching = await among(store, { one: { a: 1 }, x: { a: "x" }, y: { a: "y" } });
      assert.deepEqual(await matching({ a: { $in: ["x", 1, 99] } }), ["one", "x"]);
      assert.deepEqual(await matching({ a: { $nin: ["x", 99] } }), ["one", "y"]);
    },
  },
  "langgraph-store/filter-in-nothing": {
    group: "hostile",
    should: inMemory("finds nothing so; a list of allowed values may be empty, and must not allow all"),
    title: "finds nothing with `$in` and an empty list, and everything with `$nin` and one",
    async checkStore(store) {
      const matching = await among(store, { one: { a: 1 }, two: { a: 2 } });
      assert.deepEqual(await matching({ a: { $in: [] } }), []);
      assert.deepEqual(await matching({ a: { $nin: [] } }), ["one", "two"]);
    },
  },
  "langgraph-store/filter-objects": {
    ours: "SearchOperation says exact matches, and InMemoryStore finds no objects and lists at all",
    title: "finds items that have an equal object or list",
    async checkStore(store) {
      const matching = await among(store, {
        object: { a: { b: [1, { c: 2 }] } },
        more: { a: { b: [1, { c: 2 }], d: 3 } },
        list: { a: [1, 2] },
        longer: { a: [1, 2, 3] },
      });
      assert.deepEqual(await matching({ a: { b: [1, { c: 2 }] } }), ["object"]);
      assert.deepEqual(await matching({ a: [1, 2] }), ["list"]);
      assert.deepEqual(await matching({ a: [2, 1] }), []);
    },
  },
  "langgraph-store/filter-unknown-operator": {
    group: "hostile",
    should: inMemory("finds nothing so; a condition that is left out finds what the caller has excluded"),
    title: "finds no item by an operator that it does not know",
    async checkStore(store) {
      const matching = await among(store, { one: { a: 1, b: 1 }, two: { a: "x", b: 1 } });
      for (const filter of [{ a: { $near: 1 } }, { b: 1, a: { $near: 1 } }, { $or: [{ a: 1 }] }])
        assert.deepEqual(await matching(filter).catch(() => []), [], JSON.stringify(filter));
    },
  },
  "langgraph-store/filter-refuses-operators": {
    group: "hostile",
    ours: "a typing error in an operator must not look like a memory that is not there",
    title: "rejects a filter with an unknown operator, or with an object that mixes operators and keys",
    async checkStore(store) {
      const matching = await among(store, { one: { a: 1 } });
      for (const filter of [{ a: { $near: 1 } }, { $or: [{ a: 1 }] }, { a: { $gt: 0, b: 1 } }, { a: { $in: 1 } }])
        await rejection(matching(filter), `a search with the filter ${JSON.stringify(filter)}`);
    },
  },
  "langgraph-store/filter-any-key": {
    group: "hostile",
    should: inMemory("takes each key of a filter for a key of the value"),
    title: "takes any text for a key of a filter: dots, quotes, brackets and the names of inherited properties",
    async check(trial) {
      const keys = ["a.b", "a'b", 'a"b', "a b", "a[0]", "a.$", "a\\b", "a%", "ä", "'; DROP TABLE x; --", "toString"];
      const matching = await among(
        await trial.store(),
        Object.fromEntries([...keys.map((key) => [key, { [key]: 1 }]), ["nested", { a: { b: 1 } }]]),
      );
      for (const key of keys) assert.deepEqual(await matching({ [key]: 1 }), [key], `the key ${key}`);
      assert.deepEqual(await matching({ valueOf: 1 }), []);
    },
  },
});
