// Other processes: what they read, races between them, and kills.
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { expectations } from "../../suite/expectations.js";
import { killed, race } from "../../suite/processes.js";
import { at, get, ids, key, load, nothingLost, parsed, persist, snapshot, step, suspended } from "./helpers.js";
import { numbered } from "./programs.js";
import type { Store } from "./store.js";

const restart =
  "documented: https://mastra.ai/docs/workflows/snapshots (a run is resumed from storage, in any process)";
const atOnce = "documented: supportsConcurrentUpdates of WorkflowsStorage and the type UpdateWorkflowStateOptions";

/** Calls that store the results of 10 steps of the run `r`. */
const results = (name: string) =>
  Array.from({ length: 10 }, (_, n) => [
    "updateWorkflowResults",
    { ...key, stepId: `${name}${n}`, result: step(n), requestContext: { [`${name}${n}`]: n } },
  ]);

/** Calls that begin 10 runs. */
const begins = (name: string) =>
  Array.from({ length: 10 }, (_, n) => [
    "persistWorkflowSnapshot",
    { workflowName: "w", runId: `${name}${n}`, snapshot: suspended() },
  ]);

export const restarts = expectations<Store>("restart", {
  "mastra/restart-reads-a-run": {
    must: restart,
    title: "returns in another process what was persisted, with its dates and its resource",
    async check(trial) {
      const run = { ...key, resourceId: "u", snapshot: suspended(), createdAt: at(1), updatedAt: at(2) };
      await trial.child("call", [["persistWorkflowSnapshot", run]]).result();
      const [loaded, listed] = await trial
        .child("call", [
          ["loadWorkflowSnapshot", key],
          ["listWorkflowRuns", { status: "suspended", resourceId: "u" }],
        ])
        .result();
      assert.deepEqual(loaded, suspended());
      assert.equal(listed.total, 1);
      const { resourceId, createdAt, updatedAt } = await get(await trial.store());
      assert.deepEqual([resourceId, createdAt, updatedAt], ["u", at(1), at(2)]);
    },
  },
  "mastra/restart-resumes-a-run": {
    must: restart,
    title: "resumes in another process a run that was suspended in one, with the results of both",
    async check(trial) {
      const claim = { ...key, opts: { status: "running", expectedStatus: "suspended" } };
      const sent = { ...key, stepId: "send", result: step("sent"), requestContext: { by: "second" } };
      await trial.child("call", [["persistWorkflowSnapshot", { ...key, snapshot: suspended() }]]).result();
      const [claimed] = await trial
        .child("call", [
          ["updateWorkflowState", claim],
          ["updateWorkflowResults", sent],
        ])
        .result();
      assert.equal(claimed?.status, "running", "the second process gets the run");
      const store = await trial.store();
      assert.equal(await store.updateWorkflowState(claim), undefined, "the third one does not");
      const { context, requestContext, status } = await load(store);
      assert.deepEqual(context, { ...suspended().context, send: step("sent") });
      assert.deepEqual([requestContext.tenant, requestContext.by, status], ["t-1", "second", "running"]);
    },
  },
  "mastra/restart-keeps-deletions": {
    must: "documented: the type of WorkflowsStorage.deleteWorkflowRunById",
    title: "has deleted in all processes what one has deleted",
    async check(trial) {
      const runs = ["a", "b", "c"].map((runId) => ["persistWorkflowSnapshot", { ...key, runId, snapshot: snapshot() }]);
      await trial.child("call", [...runs, ["deleteWorkflowRunById", { ...key, runId: "b" }]]).result();
      assert.deepEqual((await ids(await trial.store())).toSorted(), ["a", "c"]);
    },
  },
});

export const races = expectations<Store>("race", {
  "mastra/processes-see-each-other": {
    must: "framework: a server reads the run that another one has just suspended or resumed",
    title: "returns at once what another process has stored, however long the store has been open",
    async checkStore(store, trial) {
      await persist(store);
      assert.equal((await load(store)).status, "running");
      const child = trial.child("serve");
      await child.next();
      const call = async (...args: unknown[]) => {
        child.tell(args);
        return await child.next();
      };
      for (const status of ["waiting", "suspended", "failed"]) {
        await call("updateWorkflowState", { ...key, opts: { status } });
        assert.equal((await load(store)).status, status, "what the child has stored");
        assert.equal(parsed(await get(store)).status, status, "the same of getWorkflowRunById");
        await persist(store, { snapshot: snapshot({ status: `${status}?` }) });
        assert.equal((await call("loadWorkflowSnapshot", key)).status, `${status}?`, "what the child reads");
      }
      await call("deleteWorkflowRunById", key);
      assert.equal(await load(store), null, "what the child has deleted");
    },
  },
  "mastra/race-of-results": {
    must: atOnce,
    title: "keeps all results of steps that end in two processes at the same time",
    async checkStore(store, trial) {
      await persist(store);
      await race(trial, ["race", results("a")], ["race", results("b")]);
      const { context, requestContext } = await load(store);
      const all = ["a", "b"].flatMap((name) => Array.from({ length: 10 }, (_, n) => `${name}${n}`));
      const kept = all.filter((id) => id in context && id in requestContext).length;
      nothingLost(trial, store, "results kept of 20 steps in two processes", kept, 20);
    },
  },
  "mastra/race-of-claims": {
    must: atOnce,
    title: "gives each suspended run to one of two processes that claim it at the same time",
    async checkStore(store, trial) {
      const runs = Array.from({ length: 10 }, (_, n) => ({ workflowName: "w", runId: `r${n}` }));
      for (const run of runs) await persist(store, { ...run, snapshot: suspended() });
      const opts = { status: "running", expectedStatus: "suspended" };
      const claims = runs.map((run) => ["updateWorkflowState", { ...run, opts }]);
      const [first, second] = await race<boolean[]>(trial, ["race", claims], ["race", claims]);
      const neither = runs.filter((_, n) => !first![n] && !second![n]);
      assert.deepEqual(neither, [], "one process must get the run");
      const once = runs.filter((_, n) => first![n] !== second![n]).length;
      nothingLost(trial, store, "runs of 10 that only one of two processes has got", once, 10);
    },
  },
  "mastra/race-of-runs": {
    should: "framework: several servers run workflows on one storage",
    title: "keeps all runs that two processes begin at the same time in an empty store",
    async check(trial) {
      await race(trial, ["race", begins("a")], ["race", begins("b")]);
      const { runs, total } = await (await trial.store()).listWorkflowRuns();
      assert.equal(total, 20);
      for (const run of runs) assert.deepEqual(parsed(run), suspended());
    },
  },
});

export const kills = expectations<Store>("kill", {
  "mastra/kill-keeps-snapshots": {
    should: "framework: the engine goes on, or lets the process end, once a snapshot is persisted",
    title: "keeps every snapshot that was persisted before the process is killed",
    async check(trial) {
      const said = [await killed(trial, "persistMany", "r0"), await killed(trial, "persistMany", "r1")];
      const store = await trial.store();
      for (const [n, numbers] of said.entries()) {
        const found = await store.loadWorkflowSnapshot({ workflowName: "w", runId: `r${n}` });
        const last = numbers.at(-1)!;
        assert(
          found?.context.input.n >= last,
          `snapshot ${last} was acknowledged before the kill, and the newest one is ${found?.context.input.n}`,
        );
      }
    },
  },
  "mastra/kill-leaves-no-half-snapshot": {
    must: `${restart}, and half a snapshot can't be resumed`,
    title: "returns a complete snapshot after a process is killed while it persists one",
    async check(trial) {
      await killed(trial, "persistMany", "r0");
      await killed(trial, "persistMany", "r1");
      const store = await trial.store();
      for (const runId of ["r0", "r1"]) {
        const found = await store.loadWorkflowSnapshot({ workflowName: "w", runId });
        const wanted = numbered(runId, found?.context?.input?.n);
        assert(isDeepStrictEqual(found, wanted), `the newest snapshot of ${runId} is none that was persisted`);
      }
    },
  },
  "mastra/kill-keeps-results": {
    should: "framework: the evented engine starts the next step once a result is stored",
    title: "keeps every result of a step that was stored before the process is killed",
    async check(trial) {
      const said = await killed(trial, "finishMany");
      const found = await load(await trial.store());
      assert(found, "the run was persisted before the kill");
      for (const n of said)
        assert.deepEqual(found.context[`s${n}`], step(n), `the step ${n} was acknowledged before the kill`);
    },
  },
  "mastra/kill-leaves-no-half-result": {
    must: "framework: updateWorkflowResults is one change of the result and the request context",
    title: "stores a result of a step with its request context, or neither, when the process is killed",
    async check(trial) {
      await killed(trial, "finishMany");
      const { context, requestContext } = await load(await trial.store());
      const { input: _, ...steps } = context;
      assert.deepEqual(Object.keys(steps).toSorted(), Object.keys(requestContext ?? {}).toSorted());
    },
  },
  "mastra/kill-keeps-deletions": {
    should: "ours: a user who was told that a run is deleted finds it deleted",
    title: "keeps every deletion that was acknowledged before the process is killed",
    async check(trial) {
      const said = await killed(trial, "deleteMany", 20);
      const left = await ids(await trial.store());
      for (const n of said) assert(!left.includes(`r${n}`), `the run ${n} was deleted before the kill`);
    },
  },
});
