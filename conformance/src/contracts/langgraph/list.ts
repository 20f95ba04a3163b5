// `list`: which checkpoints, in which order.
import { expectations } from "../../suite/expectations.js";
import type { Saver } from "./store.js";
import { all, at, atStep, id, idsOf, published, same, save } from "./cases.js";

/** Puts checkpoints of a thread, one after the other. Returns their ids, the newest first. */
async function several(store: Saver, steps: readonly number[], ns = "") {
  for (const step of steps) await save(store, step, { on: at("thread", ns) });
  return steps.toSorted((a, b) => b - a).map(id);
}

export const lists = expectations<Saver>("order", {
  "langgraph/latest": {
    must: `${published}getTuple "should return a tuple containing the latest checkpoint"; \`Checkpoint.id\` is a uuid6`,
    title: "returns the checkpoint that was put last if a config has no id",
    async checkStore(store) {
      await several(store, [9, 10, 200, 300]);
      await save(store, 400, { on: at("thread", "sub") });
      await save(store, 400, { on: at("other") });
      same((await store.getTuple(at()))?.checkpoint.id, id(300), "the latest checkpoint");
    },
  },
  "langgraph/latest-clock": {
    ours: "ids are made of the time, and a clock that steps back makes a smaller id. The published savers go by the id",
    title: "returns and lists first the checkpoint that was put last, also if its id is smaller",
    async checkStore(store) {
      await several(store, [10, 9, 300, 200]);
      same((await store.getTuple(at()))?.checkpoint.id, id(200), "the latest checkpoint");
      same(await idsOf(store, at()), [200, 300, 9, 10].map(id), "the listed ids");
      same(await idsOf(store, at(), { before: atStep(9) }), [id(10)], "the ids before one");
    },
  },
  "langgraph/list-order": {
    must: "framework: `getStateHistory` returns what `list` yields, the newest first, as MemorySaver, SqliteSaver and PostgresSaver do",
    title: "lists the checkpoints of a thread, the newest first",
    async checkStore(store) {
      const ids = await several(store, [1, 2, 3, 4, 6, 8, 16, 255, 256]);
      same(await idsOf(store, at("thread", "")), ids, "the listed ids");
    },
  },
  "langgraph/list-order-everywhere": {
    ours: "SqliteSaver and PostgresSaver do it, MemorySaver goes thread by thread; a `limit` means little otherwise",
    title: "lists the checkpoints of several threads and namespaces in one order, the newest first",
    async checkStore(store) {
      for (let step = 1; step <= 12; step++)
        await save(store, step, { on: at(`thread ${step % 3}`, step % 2 === 0 ? "" : "sub") });
      const ids = Array.from({ length: 12 }, (_, n) => id(12 - n));
      same(await idsOf(store, {}), ids, "the ids of all threads");
      same(await idsOf(store, {}, { limit: 5 }), ids.slice(0, 5), "the first five ids of all threads");
    },
  },
  "langgraph/list-tuples": {
    group: "contract",
    must: `${published}list: each tuple equals the one that was put`,
    title: "lists the same tuples that `getTuple` returns, with parents, metadata, values and writes",
    async checkStore(store) {
      let on = at("thread", "sub");
      for (let step = 1; step <= 4; step++) {
        on = (await save(store, step, { on, values: { step }, metadata: { of: step } })) as typeof on;
        await store.putWrites(on, [["step", step]], `task ${step}`);
      }
      const listed = await all(store.list(at("thread", "sub")));
      same(listed.length, 4, "the number of listed checkpoints");
      for (const tuple of listed) same(tuple, await store.getTuple(tuple.config), "a listed tuple");
    },
  },
  "langgraph/list-config": {
    group: "contract",
    must: `${published}list: "when thread_id is not specified", "when checkpoint_ns is the default namespace"`,
    title: "lists by thread and namespace: without a thread all, without a namespace all, with an empty one the root",
    async checkStore(store) {
      const places = ["a", "ab"].flatMap((thread) => ["", "sub", "sub:1"].map((ns) => ({ thread, ns })));
      for (const [n, { thread, ns }] of places.entries()) await save(store, n + 1, { on: at(thread, ns) });
      for (const thread of [undefined, "a", "ab", "A"])
        for (const ns of [undefined, "", "sub", "su"]) {
          const wanted = places.flatMap((place, n) =>
            (thread ?? place.thread) === place.thread && (ns ?? place.ns) === place.ns ? [id(n + 1)] : [],
          );
          const configurable = { ...(thread && { thread_id: thread }), ...(ns !== undefined && { checkpoint_ns: ns }) };
          const found = (await idsOf(store, { configurable })).toSorted();
          same(found, wanted.toSorted(), `the ids for ${JSON.stringify(configurable)}`);
        }
    },
  },
  "langgraph/list-one": {
    group: "contract",
    should:
      "framework: `getStateHistory` passes a config with a checkpoint's id on to `list`; MemorySaver and PostgresSaver obey it",
    title: "lists only the checkpoint whose id is in the config",
    async checkStore(store) {
      await several(store, [1, 2, 3]);
      await save(store, 2, { on: at("thread", "sub") });
      same(await idsOf(store, atStep(2)), [id(2)], "the listed ids");
      same(await idsOf(store, atStep(9)), [], "the ids for one that is not stored");
    },
  },
  "langgraph/list-limit": {
    must: `${published}list: "when limit is 1", "when limit is 2"`,
    title: "lists as many checkpoints as `limit` says, the newest, and all if it is greater or undefined",
    async checkStore(store) {
      const ids = await several(store, [1, 2, 3, 4, 5]);
      for (const limit of [1, 2, 4, 5, 6, 1_000])
        same(await idsOf(store, at(), { limit }), ids.slice(0, limit), `the ids for limit ${limit}`);
      same(await idsOf(store, at(), {}), ids, "the ids without a limit");
    },
  },
  "langgraph/list-limit-zero": {
    should: "framework: MemorySaver and PostgresSaver list none",
    title: "lists nothing for a limit of 0",
    async checkStore(store) {
      await several(store, [1, 2]);
      same(await idsOf(store, at(), { limit: 0 }), [], "the ids of a thread");
      same(await idsOf(store, {}, { limit: 0, filter: { source: "loop" } }), [], "the ids for a filter");
    },
  },
  "langgraph/list-before": {
    must: `${published}list: "before parent checkpoint"`,
    title: "lists only checkpoints that are older than `before`, which need not be stored",
    async checkStore(store) {
      const ids = await several(store, [1, 2, 4, 5]);
      const before = (step: number, limit?: number) =>
        idsOf(store, at(), { before: atStep(step), ...(limit !== undefined && { limit }) });
      same(await before(2), ids.slice(3), "the ids before step 2");
      same(await before(3), ids.slice(2), "the ids before a step that is not stored");
      same(await before(1), [], "the ids before the first step");
      same(await before(5, 2), ids.slice(1, 3), "two ids before step 5");
    },
  },
  "langgraph/list-before-none": {
    should: "framework: MemorySaver, SqliteSaver and PostgresSaver ignore it",
    title: "ignores a `before` without a checkpoint's id",
    async checkStore(store) {
      const ids = await several(store, [1, 2]);
      for (const before of [{}, { configurable: {} }, at()])
        same(await idsOf(store, at(), { before }), ids, `the ids before ${JSON.stringify(before)}`);
    },
  },
  "langgraph/list-before-elsewhere": {
    must: "framework: `ReplayState.getCheckpoint` finds a subgraph's checkpoint before one of its parent graph",
    title: "lists the newest checkpoint of a subgraph before a checkpoint of its parent graph",
    async checkStore(store) {
      for (let step = 1; step <= 6; step++) await save(store, step, { on: at("thread", step % 2 === 0 ? "" : "in:1") });
      const newest = (ns: string, step: number) => {
        // A subgraph's config has further keys.
        const config = { configurable: { ...at("thread", ns).configurable, checkpoint_map: {}, user: "Ada" } };
        return idsOf(store, config, { limit: 1, before: { configurable: { checkpoint_id: id(step) } } });
      };
      same(await newest("in:1", 6), [id(5)], "the subgraph's checkpoint before step 6");
      same(await newest("in:1", 5), [id(3)], "the subgraph's checkpoint before step 5");
      same(await newest("in:1", 1), [], "the subgraph's checkpoint before its first");
      same(await newest("", 6), [id(4)], "the parent graph's checkpoint before step 6");
    },
  },
  "langgraph/filter": {
    group: "contract",
    must: `${published}list: "metadata.source matches"`,
    title: "lists only checkpoints whose metadata has every key of `filter` with an equal value",
    async checkStore(store) {
      for (let step = 1; step <= 4; step++)
        await save(store, step, {
          metadata: { source: step % 2 === 0 ? "input" : "loop", user: step > 2 ? "a" : "b" },
        });
      same(await idsOf(store, at(), { filter: { source: "input" } }), [id(4), id(2)], "the ids for one key");
      same(await idsOf(store, at(), { filter: { source: "input", user: "b" } }), [id(2)], "the ids for two keys");
      same(await idsOf(store, {}, { filter: { source: "fork" } }), [], "the ids for another value");
      same(await idsOf(store, {}, { filter: { absent: "x" } }), [], "the ids for an absent key");
      same((await idsOf(store, at(), { filter: {} })).length, 4, "the number of ids for an empty filter");
    },
  },
  "langgraph/filter-types": {
    group: "contract",
    should: "framework: MemorySaver compares with `===`, PostgresSaver as JSON",
    title: "tells numbers, texts, true and null apart in `filter`",
    async checkStore(store) {
      const values = [1, "1", true, "true", null, "null", "", 0, false, 1.5, "é"];
      for (const [n, value] of values.entries()) await save(store, n + 1, { metadata: { value } });
      for (const [n, value] of values.entries())
        same(await idsOf(store, at(), { filter: { value } }), [id(n + 1)], `the ids for ${JSON.stringify(value)}`);
    },
  },
  "langgraph/filter-limit": {
    must: `${published}list: limits, \`before\` and filters together`,
    title: "counts for `limit` what passes `filter` and `before`, not what it reads",
    async checkStore(store) {
      for (let step = 1; step <= 20; step++) await save(store, step, { metadata: { odd: step % 2 === 1 } });
      const found = await idsOf(store, at(), { filter: { odd: true }, before: atStep(14), limit: 3 });
      same(found, [id(13), id(11), id(9)], "the listed ids");
    },
  },
  "langgraph/filter-dots": {
    group: "hostile",
    should: "framework: MemorySaver and PostgresSaver take a key of `filter` literally",
    title: "takes a key of `filter` with a dot as a key, not as a path",
    async checkStore(store) {
      await save(store, 1, { metadata: { "a.b": 1 } });
      await save(store, 2, { metadata: { a: { b: 1 } } });
      same(await idsOf(store, at(), { filter: { "a.b": 1 } }), [id(1)], "the listed ids");
    },
  },
  "langgraph/filter-keys": {
    group: "hostile",
    should: "framework: MemorySaver takes a key of `filter` literally",
    title: "takes keys and values of `filter` with quotes, brackets, spaces and other signs literally",
    async checkStore(store) {
      const keys = ["", "$", "$.a", "a[0]", '"', 'a"b', "'", "') OR 1=1 --", "\\", "a b", "ключ", "😀", "0", "#", "*"];
      const value = `it's "this" \\ one`;
      for (const [n, key] of keys.entries())
        await save(store, n + 1, { metadata: { [key]: value, a: [value], b: value } });
      for (const [n, key] of keys.entries())
        same(await idsOf(store, at(), { filter: { [key]: value } }), [id(n + 1)], `the ids for ${JSON.stringify(key)}`);
    },
  },
  "langgraph/list-while-saving": {
    should: "framework: MemorySaver, SqliteSaver and PostgresSaver list what was stored when they began",
    title: "goes on with a list while checkpoints are put and other threads are deleted",
    async checkStore(store) {
      const ids = await several(
        store,
        Array.from({ length: 30 }, (_, n) => n + 1),
      );
      await save(store, 1, { on: at("other") });
      const found: string[] = [];
      for await (const tuple of store.list(at())) {
        found.push(tuple.checkpoint.id);
        if (found.length === 2) await save(store, 99);
        if (found.length === 3) await store.deleteThread("other");
      }
      same(found, ids, "the listed ids");
    },
  },
});
