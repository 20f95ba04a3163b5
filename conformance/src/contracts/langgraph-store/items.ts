// Single items: put and get.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import type { Trial } from "../../suite/types.js";
import { found, sorted, valueOf } from "./helpers.js";
import { inMemory, page, type } from "./sources.js";
import type { Store } from "./store.js";

export const items = expectations<Store>("contract", {
  "langgraph-store/get-missing": {
    must: type("BaseStore.get"),
    title: "returns null for an item that does not exist",
    async checkStore(store) {
      assert.equal(await store.get(["a"], "k"), null);
      await store.put(["a"], "k", {});
      assert.equal(await store.get(["a"], "other"), null);
      assert.equal(await store.get(["b"], "k"), null);
    },
  },
  "langgraph-store/put-get": {
    must: type("Item"),
    title: "returns an item with its value, key, namespace and dates",
    async checkStore(store) {
      const value = { likes: "ramen", visits: 3, tags: ["food"], home: { city: "Lisbon" }, open: true, none: null };
      await store.put(["users", "7"], "food", value);
      const item = await store.get(["users", "7"], "food");
      assert(item, "the item must be found");
      assert.deepEqual(
        { value: item.value, key: item.key, namespace: item.namespace },
        { value, key: "food", namespace: ["users", "7"] },
      );
      assert(item.createdAt instanceof Date, `createdAt must be a Date, and is ${typeof item.createdAt}`);
      assert(item.updatedAt instanceof Date, `updatedAt must be a Date, and is ${typeof item.updatedAt}`);
    },
  },
  "langgraph-store/put-replaces": {
    must: type("PutOperation"),
    title: "replaces the value of an item, and merges nothing",
    async checkStore(store) {
      await store.put(["a"], "k", { old: 1, both: 1, nested: { old: 1 } });
      await store.put(["a"], "k", { both: 2, nested: { new: 2 } });
      assert.deepEqual(await valueOf(store, ["a"], "k"), { both: 2, nested: { new: 2 } });
      assert.deepEqual(await found(store, ["a"]), ["k"], "an update must not add an item");
    },
  },
  "langgraph-store/update-times": {
    must: type("Item"),
    title: "keeps `createdAt` and never moves `updatedAt` back when an item is put again",
    async checkStore(store, trial) {
      await store.put(["a"], "k", { n: 1 });
      const before = (await store.get(["a"], "k"))!;
      const [created, updated] = [before.createdAt.getTime(), before.updatedAt.getTime()];
      await trial.sleep(20);
      await store.put(["a"], "k", { n: 2 });
      const after = (await store.get(["a"], "k"))!;
      assert.equal(after.createdAt.getTime(), created, "createdAt must stay");
      assert(after.updatedAt.getTime() >= updated, "updatedAt must not go back");
    },
  },
  "langgraph-store/update-times-soon": {
    should: inMemory("dates each put to the millisecond"),
    title: "moves `updatedAt` when an item is put again 20 ms later",
    async checkStore(store, trial) {
      await store.put(["a"], "k", { n: 1 });
      const before = (await store.get(["a"], "k"))!.updatedAt.getTime();
      await trial.sleep(20);
      await store.put(["a"], "k", { n: 2 });
      assert((await store.get(["a"], "k"))!.updatedAt.getTime() > before, "updatedAt must move");
    },
  },
  "langgraph-store/random-calls": {
    must: page,
    title: "answers as a simple model does after random puts and deletes",
    check: compareWithModel,
  },
});

/** Makes random changes to the store and to a map, and compares the two. */
async function compareWithModel(trial: Trial<Store>) {
  const store = await trial.store();
  const model = new Map<string, { namespace: string[]; key: string; value: { n: number; step: number } }>();
  const labels = ["ann", "notes"];
  const namespace = () => Array.from({ length: 1 + trial.random(3) }, () => labels[trial.random(labels.length)]!);
  for (let step = 0; step < 80; step++) {
    const [of, key] = [namespace(), `k${trial.random(2)}`];
    if (trial.random(3) === 0) {
      await store.delete(of, key);
      model.delete(JSON.stringify([of, key]));
    } else {
      const value = { n: trial.random(3), step };
      await store.put(of, key, value);
      model.set(JSON.stringify([of, key]), { namespace: of, key, value });
    }
    if (step % 4 !== 3) continue;
    const [prefix, n] = [namespace().slice(0, 2), trial.random(3)];
    const below = [...model].filter(([, one]) => prefix.every((label, at) => label === one.namespace[at]));
    const names = async (options: object) =>
      (await store.search(prefix, { limit: 1_000, ...options }))
        .map((item) => JSON.stringify([item.namespace, item.key]))
        .toSorted();
    assert.deepEqual(await names({}), below.map(([name]) => name).toSorted(), `below ${prefix} after ${step} changes`);
    assert.deepEqual(
      await names({ filter: { n } }),
      below
        .filter(([, one]) => one.value.n === n)
        .map(([name]) => name)
        .toSorted(),
      `below ${prefix} with n ${n} after ${step} changes`,
    );
    for (const one of model.values()) assert.deepEqual(await valueOf(store, one.namespace, one.key), one.value);
    const held = new Map([...model.values()].map((one) => [JSON.stringify(one.namespace), one.namespace]));
    const listed = await store.listNamespaces({ limit: 1_000 });
    for (const one of sorted([...held.values()]))
      assert(
        listed.some((of) => JSON.stringify(of) === JSON.stringify(one)),
        `the namespace ${one} must be listed after ${step} changes`,
      );
  }
}
