// `deleteThread`.
import { expectations } from "../../suite/expectations.js";
import type { Saver } from "./store.js";
import { all, at, atStep, published, same, save, types, valuesAt, writesAt } from "./cases.js";

export const retention = expectations<Saver>("retention", {
  "langgraph/delete-thread": {
    must: `${published}deleteThread "should delete thread"`,
    title: "deletes the checkpoints of a thread in every namespace, and nothing of another thread",
    async checkStore(store) {
      for (const thread of ["a", "b", "ab"])
        for (const ns of ["", "sub"]) {
          const config = await save(store, 1, { on: at(thread, ns), values: { same: "same", thread } });
          await store.putWrites(config, [["same", thread]], "task");
        }
      await store.deleteThread("a");
      for (const ns of ["", "sub"]) same(await store.getTuple(at("a", ns)), undefined, `getTuple of "${ns}"`);
      same(await all(store.list(at("a"))), [], "the list of the thread");
      for (const thread of ["b", "ab"])
        for (const ns of ["", "sub"]) {
          same(await valuesAt(store, at(thread, ns)), { same: "same", thread }, `the values of thread ${thread}`);
          same(await writesAt(store, at(thread, ns)), [["task", "same", thread]], `the writes of thread ${thread}`);
        }
    },
  },
  "langgraph/delete-writes": {
    must: `${types}\`deleteThread\`: "Delete all checkpoints and writes associated with a specific thread ID"`,
    title: "deletes the pending writes of a thread, also those whose checkpoint has not arrived",
    async checkStore(store) {
      const config = await save(store, 1);
      await store.putWrites(config, [["a", 1]], "task");
      await store.putWrites(atStep(2), [["early", 1]], "task");
      await store.deleteThread("thread");
      for (const step of [1, 2]) same(await writesAt(store, await save(store, step)), [], `the writes of step ${step}`);
    },
  },
  "langgraph/delete-values": {
    must: `${types}\`deleteThread\`: "Delete all checkpoints and writes associated with a specific thread ID"`,
    title: "leaves no value that a new thread of the same name could inherit",
    async checkStore(store) {
      await save(store, 1, { values: { a: "old" }, versions: { a: 1 } });
      await store.deleteThread("thread");
      const config = await save(store, 2, { values: { a: "new" }, versions: { a: 1 }, fresh: {} });
      same((await valuesAt(store, config))?.["a"] === "old", false, "that the old value is inherited");
    },
  },
  "langgraph/delete-unknown": {
    should: "framework: MemorySaver and PostgresSaver do nothing",
    title: "does nothing when a thread is deleted that does not exist, also in a store that has never held anything",
    async checkStore(store) {
      await store.deleteThread("thread");
      await save(store, 1, { on: at("other") });
      await store.deleteThread("thread");
      await store.deleteThread("thread");
      same((await all(store.list({}))).length, 1, "the number of checkpoints of another thread");
    },
  },
});
