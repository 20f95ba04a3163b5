// A process is killed while it saves.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import { killed } from "../../suite/processes.js";
import type { Store } from "./store.js";
import { graph, id, ids, none, run, same, saveAll } from "./checkpoints.js";
import { step, version } from "./steps.js";
import { guide, type } from "./sources.js";

export const kill = expectations<Store>("kill", {
  "agentos/kill-keeps-saves": {
    must: guide("Checkpoint Policies: persist after every node completes. Maximum durability"),
    title: "keeps every checkpoint whose `save` has resolved before the process is killed",
    async check(trial) {
      const said: number[] = await killed(trial, "saveSteps");
      const store = await trial.store();
      for (const n of said) same(await store.get(id(n)), step(n), `step ${n}, which was saved before the kill,`);
      const latest = await store.latest(run(1));
      assert.ok(latest!.state.scratch.n >= said.at(-1)!, "latest() is older than the last checkpoint that was saved");
    },
  },
  "agentos/kill-leaves-no-half": {
    must: type("Checkpoint: a complete snapshot"),
    title: "has only complete checkpoints after the process was killed in a `save`",
    async check(trial) {
      for (let times = 0; times < 2; times++) {
        await killed(trial, "saveSteps");
        const store = await trial.store();
        const listed = await store.list(graph);
        for (const { id: found, nodeId } of listed) {
          const n = Number(nodeId.replace("node-", ""));
          assert.equal(found, id(n), "list() shows the node of another checkpoint");
          same(await store.get(found), step(n), `step ${n}, which a killed process has saved,`);
        }
        const latest = await store.latest(run(1));
        assert.ok(latest && ids(listed).includes(latest.id), "latest() after the kill must be one of the list");
        same(latest, step(latest.state.scratch.n), "latest() after the kill");
      }
    },
  },
  "agentos/kill-leaves-it-usable": {
    should: guide("Resuming a Run: resume after crash"),
    title: "can be opened and saved to after a process was killed in a `save`",
    async check(trial) {
      await killed(trial, "saveSteps");
      const store = await trial.store();
      const next = step(5_000);
      await store.save(next);
      same(await store.latest(run(1)), next, "latest() after a save that follows the kill");
    },
  },
  "agentos/kill-in-save-again": {
    should: type("ICheckpointStore.save: overwritten, so there is always the old or the new version"),
    title: "has a complete version of a checkpoint when the process is killed while it saves it again",
    async check(trial) {
      const said: number[] = await killed(trial, "saveVersions");
      const found = await (await trial.store()).get(id(0));
      assert.ok(found, "a checkpoint is gone because its replacement was interrupted");
      const { n } = found.state.scratch;
      assert.ok(n >= said.at(-1)!, `version ${said.at(-1)} was saved before the kill, and version ${n} is stored`);
      same(found, version("child", n), "the version that is stored");
    },
  },
  "agentos/kill-keeps-forks": {
    should: type("ICheckpointStore.fork: persists the new checkpoint, and returns the new `runId`"),
    title: "keeps every fork whose run was returned before the process is killed, and no half of one",
    async check(trial) {
      const first = await trial.store();
      await first.save(step(0));
      const said: Array<{ n: number; runId: string }> = await killed(trial, "forkSteps");
      const store = await trial.store();
      const { state, nodeResults, visitedNodes } = step(0);
      for (const { n, runId } of said)
        assert.equal((await store.latest(runId))?.state.scratch.n, n, `fork ${n} was returned before the kill`);
      for (const one of await store.list(graph)) {
        const found = await store.get(one.id);
        assert.ok(found, "list() shows a checkpoint that get() does not find");
        assert.deepEqual(
          [found.state.input, found.nodeResults, found.visitedNodes],
          [state.input, nodeResults, visitedNodes],
        );
        assert.equal((await store.latest(one.runId))?.id, one.id, "latest() must find what list() shows");
      }
    },
  },
  "agentos/kill-keeps-deletes": {
    should: type("ICheckpointStore.delete: permanently removes a checkpoint"),
    title: "does not bring back what was deleted before the process is killed, and keeps the other checkpoints",
    async check(trial) {
      const first = await trial.store();
      const steps = Array.from({ length: 40 }, (_, n) => step(n));
      await saveAll(first, ...steps);
      const said: number[] = await killed(trial, "deleteSteps", { from: 3 });
      const store = await trial.store();
      for (const n of said) none(await store.get(id(n)), `step ${n}, which was deleted before the kill,`);
      const left = ids(await store.list(graph));
      for (const n of [0, 1, 2]) same(await store.get(id(n)), steps[n]!, `step ${n}, which was not deleted,`);
      for (const found of left) assert.ok(await store.get(found), "list() shows a checkpoint that get() does not find");
    },
  },
});
