// `putWrites`: the writes of tasks whose step has not ended.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import type { Saver, Write } from "./store.js";
import { all, at, atStep, errorOf, id, pending, published, same, save } from "./cases.js";
import { sorted, types, writes, writesAt } from "./cases.js";

const [error, scheduled, interrupt, resume] = ["__error__", "__scheduled__", "__interrupt__", "__resume__"];

export const pendingWrites = expectations<Saver>("contract", {
  "langgraph/writes": {
    must: `${published}putWrites "should store writes to the checkpoint"`,
    title: "returns the writes of a task with its checkpoint, in their order, several to one channel too",
    async checkStore(store) {
      const config = await save(store, 1);
      const made = Array.from({ length: 12 }, (_, n): Write => [n % 2 === 0 ? "even" : "odd", { n }]);
      await store.putWrites(config, made, "task");
      const expected = made.map(([channel, value]) => ["task", channel, value]);
      same(await writesAt(store, config), expected, "the pending writes of getTuple");
      const [listed] = await all(store.list(at()));
      same(listed?.pendingWrites, expected, "the pending writes of list");
    },
  },
  "langgraph/no-writes": {
    should: `${published}getTuple, list: MemorySaver, SqliteSaver and PostgresSaver return an empty array`,
    title: "returns an empty array, not undefined, for a checkpoint without pending writes",
    async checkStore(store) {
      const config = await save(store, 1);
      same(await writesAt(store, config), [], "pendingWrites of getTuple");
      const [listed] = await all(store.list(at()));
      same(listed?.pendingWrites, [], "pendingWrites of list");
    },
  },
  "langgraph/writes-need-checkpoint": {
    must: `${published}putWrites "should fail if the thread_id is missing", "should fail if the checkpoint_id is missing"`,
    title: "rejects `putWrites` without a thread or without a checkpoint's id",
    async checkStore(store) {
      const configs = [{}, { configurable: { checkpoint_ns: "", checkpoint_id: id(1) } }, at("thread", "")];
      for (const config of configs) {
        const thrown = await errorOf(() => store.putWrites(config, [["a", 1]], "task"));
        assert.ok(thrown, `putWrites resolved for ${JSON.stringify(config)}`);
      }
    },
  },
  "langgraph/writes-without-namespace": {
    should: "framework: `put` and `getTuple` take the root namespace if a config has none",
    title: "takes the root namespace for writes whose config has none",
    async checkStore(store) {
      const config = await save(store, 1);
      await store.putWrites({ configurable: { thread_id: "thread", checkpoint_id: id(1) } }, [["a", 1]], "task");
      same(await writesAt(store, config), [["task", "a", 1]], "the pending writes of the root namespace");
    },
  },
  "langgraph/writes-before-checkpoint": {
    must: 'framework: under durability "async", the default, `putWrites` does not wait for `put` of its checkpoint',
    title: "keeps writes that arrive before their checkpoint",
    async checkStore(store) {
      await save(store, 1);
      await store.putWrites(atStep(2), [["early", 1]], "task");
      same(await store.getTuple(atStep(2)), undefined, "getTuple before the checkpoint is put");
      same((await all(store.list(at()))).length, 1, "the number of checkpoints before this one is put");
      const config = await save(store, 2);
      same(await writesAt(store, config), [["task", "early", 1]], "the pending writes");
    },
  },
  "langgraph/writes-twice": {
    should: "framework: MemorySaver, SqliteSaver and PostgresSaver ignore a second write of one task at one position",
    title: "keeps the first write of each task and position",
    async checkStore(store) {
      const config = await save(store, 1);
      await store.putWrites(config, writes(["a", 1], ["b", 2]), "task");
      await store.putWrites(config, writes(["a", 10], ["x", 20], ["c", 30]), "task");
      await store.putWrites(config, [["a", 100]], "another");
      const expected = pending(["another", "a", 100], ["task", "a", 1], ["task", "b", 2], ["task", "c", 30]);
      same(sorted(await writesAt(store, config)), expected, "the pending writes");
    },
  },
  "langgraph/special-writes-replace": {
    must: "framework: `interrupt` saves the answers of a task again with each new answer, and a task can fail again",
    title: "replaces the error, interrupts and answers of a task that are put again",
    async checkStore(store) {
      const config = await save(store, 1);
      for (const channel of [error, scheduled, interrupt, resume]) {
        await store.putWrites(config, [[channel!, "first"]], "task");
        await store.putWrites(config, [[channel!, "second"]], "task");
        await store.putWrites(config, [[channel!, "another's"]], "another");
        const found = sorted(await writesAt(store, config)).filter((write) => write[1] === channel);
        const expected = pending(["another", channel, "another's"], ["task", channel, "second"]);
        same(found, expected, `the writes to ${channel}`);
      }
    },
  },
  "langgraph/special-writes-apart": {
    must: `${types}\`WRITES_IDX_MAP\`: "avoid those writes from conflicting with regular writes"`,
    title: "keeps the error, interrupts and answers of a task beside each other and beside its other writes",
    async checkStore(store) {
      const config = await save(store, 1);
      await store.putWrites(config, [["a", 1]], "task");
      for (const channel of [error, scheduled, interrupt, resume])
        await store.putWrites(config, [[channel!, channel]], "task");
      const found = sorted((await writesAt(store, config))?.map((write) => write[1]));
      same(found, sorted(["a", error, scheduled, interrupt, resume]), "the channels of the pending writes");
    },
  },
  "langgraph/writes-apart": {
    group: "isolation",
    must: `${types}\`putWrites\`: "intermediate writes linked to a checkpoint"`,
    title: "returns writes only with the checkpoint, namespace and thread to which they were put",
    async checkStore(store) {
      const places = [atStep(1), atStep(2), atStep(1, "thread", "sub"), atStep(1, "other")];
      for (const [n, config] of places.entries()) {
        const { thread_id, checkpoint_ns } = config.configurable as Record<string, string>;
        await save(store, n === 1 ? 2 : 1, { on: at(thread_id, checkpoint_ns) });
        await store.putWrites(config, [["n", n]], "task");
      }
      for (const [n, config] of places.entries())
        same(await writesAt(store, config), [["task", "n", n]], `the pending writes of ${JSON.stringify(config)}`);
    },
  },
  "langgraph/writes-at-once": {
    must: "framework: the tasks of a step end at any time, and `putWrites` of one does not wait for the others",
    title: "keeps the writes of many tasks that are put at the same time",
    async checkStore(store) {
      const config = await save(store, 1);
      const names = Array.from({ length: 50 }, (_, n) => `task ${String(n).padStart(2, "0")}`);
      await Promise.all(names.map((name) => store.putWrites(config, writes(["a", name], ["b", [name]]), name)));
      const expected = names.flatMap((name) => pending([name, "a", name], [name, "b", [name]]));
      same(sorted(await writesAt(store, config)), expected, "the pending writes");
    },
  },
  "langgraph/writes-order": {
    group: "order",
    should: `${types}\`putWrites\` of 1.2: "Writes stored without a path sort first by taskId"`,
    title: "returns the writes of several tasks in the order of the tasks' ids, and of their positions",
    async checkStore(store) {
      const config = await save(store, 1);
      for (const task of ["c", "a", "b"]) await store.putWrites(config, writes(["1", task], ["2", task]), task);
      const found = (await writesAt(store, config))?.map(([task, channel]) => `${task}${channel}`);
      same(found, ["a1", "a2", "b1", "b2", "c1", "c2"], "the tasks and channels of the pending writes");
    },
  },
  "langgraph/writes-path-order": {
    group: "order",
    ours: `types of @langchain/langgraph-checkpoint 1.2 demand the order of paths; earlier ones know no path`,
    title: "returns the writes of several tasks in the order of the tasks' paths, those without a path first",
    async checkStore(store) {
      const config = await save(store, 1);
      const paths = { a: "~c", b: "~b", c: "~a", d: undefined };
      for (const [task, path] of Object.entries(paths)) await store.putWrites(config, [["n", task]], task, path);
      const found = (await writesAt(store, config))?.map(([task]) => task);
      same(found, ["d", "c", "b", "a"], "the tasks of the pending writes");
    },
  },
});
