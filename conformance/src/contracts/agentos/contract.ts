// What is saved, and how it is found again.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import type { Store } from "./store.js";
import { checkpoint, graph, id, ids, none, run, same, saveAll, time } from "./checkpoints.js";
import { guide, own, runtime, type } from "./sources.js";

export const basics = expectations<Store>("contract", {
  "agentos/get": {
    must: type("ICheckpointStore.get"),
    title: "returns a checkpoint by its id, with every field as it was saved",
    async checkStore(store) {
      const first = checkpoint();
      const second = checkpoint({ id: id(2), nodeId: "book", timestamp: time + 1, visitedNodes: ["search", "book"] });
      await saveAll(store, first, second);
      same(await store.get(id(1)), first, "get() of the first checkpoint");
      same(await store.get(id(2)), second, "get() of the second checkpoint");
    },
  },
  "agentos/optional-fields": {
    must: type("Checkpoint.skippedNodes and Checkpoint.memorySnapshot"),
    title: "keeps `skippedNodes` and `memorySnapshot`, without which a resume stalls or reads the memory again",
    async checkStore(store) {
      const saved = checkpoint({
        skippedNodes: ["refund", "review"],
        memorySnapshot: {
          reads: [{ traceId: "t-1", content: "likes trains", strength: 0.5 }],
          pendingWrites: [{ type: "fact", content: "lives in Porto", scope: "user" }],
        },
      });
      await store.save(saved);
      same(await store.get(id(1)), saved, "get()");
      same(await store.latest(run(1)), saved, "latest()");
    },
  },
  "agentos/unknown-fields": {
    should: own("keeps the whole object, so fields of a newer AgentOS survive"),
    title: "keeps fields that the types do not name",
    async checkStore(store) {
      const base = checkpoint();
      const saved = { ...base, version: 3, extra: { tags: ["a"] }, state: { ...base.state, later: { kept: true } } };
      await store.save(saved);
      same(await store.get(id(1)), saved, "get()");
    },
  },
  "agentos/missing": {
    must: type("ICheckpointStore: `null` when none exists"),
    title: "returns null for an unknown checkpoint, run or node, and an empty list for an unknown graph",
    async checkStore(store) {
      await store.save(checkpoint());
      none(await store.get(id(9)), "get() of an unknown id");
      none(await store.latest(run(9)), "latest() of an unknown run");
      none(await store.load(run(9)), "load() of an unknown run");
      none(await store.load(run(9), "search"), "load() of an unknown run and a node");
      none(await store.load(run(1), "book"), "load() of a node that has no checkpoint");
      assert.deepEqual(await store.list("graph-other-1"), []);
      assert.deepEqual(await store.list(graph, { runId: run(9) }), []);
    },
  },
  "agentos/latest-takes-any-text": {
    must: runtime("streamResume() asks latest() for a checkpoint's id, and for whatever the user passes to resume()"),
    title: "returns null from `latest` and `get` for texts that are no such id: other ids, and texts that are no UUID",
    async checkStore(store) {
      await store.save(checkpoint());
      none(await store.latest(id(1)), "latest() of a checkpoint's id");
      none(await store.get(run(1)), "get() of a run's id");
      for (const text of ["not a uuid", "", "42", "search", graph]) {
        none(await store.latest(text), `latest(${JSON.stringify(text)})`);
        none(await store.get(text), `get(${JSON.stringify(text)})`);
      }
    },
  },
  "agentos/latest": {
    must: type("ICheckpointStore.latest and ICheckpointStore.load without nodeId"),
    title: "returns the newest checkpoint of a run from `latest`, and the same from `load` without a node",
    async checkStore(store) {
      const steps = ["search", "book", "write"].map((nodeId, n) =>
        checkpoint({ id: id(n + 1), nodeId, timestamp: time + n }),
      );
      for (const step of steps) {
        await store.save(step);
        same(await store.latest(run(1)), step, `latest() after the save at ${step.nodeId}`);
        same(await store.load(run(1)), step, `load() after the save at ${step.nodeId}`);
      }
    },
  },
  "agentos/load-node": {
    must: type("ICheckpointStore.load with nodeId"),
    title: "returns the newest checkpoint of a node of a run from `load` with a node",
    async checkStore(store) {
      const nodes = ["search", "book", "search", "book"];
      const steps = nodes.map((nodeId, n) => checkpoint({ id: id(n + 1), nodeId, timestamp: time + n }));
      const other = checkpoint({ id: id(9), runId: run(2), nodeId: "search", timestamp: time + 9 });
      await saveAll(store, ...steps, other);
      same(await store.load(run(1), "search"), steps[2]!, "load() of the run and search");
      same(await store.load(run(1), "book"), steps[3]!, "load() of the run and book");
    },
  },
  "agentos/save-again": {
    must: type("ICheckpointStore.save: a checkpoint with the same `id` is overwritten"),
    title: "replaces a checkpoint that is saved again",
    async checkStore(store) {
      await store.save(checkpoint());
      const replacement = checkpoint({ visitedNodes: ["search", "book"], nodeResults: {}, pendingEdges: [] });
      await store.save(replacement);
      same(await store.get(id(1)), replacement, "get() after the second save");
      same(await store.latest(run(1)), replacement, "latest() after the second save");
      assert.deepEqual(ids(await store.list(graph)), [id(1)], "a checkpoint that was saved twice is listed once");
    },
  },
  "agentos/save-again-elsewhere": {
    must: type("ICheckpointStore.save: a checkpoint with the same `id` is overwritten"),
    title: "finds a checkpoint only by its new run, graph and node after it was saved again with others",
    async checkStore(store) {
      const later = "graph-later-1700000000001";
      await store.save(checkpoint());
      const moved = checkpoint({ runId: run(2), graphId: later, nodeId: "book", timestamp: time + 5 });
      await store.save(moved);
      none(await store.latest(run(1)), "latest() of the old run");
      none(await store.load(run(1), "search"), "load() of the old run and node");
      assert.deepEqual(ids(await store.list(graph)), [], "the old graph still lists the checkpoint");
      same(await store.latest(run(2)), moved, "latest() of the new run");
      same(await store.load(run(2), "book"), moved, "load() of the new run and node");
      const [listed] = await store.list(later, { runId: run(2) });
      assert.deepEqual([listed?.id, listed?.nodeId, listed?.timestamp], [id(1), "book", time + 5]);
    },
  },
  "agentos/saves-at-once": {
    must: runtime("saves from parallel branches without waiting for one another"),
    title: "stores every checkpoint of calls to `save` that overlap",
    async checkStore(store) {
      const all = Array.from({ length: 20 }, (_, n) => checkpoint({ id: id(n), nodeId: `branch-${n}` }));
      await Promise.all(all.map((one) => store.save(one)));
      for (const one of all) same(await store.get(one.id), one, `get() of the checkpoint of ${one.nodeId}`);
      assert.equal((await store.list(graph)).length, 20);
    },
  },
  "agentos/list-metadata": {
    must: type("CheckpointMetadata"),
    title: "lists the id, run, graph, node and time of each checkpoint",
    async checkStore(store) {
      await store.save(checkpoint({ id: id(3), runId: run(7), nodeId: "book", timestamp: time + 42 }));
      const [one, ...more] = await store.list(graph);
      assert.deepEqual(more, []);
      const { id: listed, runId, graphId, nodeId, timestamp } = one!;
      assert.deepEqual(
        { listed, runId, graphId, nodeId, timestamp },
        { listed: id(3), runId: run(7), graphId: graph, nodeId: "book", timestamp: time + 42 },
      );
    },
  },
  "agentos/list-without-states": {
    should: guide("Custom Backend: `list` returns lightweight metadata, not full payloads"),
    title: "lists checkpoints without their states and results",
    async checkStore(store) {
      await store.save(checkpoint());
      const [one] = await store.list(graph);
      for (const part of ["state", "nodeResults", "payload"])
        assert.ok(!(part in one!), `list() returns ${part}, although it must be cheap for runs with large states`);
    },
  },
  "agentos/state-size": {
    should: type("CheckpointMetadata.stateSize: serialised byte size of the `GraphState` payload"),
    title: "lists the size of the state alone as `stateSize`",
    async checkStore(store, trial) {
      const large = checkpoint({ id: id(3) });
      large.state.artifacts = { text: Array.from({ length: 2_000 }, () => trial.random(1e9).toString(36)).join("") };
      const wide = checkpoint({ id: id(2), visitedNodes: Array.from({ length: 500 }, (_, n) => `node-${n}`) });
      await saveAll(store, checkpoint(), wide, large);
      const sizes = Object.fromEntries((await store.list(graph)).map((one) => [one.id, one.stateSize]));
      const [base, withNodes, withText] = [sizes[id(1)]!, sizes[id(2)]!, sizes[id(3)]!];
      assert.ok(base > 0, `stateSize must be above 0, and is ${base}`);
      assert.equal(withNodes, base, "stateSize must not count visitedNodes: only the state");
      assert.ok(withText > base + 5_000, `stateSize is ${withText} for a state of 10 KB more than that of ${base}`);
    },
  },
  "agentos/has-memory-snapshot": {
    must: type("CheckpointMetadata.hasMemorySnapshot"),
    title: "lists whether a checkpoint has a `memorySnapshot`",
    async checkStore(store) {
      await store.save(checkpoint());
      await store.save(checkpoint({ id: id(2), memorySnapshot: { reads: [], pendingWrites: [] } }));
      const has = Object.fromEntries((await store.list(graph)).map((one) => [one.id, one.hasMemorySnapshot]));
      assert.deepEqual(has, { [id(1)]: false, [id(2)]: true });
    },
  },
});
