// The updates of the evented engine: the result of a step, and the state of a run.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import { at, finish, get, key, load, nothingLost, persist, snapshot, step, suspended } from "./helpers.js";
import type { Store } from "./store.js";

const merging = "framework: mergeWorkflowStepResult, which @mastra/core exports for stores";
const guard = "documented: expectedStatus of the type UpdateWorkflowStateOptions";
const atOnce = "documented: supportsConcurrentUpdates of WorkflowsStorage and the type UpdateWorkflowStateOptions";

/** The mark of an item of a foreach that runs again. */
const pending = { __mastra_pending__: true };

export const updates = expectations<Store>("contract", {
  "mastra/results-add-a-step": {
    must: merging,
    title: "adds the result of a step to the snapshot, and changes nothing else of the run",
    async checkStore(store) {
      await persist(store, { resourceId: "u", createdAt: at(0), snapshot: suspended() });
      await finish(store, "send", step({ sent: true }));
      const before = suspended();
      const wanted = { ...before, context: { ...before.context, send: step({ sent: true }) } };
      assert.deepEqual(await load(store), wanted);
      const { resourceId, createdAt } = await get(store);
      assert.deepEqual([resourceId, createdAt], ["u", at(0)]);
    },
  },
  "mastra/results-replace-a-step": {
    must: merging,
    title: "replaces the earlier result of a step",
    async checkStore(store) {
      await persist(store, { snapshot: suspended() });
      await finish(store, "approve", step({ approved: true }));
      assert.deepEqual((await load(store)).context.approve, step({ approved: true }));
    },
  },
  "mastra/results-return-the-context": {
    must: "framework: the evented engine goes on with the results that updateWorkflowResults returns",
    title: "returns the results of all steps, with the new one",
    async checkStore(store) {
      await persist(store, { snapshot: suspended() });
      const context = await finish(store, "send", step({ sent: true }));
      assert.deepEqual(context, { ...suspended().context, send: step({ sent: true }) });
    },
  },
  "mastra/results-merge-the-request-context": {
    must: merging,
    title: "merges the request context into that of the snapshot",
    async checkStore(store) {
      await persist(store, { snapshot: suspended() });
      await finish(store, "send", step({}), { tenant: "t-2", extra: { deep: [1] } });
      const wanted = { tenant: "t-2", roles: ["a", "b"], extra: { deep: [1] } };
      assert.deepEqual((await load(store)).requestContext, wanted);
    },
  },
  "mastra/results-of-foreach": {
    must: merging,
    title: "keeps the results of other items of a foreach: null means that an item has no result yet",
    async checkStore(store) {
      await persist(store);
      await finish(store, "each", step(["a", null, null]));
      await finish(store, "each", step([null, "b"]));
      const { each } = await finish(store, "each", { ...step([null, null, null, null]), endedAt: 9 });
      assert.deepEqual(each, { ...step(["a", "b", null, null]), endedAt: 9 });
      assert.deepEqual((await load(store)).context.each, each);
    },
  },
  "mastra/results-of-foreach-again": {
    must: merging,
    title: "takes back the results of suspended items of a foreach that run again, and no others",
    async checkStore(store) {
      await persist(store);
      const waits = { status: "suspended", suspendPayload: { ask: 1 } };
      await finish(store, "each", step(["a", waits, waits]));
      const { each } = await finish(store, "each", { ...step([pending, pending, null]), status: "running" });
      assert.deepEqual(each.output, ["a", null, waits]);
      assert.equal(each.status, "success", "a result with pending items changes only the output");
    },
  },
  "mastra/results-of-an-unknown-run": {
    should: "framework: the evented engine also stores results of runs that shouldPersistSnapshot leaves out",
    title: "accepts the result of a step of a run that does not exist",
    async checkStore(store) {
      const context = await finish(store, "a", step(1));
      assert(
        context !== null && typeof context === "object",
        "the engine reads the keys of what updateWorkflowResults returns: {} for a run that is not stored",
      );
    },
  },
  "mastra/results-make-no-run": {
    ours: "a run without a graph and an input can't be resumed (InMemoryStore makes none, LibSQLStore does)",
    title: "makes no run of the result of a step",
    async checkStore(store) {
      await finish(store, "a", step(1));
      assert.equal(await load(store), null);
      assert.deepEqual(await store.listWorkflowRuns(), { runs: [], total: 0 });
    },
  },
  "mastra/results-move-updated-at": {
    should: "documented: https://mastra.ai/reference/storage/retention (updatedAt measures inactivity)",
    title: "moves updatedAt when the result of a step is stored",
    async checkStore(store) {
      await persist(store, { createdAt: at(0), updatedAt: at(0) });
      await finish(store, "a", step(1));
      assert((await get(store)).updatedAt > at(60), "a run whose steps end would be pruned as inactive");
    },
  },
  "mastra/state-changes": {
    must: "documented: the type of WorkflowsStorage.updateWorkflowState",
    title: "changes the given fields of a snapshot as a whole, and returns the new snapshot",
    async checkStore(store) {
      await persist(store, { resourceId: "u", createdAt: at(0), snapshot: suspended() });
      const opts = { status: "success", result: step({ done: true }), suspendedPaths: {}, activePaths: [2] };
      const changed = await store.updateWorkflowState({ ...key, opts });
      assert.deepEqual(changed, { ...suspended(), ...opts });
      assert.deepEqual(await load(store), changed, "it is stored, too");
      const { resourceId, createdAt } = await get(store);
      assert.deepEqual([resourceId, createdAt], ["u", at(0)]);
    },
  },
  "mastra/state-of-an-unknown-run": {
    must: "framework: resume() takes undefined as a claim that is lost, and then looks for the run",
    title: "returns undefined for the state of a run that does not exist, and makes no run",
    async checkStore(store) {
      assert.equal(await store.updateWorkflowState({ ...key, opts: { status: "running" } }), undefined);
      assert.equal(await load(store), null);
    },
  },
  "mastra/state-if-expected": {
    must: guard,
    title: "changes the state of a run whose status is the expected one, or one of them",
    async checkStore(store) {
      await persist(store, { snapshot: suspended() });
      const claim = { status: "running", expectedStatus: "suspended" };
      assert.equal((await store.updateWorkflowState({ ...key, opts: claim }))?.status, "running");
      const end = { status: "success", expectedStatus: ["waiting", "running"] };
      assert.equal((await store.updateWorkflowState({ ...key, opts: end }))?.status, "success");
      assert.equal((await load(store)).status, "success");
    },
  },
  "mastra/state-unless-expected": {
    must: guard,
    title: "changes nothing and returns undefined if the status of a run is not the expected one",
    async checkStore(store) {
      await persist(store, { snapshot: suspended() });
      for (const expectedStatus of ["running", ["running", "pending"], []]) {
        const opts = { status: "success", expectedStatus, activePaths: [9] };
        assert.equal(await store.updateWorkflowState({ ...key, opts }), undefined, `expected ${expectedStatus}`);
        assert.deepEqual(await load(store), suspended());
      }
    },
  },
  "mastra/state-without-expected-status": {
    must: `${guard} ("never merged into the persisted snapshot")`,
    title: "does not store the expected status",
    async checkStore(store) {
      await persist(store, { snapshot: suspended() });
      const opts = { status: "running", expectedStatus: "suspended" };
      const changed = await store.updateWorkflowState({ ...key, opts });
      assert(!("expectedStatus" in changed), "not in the snapshot that is returned");
      assert(!("expectedStatus" in (await load(store))), "not in the snapshot that is stored");
    },
  },
  "mastra/state-moves-updated-at": {
    should: "documented: https://mastra.ai/reference/storage/retention (updatedAt measures inactivity)",
    title: "moves updatedAt when the state of a run changes",
    async checkStore(store) {
      await persist(store, { createdAt: at(0), updatedAt: at(0), snapshot: suspended() });
      await store.updateWorkflowState({ ...key, opts: { status: "running" } });
      assert((await get(store)).updatedAt > at(60), "a run that has just been resumed would be pruned as inactive");
    },
  },
  "mastra/concurrent-updates": {
    should: "framework: without it, a run that is resumed twice runs twice, and workflows with a schedule do not run",
    title: "says that it supports concurrent updates",
    checkStore: async (store) => assert.equal(store.supportsConcurrentUpdates(), true),
  },
  "mastra/parallel-results": {
    must: atOnce,
    title: "keeps the results of 20 steps that end at the same time",
    async checkStore(store, trial) {
      await persist(store);
      const all = Array.from({ length: 20 }, (_, n) => `s${n}`);
      await Promise.all(all.map((id) => finish(store, id, step(id), { [id]: id })));
      const { context, requestContext } = await load(store);
      const kept = all.filter((id) => context[id]?.output === id && requestContext?.[id] === id);
      nothingLost(trial, store, "results kept of 20 parallel steps", kept.length, 20);
    },
  },
  "mastra/parallel-states": {
    must: atOnce,
    title: "keeps a result and several changes of a state that happen at the same time",
    async checkStore(store, trial) {
      await persist(store);
      const fields = ["activePaths", "stepExecutionPath", "serializedStepGraph"];
      const change = (field: string) =>
        store.updateWorkflowState({ ...key, opts: { status: "running", [field]: [field] } });
      await Promise.all([...fields.map(change), finish(store, "a", step(1)), ...fields.map(change)]);
      const loaded = await load(store);
      const kept = fields.filter((field) => loaded[field]?.[0] === field).length + ("a" in loaded.context ? 1 : 0);
      nothingLost(trial, store, "changes kept of 4 parallel ones", kept, 4);
    },
  },
  "mastra/parallel-claims": {
    must: atOnce,
    title: "gives a suspended run to one of 10 callers that claim it at the same time",
    async checkStore(store, trial) {
      await persist(store, { snapshot: snapshot({ status: "suspended" }) });
      const opts = { status: "running", expectedStatus: "suspended" };
      const claims = await Promise.all(Array.from({ length: 10 }, () => store.updateWorkflowState({ ...key, opts })));
      const refused = claims.filter((claim) => claim === undefined).length;
      assert(refused < 10, "one caller must get the run");
      nothingLost(trial, store, "claims refused of 9 too many", refused, 9);
    },
  },
});
