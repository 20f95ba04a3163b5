// New runs that branch off a checkpoint.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import type { Checkpoint, Store } from "./store.js";
import { checkpoint, graph, holding, id, ids, rejection, run, same } from "./checkpoints.js";
import { guide, own, type } from "./sources.js";

/** Returns the only checkpoint of a run that `fork` has made. */
async function forkedOf(store: Store, runId: string): Promise<Checkpoint> {
  assert.equal(typeof runId, "string", `fork() must return the new run's id, and returns ${typeof runId}`);
  const forked = await store.latest(runId);
  assert.ok(forked, "latest() finds no checkpoint of the run that fork() has returned");
  return forked;
}

export const forks = expectations<Store>("contract", {
  "agentos/fork": {
    must: type("ICheckpointStore.fork"),
    title: "copies a checkpoint into a new run with `fork`, and returns the run's id",
    async checkStore(store) {
      const source = checkpoint({ skippedNodes: ["review"], memorySnapshot: { reads: [], pendingWrites: [] } });
      await store.save(source);
      const runId = await store.fork(id(1));
      const forked = await forkedOf(store, runId);
      const { id: forkedId, timestamp } = forked;
      same(forked, { ...source, id: forkedId, runId, timestamp }, "the forked checkpoint");
      same(await store.get(forkedId), forked, "get() of the forked checkpoint");
      assert.deepEqual(ids(await store.list(graph, { runId })), [forkedId], "list() must show the forked checkpoint");
    },
  },
  "agentos/fork-fresh-ids": {
    must: guide("The fork() operation: assigns a fresh `runId` and checkpoint `id`"),
    title: "gives each fork an id of its own for the run, and one for the checkpoint",
    async checkStore(store) {
      await store.save(checkpoint());
      const runs = [run(1), await store.fork(id(1)), await store.fork(id(1)), await store.fork(id(1))];
      assert.equal(new Set(runs).size, 4, `fork() must return a new run's id each time, and returned ${runs.slice(1)}`);
      const found = await Promise.all(runs.map((one) => store.latest(one)));
      const checkpoints = found.map((one) => one?.id);
      assert.equal(new Set(checkpoints).size, 4, `each fork needs a checkpoint id of its own: ${checkpoints}`);
    },
  },
  "agentos/fork-time": {
    should: own("and the sample of the guide set `timestamp` to the time of the fork"),
    title: "gives the forked checkpoint the time of the fork",
    async checkStore(store) {
      await store.save(checkpoint({ timestamp: 1_000 }));
      const { timestamp } = await forkedOf(store, await store.fork(id(1)));
      // The clock of a server may differ.
      const isNow = Math.abs(timestamp - Date.now()) < 3_600_000;
      assert.ok(isNow, `timestamp is ${timestamp}, and must be the time of the fork in ms`);
    },
  },
  "agentos/fork-patch": {
    must: guide("Time-Travel with fork(): `{ scratch: { confidence: 0.95 } }`"),
    title: "applies a patch of `input`, `scratch`, `artifacts` and `diagnostics` to the fork",
    async checkStore(store) {
      const source = checkpoint();
      await store.save(source);
      const patch = {
        input: { city: "Porto" },
        scratch: { confidence: 0.95 },
        artifacts: { isBooked: true },
        diagnostics: { memoryReads: 3 },
      };
      const { state } = await forkedOf(store, await store.fork(id(1), patch));
      assert.deepEqual(
        [state.input.city, state.scratch.confidence, state.artifacts.isBooked, state.diagnostics.memoryReads],
        ["Porto", 0.95, true, 3],
        "the patched keys must be those of the patch",
      );
      const untouched = await forkedOf(store, await store.fork(id(1), { scratch: { confidence: 0.5 } }));
      assert.deepEqual(untouched.state.input, source.state.input, "a partition without a patch must stay as it is");
    },
  },
  "agentos/fork-patch-merges": {
    should: own("merges each partition of a patch with Object.assign"),
    title: "keeps the keys of a partition that a patch does not name, and replaces the others as a whole",
    async checkStore(store) {
      await store.save(holding({ confidence: 0.1, topic: "trains", deep: { one: 1, two: 2 } }));
      const runId = await store.fork(id(1), { scratch: { confidence: 0.95, deep: { one: 9 } } });
      const { scratch } = (await forkedOf(store, runId)).state;
      assert.deepEqual(scratch, { confidence: 0.95, topic: "trains", deep: { one: 9 } });
    },
  },
  "agentos/fork-patch-of-other-keys": {
    should: own("ignores the keys of `GraphState` that are no partition of a checkpoint"),
    title: "changes nothing but the partitions if a patch also has `visitedNodes`, `iteration` or `currentNodeId`",
    async checkStore(store) {
      const source = checkpoint();
      await store.save(source);
      const patch = { visitedNodes: ["write"], iteration: 4, currentNodeId: "write", artifacts: { price: 1 } };
      const forked = await forkedOf(store, await store.fork(id(1), patch));
      assert.deepEqual(forked.visitedNodes, source.visitedNodes);
      assert.deepEqual(forked.state, { ...source.state, artifacts: { ...source.state.artifacts, price: 1 } });
    },
  },
  "agentos/fork-patch-of-no-object": {
    ours: "the types allow any value in a partition, also null, and a patch must still apply",
    title: "puts the patch in place of a partition that is null or a text",
    async checkStore(store) {
      for (const scratch of [null, "text"]) {
        await store.save(holding(scratch));
        const runId = await store.fork(id(1), { scratch: { answer: "yes" } });
        assert.deepEqual((await forkedOf(store, runId)).state.scratch, { answer: "yes" });
      }
    },
  },
  "agentos/fork-leaves-source": {
    must: guide("Time-Travel with fork(): the original run is untouched"),
    title: "leaves the run that was forked as it was",
    async checkStore(store) {
      const source = checkpoint();
      await store.save(source);
      await store.fork(id(1), { scratch: { confidence: 0.95, deep: null }, input: { city: "Porto" } });
      same(await store.get(id(1)), source, "get() of the source after its fork");
      same(await store.latest(run(1)), source, "latest() of the source's run after the fork");
      assert.deepEqual(ids(await store.list(graph, { runId: run(1) })), [id(1)], "the fork is no part of the old run");
    },
  },
  "agentos/fork-missing": {
    must: type("ICheckpointStore.fork: throws when `checkpointId` does not exist"),
    title: "rejects a fork of an unknown checkpoint with an `Error`, and stores nothing",
    async checkStore(store) {
      await store.save(checkpoint());
      for (const unknown of [id(9), run(1)]) {
        const error = await rejection(store.fork(unknown, { scratch: { a: 1 } }), "fork() of an unknown checkpoint");
        assert.ok(error, `fork() must reject if the checkpoint does not exist: ${unknown}`);
      }
      assert.deepEqual(ids(await store.list(graph)), [id(1)]);
    },
  },
  "agentos/fork-is-deep": {
    group: "isolation",
    must: type("ICheckpointStore.fork: deep-clones the source checkpoint"),
    title: "shares nothing between a checkpoint and its fork",
    async checkStore(store) {
      const source = checkpoint();
      await store.save(structuredClone(source));
      const runId = await store.fork(id(1), { scratch: { confidence: 0.95 } });
      const forked = await forkedOf(store, runId);
      forked.state.scratch.deep.one.two.push("of the fork");
      forked.state.input.city = "Porto";
      forked.visitedNodes.push("book");
      forked.nodeResults["book"] = { effectClass: "write", output: "booked", durationMs: 1 };
      same(await store.get(id(1)), source, "the source after its fork was changed");
    },
  },
  "agentos/fork-copies-patch": {
    group: "isolation",
    should: type("ICheckpointStore.fork: persists the new checkpoint, so what is persisted no longer changes"),
    title: "copies the patch of a fork, so that changing it later changes no fork",
    async checkStore(store) {
      await store.save(checkpoint());
      const patch = { scratch: { answers: ["yes"] } };
      const runId = await store.fork(id(1), patch);
      patch.scratch.answers.push("later");
      const { answers } = (await forkedOf(store, runId)).state.scratch;
      assert.deepEqual(answers, ["yes"], "the patch was changed after fork() had resolved, and the fork with it");
    },
  },
  "agentos/fork-patch-of-proto": {
    group: "hostile",
    ours: "patches come from people, and Object.assign gives an own `__proto__` key to the setter",
    title: "takes `__proto__` in a patch as a key like any other",
    async checkStore(store) {
      await store.save(holding({ kept: true }));
      const patch = JSON.parse('{"scratch":{"__proto__":{"isAdmin":true},"constructor":1}}') as Record<string, object>;
      const { scratch } = (await forkedOf(store, await store.fork(id(1), patch))).state;
      assert.equal(({} as Record<string, unknown>)["isAdmin"], undefined, "the patch has changed Object.prototype");
      assert.ok(scratch.kept === true && scratch.isAdmin === undefined, "the patch has changed scratch's prototype");
      assert.deepEqual(Object.keys(scratch).toSorted(), ["__proto__", "constructor", "kept"]);
    },
  },
});
