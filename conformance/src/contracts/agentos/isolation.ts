// Nothing is mixed up between runs, graphs and callers.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import type { Checkpoint, Store } from "./store.js";
import { checkpoint, graph, id, ids, run, same, saveAll, time } from "./checkpoints.js";
import { runtime, type } from "./sources.js";

/** Freezes a value and everything in it. */
function freeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    Object.freeze(value);
    for (const part of Object.values(value)) freeze(part);
  }
  return value;
}

/** Changes every part of a checkpoint. */
function change(one: Checkpoint) {
  one.timestamp += 1_000;
  one.state.input.city = "changed";
  one.state.scratch.notes.push("changed");
  one.state.scratch.deep.one.two[2].three = "changed";
  one.state.artifacts = { changed: true };
  one.nodeResults["changed"] = { effectClass: "write", output: null, durationMs: 0 };
  (one.nodeResults["search"]!.output as Record<string, unknown>)["hotel"] = "changed";
  one.visitedNodes.push("changed");
  one.pendingEdges.length = 0;
}

export const isolation = expectations<Store>("isolation", {
  "agentos/runs-apart": {
    must: type("ICheckpointStore.latest, load and list with runId"),
    title: "finds and lists only the checkpoints of the run that was asked for",
    async checkStore(store) {
      const steps = [1, 2, 1, 2, 3].map((of, n) => checkpoint({ id: id(n), runId: run(of), timestamp: time + n }));
      await saveAll(store, ...steps);
      same(await store.latest(run(1)), steps[2]!, "latest() of the first run");
      same(await store.load(run(2), "search"), steps[3]!, "load() of the second run and a node");
      assert.deepEqual(ids(await store.list(graph, { runId: run(1) })), [2, 0].map(id));
      assert.deepEqual(ids(await store.list(graph)), [4, 3, 2, 1, 0].map(id));
    },
  },
  "agentos/graphs-apart": {
    must: type("ICheckpointStore.list: checkpoints belonging to a graph"),
    title:
      "lists only the checkpoints of the graph that was asked for, also of a run that several graphs have continued",
    async checkStore(store) {
      // A graph has a new id each time it is compiled, and the run keeps its own.
      const compiled = [graph, `${graph}1`, "graph-trip-1700000000", graph];
      const steps = compiled.map((graphId, n) => checkpoint({ id: id(n), graphId, timestamp: time + n }));
      await saveAll(store, ...steps);
      assert.deepEqual(ids(await store.list(graph)), [3, 0].map(id));
      assert.deepEqual(ids(await store.list(graph, { runId: run(1) })), [3, 0].map(id));
      assert.deepEqual(ids(await store.list(`${graph}1`, { runId: run(1) })), [id(1)]);
      same(await store.latest(run(1)), steps[3]!, "latest() of a run of several graphs");
    },
  },
  "agentos/joined-ids-apart": {
    should: "ours: two runs would be one in a store that joins a run's id and a node's id to a key",
    title: "keeps runs and nodes apart whose ids are the same when they are joined",
    async checkStore(store) {
      for (const by of [":", "/", "-", "_", "|", "#", ".", ",", "__", " "]) {
        const [one, other] = [
          checkpoint({ id: `1${by}`, runId: `a${by}b`, nodeId: "c", graphId: `g${by}a` }),
          checkpoint({ id: `2${by}`, runId: "a", nodeId: `b${by}c`, graphId: "g" }),
        ];
        await saveAll(store, one, other);
        const what = `with ids that are joined by ${JSON.stringify(by)}`;
        same(await store.load(`a${by}b`, "c"), one, `load() of one run ${what}`);
        same(await store.load("a", `b${by}c`), other, `load() of the other run ${what}`);
        same(await store.latest(`a${by}b`), one, `latest() of one run ${what}`);
        assert.deepEqual(ids(await store.list(`g${by}a`, { runId: `a${by}b` })), [one.id], `list() of one run ${what}`);
      }
    },
  },
  "agentos/snapshot": {
    must: type("Checkpoint.nodeResults: results from every node that completed before this checkpoint was taken"),
    title: "keeps a checkpoint as it was saved when the saved object is changed after that",
    async checkStore(store) {
      const [saved, before] = [checkpoint(), checkpoint()];
      await store.save(saved);
      change(saved);
      same(await store.get(id(1)), before, "get() after the saved object was changed");
      same(await store.latest(run(1)), before, "latest() after the saved object was changed");
    },
  },
  "agentos/snapshot-at-call": {
    should: runtime(
      "saves one live `nodeResults` for the whole run, and parallel branches extend it while a save is pending",
    ),
    title: "stores a checkpoint as it was when `save` was called, and not as it is when `save` resolves",
    async checkStore(store) {
      const nodeResults: Checkpoint["nodeResults"] = {};
      const saves = [0, 1, 2, 3].map((n) => {
        nodeResults[`branch-${n}`] = { effectClass: "write", output: n, durationMs: 0 };
        return store.save(checkpoint({ id: id(n), nodeResults }));
      });
      await Promise.all(saves);
      for (const n of [0, 1, 2, 3]) {
        const found = Object.keys((await store.get(id(n)))!.nodeResults);
        assert.equal(found.length, n + 1, `checkpoint ${n} must hold the results up to its save, and holds ${found}`);
      }
    },
  },
  "agentos/argument-stays": {
    must: runtime("freezes `state.input`, and goes on with the objects that it has saved"),
    title: "takes frozen checkpoints, and neither changes nor freezes one that it is given",
    async checkStore(store) {
      const frozen = freeze(checkpoint());
      await store.save(frozen);
      same(await store.get(id(1)), frozen, "get() of a frozen checkpoint");
      const [free, before] = [checkpoint({ id: id(2) }), checkpoint({ id: id(2) })];
      await store.save(free);
      await store.get(id(2));
      assert.deepEqual(free, before, "save() has changed the checkpoint that it was given");
      for (const part of [
        free.state,
        free.state.scratch,
        free.state.scratch.notes,
        free.nodeResults,
        free.visitedNodes,
      ])
        assert.ok(Object.isExtensible(part), "save() has frozen a part of the checkpoint, and the run goes on with it");
    },
  },
  "agentos/reads-are-copies": {
    should: runtime(
      "streamResume() freezes the input that it has read and hands the scratch to nodes, which may change it",
    ),
    title: "returns a new object from each read, which may be changed without changing the checkpoint",
    async checkStore(store) {
      await store.save(checkpoint());
      const reads: Record<string, () => Promise<Checkpoint | null>> = {
        get: () => store.get(id(1)),
        latest: () => store.latest(run(1)),
        load: () => store.load(run(1), "search"),
      };
      for (const [name, read] of Object.entries(reads)) {
        const found = (await read())!;
        assert.ok(Object.isExtensible(found.state.scratch), `${name}() returns a frozen scratch; nodes write to it`);
        change(found);
        freeze(found.state.input);
        const again = await read();
        same(again, checkpoint(), `${name}() after the object of an earlier read was changed`);
        assert.ok(!Object.isFrozen(again.state.input), `${name}() returns what an earlier reader has frozen`);
      }
    },
  },
});
