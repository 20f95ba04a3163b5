// Several operations at once. LangGraph sends all that a node asks for in one tick as one batch.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import { found, rejection, valueOf } from "./helpers.js";
import { inMemory, type } from "./sources.js";
import type { Item, Store } from "./store.js";

const change = (key: string, value: object | null) => ({ namespace: ["a"], key, value });

export const batch = expectations<Store>("contract", {
  "langgraph-store/batch-results": {
    must: type("OperationResults"),
    title: "returns the results of a batch at the places of their operations",
    async checkStore(store) {
      assert.deepEqual(await store.batch([]), [], "an empty batch must have no results");
      await store.put(["a"], "k", { n: 1 });
      const results = await store.batch([
        { namespacePrefix: ["a"], limit: 5 },
        { namespace: ["b"], key: "new", value: { n: 2 } },
        { namespace: ["a"], key: "k" },
        { matchConditions: [{ matchType: "prefix", path: ["a"] }], limit: 5, offset: 0 },
        { namespace: ["a"], key: "none" },
      ]);
      assert.equal(results.length, 5);
      const [found] = results as [Item[]];
      assert.deepEqual(found[0]?.value, { n: 1 }, "the result of the search");
      assert.deepEqual((results[2] as Item).value, { n: 1 }, "the third result must be the item");
      assert.deepEqual(results[3], [["a"]], "the fourth result must be the namespaces");
      assert.equal(results[4], null, "the fifth result must be null");
      assert.deepEqual(await valueOf(store, ["b"], "new"), { n: 2 });
    },
  },
  "langgraph-store/batch-list": {
    must: type("ListNamespacesOperation"),
    title: "lists all namespaces for an operation of a batch that has no `matchConditions`",
    async checkStore(store) {
      await store.put(["a"], "k", { n: 1 });
      const results = await store.batch([
        { limit: 5, offset: 0 },
        { namespace: ["a"], key: "k" },
      ]);
      assert.deepEqual(results[0], [["a"]], "the first result must be the namespaces");
      assert.deepEqual(results[1]?.value, { n: 1 }, "the second result must be the item");
    },
  },
  "langgraph-store/batch-reads-before": {
    should: inMemory("applies the puts of a batch after its reads"),
    title: "answers the reads of a batch from the state before the batch",
    async checkStore(store) {
      const results = await store.batch([
        { namespace: ["a"], key: "k", value: { n: 1 } },
        { namespace: ["a"], key: "k" },
        { namespacePrefix: ["a"] },
      ]);
      assert.equal(results[1], null, "a get must not see a put of its own batch");
      assert.deepEqual(results[2], [], "a search must not see a put of its own batch");
      assert.deepEqual(await valueOf(store, ["a"], "k"), { n: 1 });
    },
  },
  "langgraph-store/batch-last-wins": {
    should: inMemory("stores the last put of each key of a batch"),
    title: "stores the last of several changes to one item in a batch",
    async checkStore(store) {
      await store.batch([
        change("twice", { n: 1 }),
        change("gone", { n: 1 }),
        change("back", { n: 1 }),
        change("twice", { n: 2 }),
        change("gone", null),
        change("back", null),
        change("back", { n: 3 }),
      ]);
      assert.deepEqual(await valueOf(store, ["a"], "twice"), { n: 2 });
      assert.equal(await store.get(["a"], "gone"), null, "a put that is followed by a delete must be deleted");
      assert.deepEqual(await valueOf(store, ["a"], "back"), { n: 3 });
      assert.deepEqual(await found(store, ["a"]), ["back", "twice"]);
    },
  },
  "langgraph-store/batch-all-or-nothing": {
    should:
      "framework: AsyncBatchedStore rejects all calls of a tick if their batch rejects, so no caller believes a put",
    title: "stores nothing of a batch that it rejects",
    async checkStore(store) {
      const wrong = [{ namespace: ["a", ""], key: "k", value: {} }, { namespacePrefix: null }];
      for (const [n, operation] of wrong.entries()) {
        const good = { namespace: ["good"], key: `${n}`, value: {} };
        const isRejected = await store.batch([good, operation]).then(
          () => false,
          () => true,
        );
        if (!isRejected) continue;
        assert.equal(await store.get(["good"], `${n}`), null, `a put before ${JSON.stringify(operation)} is stored`);
      }
    },
  },
  "langgraph-store/batch-refuses-namespaces": {
    should: inMemory("of 1.2 checks the namespaces of puts in a batch too"),
    title: "refuses in a batch the namespaces that `put` refuses",
    async checkStore(store) {
      for (const namespace of [[], ["a", ""], ["a.b"]])
        await rejection(store.batch([{ namespace, key: "k", value: {} }]), `a put to ${JSON.stringify(namespace)}`);
    },
  },
});
