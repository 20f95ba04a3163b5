// Other processes: what is read after a restart, and races.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import { race } from "../../suite/processes.js";
import type { Store } from "./store.js";
import { checkpoint, graph, id, ids, none, run, same, saveAll, time } from "./checkpoints.js";
import { version } from "./steps.js";
import { guide, type } from "./sources.js";

export const restarts = expectations<Store>("restart", {
  "agentos/reopen": {
    must: guide("Custom Backend: any durable backend, and Resuming a Run: resume after crash"),
    title: "still has every checkpoint and fork after it was closed and opened again",
    async check(trial) {
      const first = await trial.store();
      const steps = [0, 1, 2].map((n) => checkpoint({ id: id(n), nodeId: `node-${n}`, timestamp: time + n }));
      await saveAll(first, ...steps);
      const forkedRun = await first.fork(id(1), { scratch: { confidence: 0.95 } });
      const forked = (await first.latest(forkedRun))!;
      const listed = await first.list(graph);
      const store = await trial.reopen();
      for (const one of steps) same(await store.get(one.id), one, "get() after reopening");
      same(await store.latest(run(1)), steps[2]!, "latest() after reopening");
      same(await store.load(run(1), "node-1"), steps[1]!, "load() after reopening");
      same(await store.latest(forkedRun), forked, "latest() of a fork after reopening");
      assert.deepEqual(await store.list(graph), listed, "list() after reopening");
    },
  },
  "agentos/other-process": {
    must: guide("Resuming a Run: resume after crash / human approval / timeout"),
    title: "reads in another process what was saved in this one",
    async checkStore(store, trial) {
      const steps = [0, 1].map((n) => checkpoint({ id: id(n), nodeId: `node-${n}`, timestamp: time + n }));
      await saveAll(store, ...steps);
      const input = { checkpointId: id(0), runId: run(1), nodeId: "node-0" };
      const { got, latest, loaded, listed } = await trial.child("read", input).result();
      same(got, steps[0]!, "get() in another process");
      same(latest, steps[1]!, "latest() in another process");
      same(loaded, steps[0]!, "load() in another process");
      assert.deepEqual(ids(listed), [1, 0].map(id));
    },
  },
  "agentos/sees-others": {
    should: "ours: a person answers in one process, and another one resumes the run",
    title: "sees what another process saves while it is open",
    async checkStore(store, trial) {
      const [first, second] = [checkpoint(), checkpoint({ id: id(2), timestamp: time + 1, nodeId: "book" })];
      await store.save(first);
      same(await store.latest(run(1)), first, "latest()");
      await trial.child("save", [second]).result();
      same(await store.latest(run(1)), second, "latest() after another process has saved");
      same(await store.get(id(2)), second, "get() of what another process has saved");
      assert.deepEqual(ids(await store.list(graph)), [2, 1].map(id));
    },
  },
  "agentos/reopen-order": {
    should: type("ICheckpointStore.latest: the most recently persisted checkpoint, also after a restart"),
    title: "returns the last saved of equal times from `latest` also after it was opened again",
    async checkStore(store, trial) {
      await saveAll(store, ...[4, 2, 9].map((n) => checkpoint({ id: id(n) })));
      const again = await trial.reopen();
      assert.equal((await again.latest(run(1)))?.id, id(9), "latest() of equal timestamps after reopening");
      await saveAll(again, ...[3, 1].map((n) => checkpoint({ id: id(n) })));
      assert.equal((await again.latest(run(1)))?.id, id(1), "latest() after another save must be the last saved");
      const third = await trial.reopen();
      assert.equal((await third.latest(run(1)))?.id, id(1), "latest() of equal timestamps after reopening again");
    },
  },
  "agentos/reopen-deleted": {
    must: type("ICheckpointStore.delete: permanently removes a checkpoint"),
    title: "does not bring a deleted checkpoint back when it is opened again",
    async check(trial) {
      const first = await trial.store();
      await saveAll(first, ...[1, 2].map((n) => checkpoint({ id: id(n), timestamp: time + n })));
      await first.delete(id(2));
      const store = await trial.reopen();
      none(await store.get(id(2)), "get() of a deleted checkpoint after reopening");
      assert.deepEqual(ids(await store.list(graph)), [id(1)]);
    },
  },
});

export const races = expectations<Store>("race", {
  "agentos/race-of-saves": {
    should: "ours: a `save` that has resolved is stored, while other processes save too",
    title: "loses no checkpoint when two processes save to one run at once",
    async checkStore(store, trial) {
      await store.list(graph);
      await race(trial, ["raceSaves", { by: 1, count: 25 }], ["raceSaves", { by: 2, count: 25 }]);
      const found = ids(await store.list(graph)).toSorted();
      const saved = [1, 2].flatMap((by) => Array.from({ length: 25 }, (_, n) => id(by * 1_000 + n)));
      assert.equal(found.length, saved.length, "the number of checkpoints that are listed");
      assert.deepEqual(found, saved);
    },
  },
  "agentos/race-has-one-order": {
    ours: "all processes must agree on the latest checkpoint",
    title:
      "tells every process the same order of checkpoints of one time, each process's own in the order of its saves",
    async checkStore(store, trial) {
      await store.list(graph);
      await race(trial, ["raceSaves", { by: 1, count: 15 }], ["raceSaves", { by: 2, count: 15 }]);
      const here = ids(await store.list(graph));
      const there = await trial.child("list").result();
      assert.deepEqual(here, there, "two processes see the checkpoints in different orders");
      for (const by of [1, 2]) {
        const mine = here.filter((one) => one >= id(by * 1_000) && one < id((by + 1) * 1_000));
        assert.deepEqual(mine, mine.toSorted().toReversed(), "the saves of a process are not in the order of calls");
      }
    },
  },
  "agentos/race-of-one-id": {
    should: type("ICheckpointStore.save: a checkpoint with the same `id` is overwritten, as a whole"),
    title: "has one complete checkpoint after two processes have saved the same id at once",
    async checkStore(store, trial) {
      await store.list(graph);
      await race(trial, ["raceVersions", { by: "one", count: 25 }], ["raceVersions", { by: "other", count: 25 }]);
      const found = await store.get(id(0));
      const by = found?.nodeId ?? "";
      assert.ok(["one", "other"].includes(by), `get() returns a checkpoint that nobody has saved, of ${by}`);
      same(found, version(by, 24), "what two processes have saved must be the last version of one of them");
      assert.deepEqual(ids(await store.list(graph)), [id(0)], "what two processes have saved is listed once");
      same(await store.latest(run(1)), found, "latest() must be the same as get()");
    },
  },
  "agentos/race-of-forks": {
    should: type("ICheckpointStore.fork: assigns a fresh `runId` and checkpoint `id`"),
    title: "makes a run of its own for each fork when two processes fork one checkpoint at once",
    async checkStore(store, trial) {
      const source = checkpoint();
      await store.save(source);
      const inputs = ["one", "other"].map((by) => ({ by, count: 15 }));
      const results = await race(trial, ["raceForks", inputs[0]], ["raceForks", inputs[1]]);
      assert.equal(new Set(results.flat()).size, 30, "30 forks must have 30 runs");
      const again = await trial.reopen();
      for (const [at, by] of ["one", "other"].entries())
        for (const [n, runId] of (results[at] as string[]).entries()) {
          const { scratch } = (await again.latest(runId))?.state ?? {};
          assert.deepEqual([scratch?.by, scratch?.n], [by, n], "a fork has the patch of another one, or is lost");
        }
      same(await again.get(id(1)), source, "the checkpoint that was forked");
    },
  },
});
