// The values of channels: `put` gets all of them, and which are new.
import { expectations } from "../../suite/expectations.js";
import type { Saver } from "./store.js";
import { at, atStep, checkpoint, metadata, published, same, save, valuesAt, writesAt } from "./cases.js";

const tasks = "__pregel_tasks";

/** Puts two checkpoints of an old format, the first with a send that waits. Returns the tuple of the second. */
async function sendFrom(store: Saver, ns: string) {
  const parent = await store.put(at("thread", ns), { ...checkpoint(1), v: 3 }, metadata(), {});
  await store.putWrites(parent, [[tasks, `sent in ${ns || "root"}`]], "task");
  const child = await store.put(parent, { ...checkpoint(2), v: 3 }, metadata(), {});
  return () => store.getTuple(child);
}

export const channels = expectations<Saver>("contract", {
  "langgraph/inherited-channels": {
    must: `${published}getTuple "reconstructs channels written by an ancestor but not the latest node"`,
    title: "returns channels that a checkpoint does not change with the value of the ancestor that changed them",
    async checkStore(store) {
      let on = await save(store, 1, { values: { a: 1, b: "b" }, versions: { a: 1, b: 1 } });
      for (let step = 2; step <= 5; step++) {
        const values = { a: step, b: "b" };
        on = await save(store, step, { on, values, versions: { a: step, b: 1 }, fresh: { a: step } });
      }
      for (let step = 1; step <= 5; step++)
        same(await valuesAt(store, atStep(step)), { a: step, b: "b" }, `the values of step ${step}`);
    },
  },
  "langgraph/only-new-versions": {
    should: `${published}put "should only store channel_values that have changed (based on newVersions)"`,
    title: "stores only the channels that are in `newVersions`",
    async checkStore(store) {
      const values = { foo: "bar", baz: "qux" };
      const versions = { foo: 1, baz: 1 };
      const config = await save(store, 1, { values, versions, fresh: {} });
      same(await valuesAt(store, config), {}, "the values of a checkpoint without new versions");
      const next = await save(store, 2, { values, versions, fresh: { foo: 1 } });
      same(await valuesAt(store, next), { foo: "bar" }, "the values of a checkpoint with one new version");
    },
  },
  "langgraph/copied-checkpoint": {
    must: 'framework: `updateState(config, null, "__copy__")` puts a copy beside a checkpoint, with no new versions',
    title: "returns a copy of a checkpoint, put at its parent without new versions, with the checkpoint's own values",
    async checkStore(store) {
      const values = { a: "new", b: "b" };
      const first = await save(store, 1, { values: { a: "old", b: "b" }, versions: { a: 1, b: 1 } });
      await save(store, 2, { on: first, values, versions: { a: 2, b: 1 }, fresh: { a: 2 } });
      const copy = await save(store, 3, { on: first, values, versions: { a: 2, b: 1 }, fresh: {} });
      same(await valuesAt(store, copy), values, "the values of the copy");
    },
  },
  "langgraph/sibling-values": {
    group: "isolation",
    must: "framework: `getNextVersion` counts in integers, so each branch has version n of a channel (langgraphjs#1812)",
    title: "returns two branches with their own values, although the versions of their channels are equal",
    async checkStore(store) {
      const first = await save(store, 1, { values: { a: "root" }, versions: { a: 1 } });
      const on = { on: first, versions: { a: 2 } };
      const left = await save(store, 2, { ...on, values: { a: "left" } });
      const right = await save(store, 3, { ...on, values: { a: "right" } });
      const after = { values: { a: "right" }, versions: { a: 2 }, fresh: {} };
      const below = await save(store, 4, { on: right, ...after });
      same(await valuesAt(store, left), { a: "left" }, "the values of the first branch");
      same(await valuesAt(store, right), { a: "right" }, "the values of the second branch");
      same(await valuesAt(store, below), { a: "right" }, "the values below the second branch");
    },
  },
  "langgraph/same-version-elsewhere": {
    group: "isolation",
    must: "framework: versions of a channel begin at 1 in each thread and each subgraph",
    title: "keeps the channels of threads and namespaces apart, although their versions are equal",
    async checkStore(store) {
      const places = [at("a"), at("b"), at("a", "sub"), at("a", "sub:1")];
      for (const [n, on] of places.entries()) await save(store, 1, { on, values: { n }, versions: { n: 1 } });
      for (const [n, on] of places.entries()) same(await valuesAt(store, on), { n }, `the values at ${n}`);
    },
  },
  "langgraph/cleared-channel": {
    must: "framework: a channel that has become empty has a new version and is missing in `channel_values`",
    title: "returns no value for a channel that a checkpoint has emptied, and its old value before that checkpoint",
    async checkStore(store) {
      const full = await save(store, 1, { values: { a: 1, b: 1 }, versions: { a: 1, b: 1 } });
      const empty = await save(store, 2, { on: full, values: { a: 1 }, versions: { a: 1, b: 2 }, fresh: { b: 2 } });
      const after = await save(store, 3, { on: empty, values: { a: 2 }, versions: { a: 2, b: 2 }, fresh: { a: 2 } });
      same(await valuesAt(store, full), { a: 1, b: 1 }, "the values before");
      same(await valuesAt(store, empty), { a: 1 }, "the values of the checkpoint that empties b");
      same(await valuesAt(store, after), { a: 2 }, "the values after");
    },
  },
  "langgraph/pending-sends": {
    should: `${published}getTuple "should migrate pending sends"`,
    title: "returns the sends that wait in the parent of a checkpoint of format 3 as a channel of the checkpoint",
    async checkStore(store) {
      const read = await sendFrom(store, "");
      const tuple = await read();
      same(tuple?.checkpoint.channel_values[tasks], ["sent in root"], `the channel ${tasks}`);
      same(tuple?.checkpoint.channel_versions[tasks] === undefined, false, `a missing version of ${tasks}`);
    },
  },
  "langgraph/pending-sends-namespace": {
    group: "isolation",
    should:
      "framework: a subgraph's checkpoints have a namespace of their own, and can have the ids of their parent graph",
    title: "takes the sends that wait in a parent of format 3 only from the same namespace",
    async checkStore(store) {
      const reads = [await sendFrom(store, ""), await sendFrom(store, "sub")];
      for (const [n, read] of reads.entries()) {
        const expected = [`sent in ${n === 0 ? "root" : "sub"}`];
        same((await read())?.checkpoint.channel_values[tasks], expected, `the sends in ${n === 0 ? "root" : "sub"}`);
      }
    },
  },
  "langgraph/given-values": {
    group: "isolation",
    should: "framework: nodes go on with the objects of a state that has been saved; MemorySaver stores bytes",
    title: "returns what was put, although the caller has changed the objects since",
    async checkStore(store) {
      const [list, tags, value] = [["one"], ["x"], { deep: [1] }];
      const put = checkpoint(1, { list });
      const config = await store.put(at(), put, metadata({ tags }), { list: 1 });
      await store.putWrites(config, [["value", value]], "task");
      list.push("two");
      tags.push("y");
      value.deep.push(2);
      put.channel_versions["list"] = 9;
      const tuple = await store.getTuple(config);
      same(tuple?.checkpoint, checkpoint(1, { list: ["one"] }), "the checkpoint");
      same(tuple?.metadata?.["tags"], ["x"], "the metadata");
      same(tuple?.pendingWrites, [["task", "value", { deep: [1] }]], "the pending writes");
    },
  },
  "langgraph/returned-values": {
    group: "isolation",
    should: "framework: nodes change the state that they are given; MemorySaver stores bytes",
    title: "returns the same again, although a reader has changed what it was given",
    async checkStore(store) {
      const config = await save(store, 1, { values: { list: ["one"] }, metadata: { tags: ["x"] } });
      await store.putWrites(config, [["value", { deep: [1] }]], "task");
      const first = await store.getTuple(config);
      (first!.checkpoint.channel_values["list"] as string[]).push("two");
      (first!.metadata!["tags"] as string[]).push("y");
      (first!.pendingWrites![0]![2] as { deep: number[] }).deep.push(2);
      const second = await store.getTuple(config);
      same(second?.checkpoint.channel_values, { list: ["one"] }, "the values");
      same(second?.metadata?.["tags"], ["x"], "the metadata");
      same(await writesAt(store, config), [["task", "value", { deep: [1] }]], "the pending writes");
    },
  },
});
