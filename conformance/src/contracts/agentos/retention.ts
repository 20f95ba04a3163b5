// Deletion.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import type { Store } from "./store.js";
import { checkpoint, graph, id, ids, none, run, same, saveAll, time } from "./checkpoints.js";
import { own, type } from "./sources.js";

export const retention = expectations<Store>("retention", {
  "agentos/delete": {
    must: type("ICheckpointStore.delete: permanently removes a checkpoint"),
    title: "no longer finds, lists or forks a checkpoint that was deleted",
    async checkStore(store) {
      await store.save(checkpoint());
      await store.delete(id(1));
      none(await store.get(id(1)), "get() of a deleted checkpoint");
      none(await store.latest(run(1)), "latest() of a run without checkpoints");
      none(await store.load(run(1), "search"), "load() of a deleted checkpoint's node");
      assert.deepEqual(ids(await store.list(graph)), [], "list() shows a deleted checkpoint");
      assert.deepEqual(ids(await store.list(graph, { runId: run(1) })), [], "list() of the run shows what was deleted");
      await assert.rejects(async () => await store.fork(id(1)), "fork() must reject for a deleted checkpoint");
    },
  },
  "agentos/delete-only-one": {
    must: type("ICheckpointStore.delete: removes a checkpoint"),
    title: "keeps the other checkpoints of the run, and returns the one before from `latest`",
    async checkStore(store) {
      const steps = [0, 1, 2, 3].map((n) =>
        checkpoint({ id: id(n), timestamp: time + n, visitedNodes: [`node-${n}`] }),
      );
      await saveAll(store, ...steps);
      await store.delete(id(3));
      same(await store.latest(run(1)), steps[2]!, "latest() after the newest was deleted");
      same(await store.load(run(1), "search"), steps[2]!, "load() after the newest was deleted");
      await store.delete(id(0));
      same(await store.get(id(1)), steps[1]!, "get() of the second after the first was deleted");
      assert.deepEqual(ids(await store.list(graph)), [2, 1].map(id));
    },
  },
  "agentos/delete-missing": {
    must: type("ICheckpointStore.delete: silently succeeds when `checkpointId` does not exist"),
    title: "resolves when an unknown or deleted checkpoint is deleted, and deletes nothing else",
    async checkStore(store) {
      await saveAll(store, checkpoint(), checkpoint({ id: id(2) }));
      await store.delete(id(1));
      await store.delete(id(1));
      for (const unknown of [id(9), run(1), "not a uuid"]) await store.delete(unknown);
      assert.deepEqual(ids(await store.list(graph)), [id(2)], "deletes of unknown ids must change nothing");
    },
  },
  "agentos/delete-then-save": {
    should: own("takes the id of a deleted checkpoint again"),
    title: "stores a checkpoint with the id of one that was deleted",
    async checkStore(store) {
      await store.save(checkpoint());
      await store.delete(id(1));
      const again = checkpoint({ runId: run(2), visitedNodes: ["book"] });
      await store.save(again);
      same(await store.get(id(1)), again, "get() of an id that was deleted and saved again");
      none(await store.latest(run(1)), "latest() of the run of the deleted checkpoint");
    },
  },
  "agentos/delete-forked": {
    must: type("ICheckpointStore.fork: the fork is a deep clone, and a run of its own"),
    title: "keeps forks, and forks of forks, when the checkpoints that they branch off are deleted",
    async checkStore(store) {
      const source = checkpoint();
      await store.save(source);
      const first = await store.fork(id(1), { scratch: { by: "first" } });
      const forked = (await store.latest(first))!;
      const second = await store.fork(forked.id, { artifacts: { price: 1 } });
      const again = (await store.latest(second))!;
      await store.delete(id(1));
      same(await store.latest(first), forked, "the fork after its source was deleted");
      await store.delete(forked.id);
      same(await store.latest(second), again, "the fork of the fork after both were deleted");
      const { input, scratch, artifacts } = again.state;
      assert.deepEqual([input, scratch.by, artifacts.price], [source.state.input, "first", 1]);
    },
  },
});
