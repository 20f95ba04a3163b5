// `put`, `getTuple` and `get`.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import type { Saver } from "./store.js";
import { at, atStep, checkpoint, errorOf, id, metadata, published, same, save, types, valuesAt } from "./cases.js";

/** Returns a version as LangGraph in Python counts. */
const version = (count: number) => `${String(count).padStart(32, "0")}.0123456789`;

export const checkpoints = expectations<Saver>("contract", {
  "langgraph/get-missing": {
    must: `${published}getTuple "should return undefined if the checkpoint_id is not found"`,
    title: "returns undefined for a thread, a namespace or a checkpoint that is not stored",
    async checkStore(store) {
      same(await store.getTuple(at()), undefined, "getTuple on an empty store");
      await save(store, 2);
      same(await store.getTuple(at("other")), undefined, "getTuple of another thread");
      same(await store.getTuple(at("thread", "sub")), undefined, "getTuple of another namespace");
      same(await store.getTuple(atStep(1)), undefined, "getTuple of another id");
      same(await store.get(atStep(1)), undefined, "get of another id");
    },
  },
  "langgraph/get-without-thread": {
    must: `${published}getTuple "should return undefined if the thread_id is undefined"`,
    title: "returns undefined for a config without a thread",
    async checkStore(store) {
      await save(store, 1);
      same(await store.getTuple({ configurable: { checkpoint_ns: "" } }), undefined, "getTuple without a thread");
    },
  },
  "langgraph/round-trip": {
    must: `${published}put "should store the checkpoint without alteration"`,
    title: "returns a checkpoint with the values, versions, time and format with which it was put",
    async checkStore(store) {
      const put = {
        ...checkpoint(1, { count: 1, words: ["a", "b"] }, { count: 7, words: 3, "branch:to:b": 2 }),
        versions_seen: { __input__: {}, "a node": { count: 6, words: 3 } },
      };
      const config = await store.put(at(), put, metadata(), { count: 7, words: 3 });
      same((await store.getTuple(config))?.checkpoint, put, "the checkpoint of getTuple");
      same(await store.get(config), put, "the checkpoint of get");
    },
  },
  "langgraph/put-config": {
    must: `${published}put "should return a config with only thread_id, checkpoint_ns, and checkpoint_id in the configurable"`,
    title: "returns a config of exactly the thread, the namespace and the new checkpoint's id from `put`",
    async checkStore(store) {
      const more = { user: "Ada", run_id: "r", checkpoint_map: { "": "x" } };
      const config = { configurable: { ...at("thread", "sub").configurable, ...more } };
      same(await store.put(config, checkpoint(1), metadata(), {}), atStep(1, "thread", "sub"), "the config of put");
      const latest = await store.getTuple(at("thread", "sub"));
      same(latest?.config, atStep(1, "thread", "sub"), "the config of getTuple");
    },
  },
  "langgraph/default-namespace": {
    must: `${published}put "should default to empty namespace if the checkpoint namespace is missing"`,
    title: "takes the root namespace if a config has none",
    async checkStore(store) {
      same(await save(store, 1), atStep(1), "the config of put");
      await save(store, 2, { on: at("thread", "sub") });
      same((await store.getTuple(at()))?.checkpoint.id, id(1), "the checkpoint of getTuple without a namespace");
    },
  },
  "langgraph/metadata": {
    must: `${published}put "should store the metadata without alteration"`,
    title: "returns metadata as it was put, with the keys of the caller",
    async checkStore(store) {
      const put = metadata({ source: "fork", step: -1, parents: { "": id(9) }, user: "A", tags: [{ é: null }, true] });
      const config = await store.put(at(), checkpoint(1), put, {});
      same((await store.getTuple(config))?.metadata, put, "the metadata");
    },
  },
  "langgraph/parent-config": {
    must: `${published}getTuple "should return a tuple containing a parentConfig with the correct thread_id, checkpoint_ns, and checkpoint_id"`,
    title: "returns the checkpoint at which `put` was called as the parent, and none for a first checkpoint",
    async checkStore(store) {
      const first = await save(store, 1, { on: at("thread", "sub") });
      await save(store, 2, { on: first });
      await save(store, 3, { on: first });
      same((await store.getTuple(first))?.parentConfig, undefined, "the parent of a first checkpoint");
      for (const step of [2, 3])
        same((await store.getTuple(atStep(step, "thread", "sub")))?.parentConfig, first, `the parent of step ${step}`);
    },
  },
  "langgraph/put-needs-thread": {
    must: `${published}put "should fail if the thread_id is missing"`,
    title: "rejects `put` without a thread",
    async checkStore(store) {
      for (const config of [{}, { configurable: { checkpoint_ns: "" } }])
        assert.ok(await errorOf(() => store.put(config, checkpoint(1), metadata(), {})), "put without thread resolved");
    },
  },
  "langgraph/put-again": {
    should: "framework: MemorySaver, SqliteSaver and PostgresSaver replace a checkpoint of the same id",
    title: "replaces a checkpoint that is put again, and lists it once",
    async checkStore(store) {
      await save(store, 1, { values: { a: 1 }, versions: { a: 1 }, metadata: { of: "first" } });
      const config = await save(store, 1, { values: { a: 2 }, versions: { a: 2 }, metadata: { of: "second" } });
      const tuple = await store.getTuple(config);
      same([tuple?.checkpoint.channel_values, tuple?.metadata?.["of"]], [{ a: 2 }, "second"], "what was put again");
      let listed = 0;
      for await (const _ of store.list(at())) listed += 1;
      same(listed, 1, "the number of listed checkpoints");
    },
  },
  "langgraph/put-again-keeps-writes": {
    should: "framework: MemorySaver, SqliteSaver and PostgresSaver keep the writes of a checkpoint that is put again",
    title: "keeps the pending writes of a checkpoint that is put again",
    async checkStore(store) {
      const config = await save(store, 1);
      await store.putWrites(config, [["a", 1]], "task");
      await save(store, 1);
      same((await store.getTuple(config))?.pendingWrites, [["task", "a", 1]], "the pending writes");
    },
  },
  "langgraph/next-version": {
    must: `${types}\`getNextVersion\`: versions are "monotonically increasing"`,
    title: "returns a greater version from `getNextVersion` at each call, also past a power of ten",
    async checkStore(store) {
      let before: number | string | undefined;
      for (let count = 0; count < 120; count++) {
        const next = store.getNextVersion(before);
        const isGreater =
          before === undefined ||
          (typeof next === "number" && typeof before === "number"
            ? next > before
            : String(next).localeCompare(String(before)) > 0);
        assert.ok(isGreater, `the version after ${before} is ${next}, and LangGraph takes it as no newer`);
        before = next;
      }
    },
  },
  "langgraph/text-versions": {
    must: `${types}\`ChannelVersion = number | string\``,
    title: "keeps versions that are texts",
    async checkStore(store) {
      const first = await save(store, 1, { values: { a: 1, b: 1 }, versions: { a: version(1), b: version(1) } });
      const versions = { a: version(2), b: version(1) };
      const config = await save(store, 2, { on: first, values: { a: 2, b: 1 }, versions, fresh: { a: version(2) } });
      same((await store.getTuple(config))?.checkpoint.channel_versions, versions, "the versions");
      same(await valuesAt(store, config), { a: 2, b: 1 }, "the values");
    },
  },
});
