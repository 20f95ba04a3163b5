// Which checkpoint is newer, and how many are listed.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import type { Store } from "./store.js";
import { checkpoint, graph, id, ids, run, saveAll, time } from "./checkpoints.js";
import { own, type } from "./sources.js";

/** Returns checkpoints with these times. */
const at = (...times: number[]) => times.map((timestamp, n) => checkpoint({ id: id(n), timestamp }));

/** The same, each in a run of its own. */
const atRuns = (...times: number[]) => times.map((timestamp, n) => checkpoint({ id: id(n), runId: run(n), timestamp }));

export const order = expectations<Store>("order", {
  "agentos/newest-first": {
    must: type("ICheckpointStore.list: sorted by `timestamp` descending"),
    title: "lists the checkpoints of several runs by their time, the newest first",
    async checkStore(store) {
      await saveAll(store, ...atRuns(time + 3, time + 1, time + 9, time + 2));
      const listed = (await store.list(graph)).map(({ timestamp }) => timestamp - time);
      assert.deepEqual(listed, [9, 3, 2, 1]);
    },
  },
  "agentos/latest-by-time": {
    ours: "the type says most recently persisted, and a clock may step back; InMemoryCheckpointStore goes by timestamp",
    title: "returns the checkpoint that was saved last from `latest` and `load`, also if its time is smaller",
    async checkStore(store) {
      await saveAll(store, ...at(time + 1, time + 9, time + 2));
      assert.equal((await store.latest(run(1)))?.id, id(2), "latest() must be the one that was saved last");
      assert.equal((await store.load(run(1), "search"))?.id, id(2), "load() must be the one that was saved last");
    },
  },
  "agentos/latest-of-equal-times": {
    should: type("ICheckpointStore.latest: the most recently persisted checkpoint. Short nodes end in one millisecond"),
    title: "returns the checkpoint that was saved last from `latest` and `load` if several have the same time",
    async checkStore(store) {
      for (let n = 0; n < 5; n++) {
        await store.save(checkpoint({ id: id(n), nodeId: n % 2 === 0 ? "search" : "book" }));
        const latest = await store.latest(run(1));
        assert.equal(latest?.id, id(n), "latest() of equal times must be the last saved, or a resume repeats nodes");
      }
      assert.equal((await store.load(run(1), "book"))?.id, id(3), "load() of equal timestamps must be the last saved");
    },
  },
  "agentos/list-of-equal-times": {
    ours: "the documents say nothing, and the first of the list should be the latest",
    title: "lists checkpoints of the same time in the reverse order of their saves",
    async checkStore(store) {
      const numbers = [3, 1, 4, 0, 2];
      for (const n of numbers) await store.save(checkpoint({ id: id(n), runId: run(n % 2) }));
      assert.deepEqual(ids(await store.list(graph)), numbers.toReversed().map(id));
    },
  },
  "agentos/save-again-is-newest": {
    ours: "a checkpoint that is saved again is the most recently persisted one",
    title: "counts a checkpoint as saved last among equal times after it was saved again",
    async checkStore(store) {
      for (const n of [1, 2, 3, 1]) await store.save(checkpoint({ id: id(n) }));
      assert.equal((await store.latest(run(1)))?.id, id(1));
      assert.deepEqual(ids(await store.list(graph)), [id(1), id(3), id(2)]);
    },
  },
  "agentos/fractions": {
    should: own("compares numbers, and `timestamp` is any number: performance.now() has fractions"),
    title: "keeps fractions of milliseconds, and goes by them",
    async checkStore(store) {
      await saveAll(store, ...atRuns(time + 0.75, time + 0.25, time + 0.5));
      const listed = (await store.list(graph)).map(({ timestamp }) => timestamp - time);
      assert.deepEqual(listed, [0.75, 0.5, 0.25]);
    },
  },
  "agentos/limit": {
    must: type("ICheckpointStore.list options.limit: maximum number of entries, most-recent-first"),
    title: "lists the newest checkpoints up to the limit, of the run if one is given",
    async checkStore(store) {
      for (const n of [1, 0, 3, 2, 5, 4])
        await store.save(checkpoint({ id: id(n), timestamp: time + n, runId: run(n % 2) }));
      assert.deepEqual(ids(await store.list(graph, { limit: 2 })), [5, 4].map(id));
      assert.deepEqual(ids(await store.list(graph, { limit: 6 })), [5, 4, 3, 2, 1, 0].map(id));
      assert.deepEqual(ids(await store.list(graph, { limit: 50 })), [5, 4, 3, 2, 1, 0].map(id));
      const limited = ids(await store.list(graph, { limit: 2, runId: run(0) }));
      assert.deepEqual(limited, [4, 2].map(id), "the limit counts the checkpoints of the run, not of the graph");
    },
  },
  "agentos/no-default-limit": {
    should: type("ICheckpointStore.list: metadata for all checkpoints belonging to a graph"),
    title: "lists all checkpoints of a graph if no limit is given",
    async checkStore(store) {
      await Promise.all(
        Array.from({ length: 120 }, (_, n) => store.save(checkpoint({ id: id(n), timestamp: time + n }))),
      );
      assert.equal((await store.list(graph)).length, 120, "list() without a limit must list all 120 checkpoints");
      assert.equal((await store.list(graph, { runId: run(1) })).length, 120, "list() of a run must list all 120");
    },
  },
  "agentos/limit-of-zero": {
    should: own("applies a limit only if it is above 0"),
    title: "lists all checkpoints if the limit is undefined, 0 or negative",
    async checkStore(store) {
      await saveAll(store, ...at(time, time + 1, time + 2));
      for (const limit of [undefined, 0, -1]) {
        // JavaScript passes such options without complaint.
        const listed = await store.list(graph, { limit } as { limit: number });
        assert.deepEqual(ids(listed), [2, 1, 0].map(id), `list() with the limit ${limit} must list all`);
      }
    },
  },
});
