// Deletion. The interface has no expiry.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import { fill, found } from "./helpers.js";
import { inMemory, type } from "./sources.js";
import type { Store } from "./store.js";

export const retention = expectations<Store>("retention", {
  "langgraph-store/delete": {
    must: type("BaseStore.delete"),
    title: "deletes an item, which no get and no search finds then",
    async checkStore(store) {
      await fill(store, [["a"], "k", { n: 1 }], [["a"], "other", { n: 1 }]);
      await store.delete(["a"], "k");
      assert.equal(await store.get(["a"], "k"), null);
      assert.deepEqual(await found(store, ["a"]), ["other"]);
      assert.deepEqual(await found(store, ["a"], { filter: { n: 1 } }), ["other"], "with a filter");
    },
  },
  "langgraph-store/delete-missing": {
    should: inMemory("does so"),
    title: "accepts the deletion of an item that does not exist",
    async checkStore(store) {
      await store.delete(["a"], "k");
      await store.put(["a"], "k", {});
      await store.delete(["a"], "k");
      await store.delete(["a"], "k");
      assert.equal(await store.get(["a"], "k"), null);
    },
  },
  "langgraph-store/put-null": {
    must: type("PutOperation.value"),
    title: "deletes an item when a batch puts null",
    async checkStore(store) {
      await store.put(["a"], "k", {});
      await store.batch([{ namespace: ["a"], key: "k", value: null }]);
      assert.equal(await store.get(["a"], "k"), null);
      assert.deepEqual(await found(store, ["a"]), []);
    },
  },
  "langgraph-store/delete-begins-anew": {
    should: type("Item.createdAt"),
    title: "gives an item that is put after its deletion a new `createdAt`",
    async checkStore(store, trial) {
      await store.put(["a"], "k", { n: 1 });
      const before = (await store.get(["a"], "k"))!.createdAt.getTime();
      await store.delete(["a"], "k");
      await trial.sleep(20);
      await store.put(["a"], "k", { n: 2 });
      assert((await store.get(["a"], "k"))!.createdAt.getTime() > before, "createdAt must be that of the second put");
    },
  },
  "langgraph-store/delete-unlists": {
    ours: "BaseStore.listNamespaces says nothing of it, and a user who was deleted must not stay in a list of users",
    title: "no longer lists a namespace whose last item was deleted",
    async checkStore(store) {
      await fill(store, [["u", "1"], "k"], [["u", "2"], "k"], [["u", "2"], "k2"]);
      await store.delete(["u", "1"], "k");
      await store.delete(["u", "2"], "k");
      assert.deepEqual(await store.listNamespaces(), [["u", "2"]]);
      await store.delete(["u", "2"], "k2");
      assert.deepEqual(await store.listNamespaces({ maxDepth: 1 }), []);
    },
  },
});
