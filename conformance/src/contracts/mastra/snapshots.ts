// Snapshots and runs: what is persisted is what is read.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import { at, get, key, load, parsed, persist, snapshot, suspended } from "./helpers.js";
import type { Store } from "./store.js";

const page = "https://mastra.ai/docs/workflows/snapshots";
const tables = "https://mastra.ai/reference/storage/overview";

export const snapshots = expectations<Store>("contract", {
  "mastra/load-unknown": {
    must: "documented: the type of WorkflowsStorage.loadWorkflowSnapshot",
    title: "returns null for the snapshot of a run that does not exist",
    async checkStore(store) {
      assert.equal(await load(store), null);
      await persist(store);
      assert.equal(await store.loadWorkflowSnapshot({ ...key, runId: "unknown" }), null);
      assert.equal(await store.loadWorkflowSnapshot({ ...key, workflowName: "unknown" }), null);
    },
  },
  "mastra/load-persisted": {
    must: `documented: ${page}#saving-snapshots`,
    title: "returns the snapshot of a suspended run exactly as it was persisted",
    async checkStore(store) {
      await persist(store, { snapshot: suspended() });
      assert.deepEqual(await load(store), suspended());
    },
  },
  "mastra/persist-replaces": {
    must: "framework: the engine persists a complete snapshot after each step",
    title: "replaces the snapshot when a run is persisted again, with all its fields",
    async checkStore(store) {
      await persist(store, { snapshot: suspended() });
      const next = snapshot({ status: "success", context: { input: {} }, result: { done: true } });
      await persist(store, { snapshot: next });
      assert.deepEqual(await load(store), next, "nothing of the snapshot before may be left");
      assert.equal((await store.listWorkflowRuns()).total, 1, "it is still one run");
    },
  },
  "mastra/get-run": {
    must: "documented: the types of WorkflowsStorage.getWorkflowRunById and WorkflowRun",
    title: "returns a run with its names, its resource, its snapshot and its dates",
    async checkStore(store) {
      await persist(store, { resourceId: "u", snapshot: suspended() });
      const run = await get(store);
      assert.equal(run.runId, "r");
      assert.equal(run.workflowName, "w");
      assert.equal(run.resourceId, "u");
      assert.deepEqual(parsed(run), suspended());
      for (const date of [run.createdAt, run.updatedAt]) {
        assert(date instanceof Date, "createdAt and updatedAt are of the type Date");
        const away = Math.abs(date.getTime() - Date.now());
        assert(away < 3_600_000, `a run that is persisted without dates begins now, not at ${date.toISOString()}`);
      }
    },
  },
  "mastra/get-unknown": {
    must: "documented: the type of WorkflowsStorage.getWorkflowRunById",
    title: "returns null for a run that does not exist",
    async checkStore(store) {
      await persist(store);
      assert.equal(await store.getWorkflowRunById({ runId: "unknown", workflowName: "w" }), null);
      assert.equal(await store.getWorkflowRunById({ runId: "r", workflowName: "unknown" }), null);
      assert.equal(await store.getWorkflowRunById({ runId: "unknown" }), null);
    },
  },
  "mastra/get-by-id-alone": {
    must: "documented: workflowName is optional in the type of WorkflowsStorage.getWorkflowRunById",
    title: "finds a run by its id without the name of its workflow",
    async checkStore(store) {
      await persist(store, { runId: "other" });
      await persist(store, { workflowName: "v", snapshot: snapshot({ status: "suspended" }) });
      const run = await store.getWorkflowRunById({ runId: "r" });
      assert.equal(run?.workflowName, "v");
      assert.equal(parsed(run).status, "suspended");
    },
  },
  "mastra/get-newest-of-an-id": {
    should: "framework: InMemoryStore and LibSQLStore sort by createdAt",
    title: "returns the run that was created last if several workflows have a run of this id",
    async checkStore(store) {
      for (const [name, seconds] of [
        ["a", 2],
        ["b", 3],
        ["c", 1],
      ] as const)
        await persist(store, { workflowName: name, createdAt: at(seconds), updatedAt: at(10 - seconds) });
      assert.equal((await store.getWorkflowRunById({ runId: "r" }))?.workflowName, "b");
    },
  },
  "mastra/given-dates": {
    must: "documented: createdAt and updatedAt in the type of WorkflowsStorage.persistWorkflowSnapshot",
    title: "takes the dates of a run that it is given",
    async checkStore(store) {
      await persist(store, { createdAt: at(0.123), updatedAt: at(1.456) });
      const first = await get(store);
      assert.deepEqual([first.createdAt, first.updatedAt], [at(0.123), at(1.456)]);
      await persist(store, { updatedAt: at(7) });
      assert.deepEqual((await get(store)).updatedAt, at(7), "updatedAt of a run that exists");
    },
  },
  "mastra/created-at-stays": {
    must: `documented: ${tables} (createdAt beside updatedAt, the "last modification time")`,
    title: "keeps createdAt when a run is persisted again without a date",
    async checkStore(store) {
      await persist(store, { createdAt: at(0), updatedAt: at(0) });
      await persist(store, { snapshot: suspended() });
      assert.deepEqual((await get(store)).createdAt, at(0));
    },
  },
  "mastra/created-at-of-the-first": {
    ours: "a run is created once, and a later date would move it in lists (LibSQLStore keeps it, too)",
    title: "keeps the createdAt that it was given first, whatever date is given later",
    async checkStore(store) {
      await persist(store, { createdAt: at(5) });
      await persist(store, { createdAt: at(9) });
      await persist(store, { createdAt: at(1) });
      assert.deepEqual((await get(store)).createdAt, at(5));
    },
  },
  "mastra/updated-at-moves": {
    must: `documented: ${tables} ("last modification time, used to track state changes")`,
    title: "moves updatedAt when a run is persisted again without a date",
    async checkStore(store) {
      await persist(store, { createdAt: at(0), updatedAt: at(0) });
      await persist(store);
      const { updatedAt } = await get(store);
      assert(updatedAt > at(60), `updatedAt is still ${updatedAt.toISOString()}`);
    },
  },
  "mastra/resource-stays": {
    must: "framework: a run that is resumed persists without the resource that it was created with",
    title: "keeps the resource of a run that is persisted again without one",
    async checkStore(store) {
      await persist(store, { resourceId: "u" });
      await persist(store, { snapshot: suspended() });
      assert.equal((await get(store)).resourceId, "u");
      assert.equal((await store.listWorkflowRuns({ resourceId: "u" })).total, 1);
    },
  },
  "mastra/resource-changes": {
    should: "framework: InMemoryStore and LibSQLStore take the new one",
    title: "takes another resource when a run is persisted with one",
    async checkStore(store) {
      await persist(store);
      assert.equal((await get(store)).resourceId ?? undefined, undefined, "a run without a resource has none");
      await persist(store, { resourceId: "u" });
      await persist(store, { resourceId: "v" });
      assert.equal((await get(store)).resourceId, "v");
      assert.equal((await store.listWorkflowRuns({ resourceId: "u" })).total, 0);
    },
  },
  "mastra/init-keeps": {
    must: "framework: MastraCompositeStore.init calls init of each domain whenever a program starts",
    title: "keeps the runs when init is called again",
    async checkStore(store) {
      await store.init();
      await persist(store, { resourceId: "u", snapshot: suspended() });
      await store.init();
      assert.deepEqual(await load(store), suspended());
      assert.equal((await get(store)).resourceId, "u");
    },
  },
});
