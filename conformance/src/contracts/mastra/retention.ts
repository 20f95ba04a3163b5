// Deletion and pruning.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import { at, finish, get, ids, key, load, persist, snapshot, step, suspended } from "./helpers.js";
import type { Store } from "./store.js";

const page = "https://mastra.ai/reference/storage/retention";

/** A run is old if it was last updated in 2023. */
const policies = { workflowSnapshot: { maxAge: "30d" } };

export const retention = expectations<Store>("retention", {
  "mastra/delete": {
    must: "documented: the type of WorkflowsStorage.deleteWorkflowRunById",
    title: "deletes a run, and no other one",
    async checkStore(store) {
      for (const runId of ["r", "other"]) await persist(store, { runId, resourceId: "u" });
      await store.deleteWorkflowRunById(key);
      assert.equal(await load(store), null);
      assert.equal(await store.getWorkflowRunById({ runId: "r" }), null);
      assert.deepEqual(await store.listWorkflowRuns({ resourceId: "u" }).then(({ total }) => total), 1);
      assert.deepEqual(await ids(store), ["other"]);
    },
  },
  "mastra/delete-unknown": {
    must: "framework: the loop of an agent deletes the run of a workflow that it may never have persisted",
    title: "deletes a run that does not exist without a word",
    async checkStore(store) {
      await persist(store);
      await store.deleteWorkflowRunById({ ...key, runId: "unknown" });
      await store.deleteWorkflowRunById({ ...key, workflowName: "unknown" });
      assert.deepEqual(await load(store), snapshot());
    },
  },
  "mastra/delete-and-begin-again": {
    should: "framework: both of its stores delete the row with its dates and its resource",
    title: "begins a run of a deleted id without anything of the deleted one",
    async checkStore(store) {
      await persist(store, { resourceId: "u", snapshot: suspended(), createdAt: at(0), updatedAt: at(0) });
      await store.deleteWorkflowRunById(key);
      // The framework looks for a run before it begins it.
      assert.equal(await load(store), null);
      await persist(store);
      const run = await get(store);
      assert.equal(run.resourceId ?? undefined, undefined, "the resource");
      assert(run.createdAt > at(60), "createdAt");
      assert.deepEqual(await load(store), snapshot());
    },
  },
  "mastra/deleted-stays-deleted": {
    ours: "a step that ends late must not bring back a run without its input and its graph",
    title: "brings no deleted run back when one of its steps ends",
    async checkStore(store) {
      await persist(store, { snapshot: suspended() });
      await store.deleteWorkflowRunById(key);
      await finish(store, "s", step(1)).catch(() => {});
      await store.updateWorkflowState({ ...key, opts: { status: "running" } });
      assert.equal(await load(store), null);
    },
  },
  "mastra/clear": {
    must: "documented: StorageDomain.dangerouslyClearAll",
    title: "deletes all runs with dangerouslyClearAll, and takes new ones",
    async checkStore(store) {
      for (let n = 0; n < 5; n++) await persist(store, { workflowName: `w${n % 2}`, runId: `r${n}` });
      await store.dangerouslyClearAll();
      assert.deepEqual(await store.listWorkflowRuns(), { runs: [], total: 0 });
      assert.equal(await store.loadWorkflowSnapshot({ workflowName: "w0", runId: "r0" }), null);
      await persist(store, { snapshot: suspended() });
      assert.deepEqual(await load(store), suspended());
    },
  },
  "mastra/prune": {
    should: `documented: ${page} (workflowSnapshot by updatedAt; a store without retention inherits a prune that does nothing)`,
    title: "prunes the runs that were last updated before maxAge, whatever their age and their status are",
    async checkStore(store) {
      await persist(store, { runId: "old", createdAt: at(0), updatedAt: at(0), snapshot: suspended() });
      await persist(store, { runId: "older", createdAt: at(-9), updatedAt: at(-9) });
      await persist(store, { runId: "active", createdAt: at(0), updatedAt: new Date() });
      const [first, ...others] = await store.prune(policies);
      assert.deepEqual(others, [], "one result for the one table of the domain");
      assert.deepEqual([first?.deleted, first?.done], [2, true]);
      assert.deepEqual(await ids(store), ["active"]);
    },
  },
  "mastra/prune-in-parts": {
    should: `documented: ${page}#pruneoptions`,
    title: "prunes no more than maxRows runs or maxBatches batches, and says that more is left",
    async checkStore(store) {
      for (let n = 0; n < 7; n++) await persist(store, { runId: `r${n}`, createdAt: at(n), updatedAt: at(n) });
      const left = async () => (await store.listWorkflowRuns()).total;
      const [rows] = await store.prune(policies, { maxRows: 2 });
      assert.deepEqual([rows?.deleted, rows?.done, await left()], [2, false, 5], "maxRows: 2");
      const small = { workflowSnapshot: { maxAge: 1, batchSize: 3 } };
      const [batches] = await store.prune(small, { maxBatches: 1 });
      assert.deepEqual([batches?.deleted, batches?.done, await left()], [3, false, 2], "maxBatches: 1 of 3 runs");
      const [rest] = await store.prune(policies);
      assert.deepEqual([rest?.deleted, rest?.done, await left()], [2, true, 0], "without limits");
    },
  },
  "mastra/prune-nothing": {
    must: `documented: ${page} (unset tables are kept forever)`,
    title: "prunes nothing without a policy for its table",
    async checkStore(store) {
      await persist(store, { createdAt: at(0), updatedAt: at(0) });
      assert.deepEqual(await store.prune({}), []);
      await store.prune({ messages: { maxAge: 1 } });
      assert.deepEqual(await load(store), snapshot());
    },
  },
});
