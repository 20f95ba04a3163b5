// Lists of runs: filters, order and pages.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import { at, ids, key, parsed, persist, snapshot, step, suspended } from "./helpers.js";
import type { Store } from "./store.js";

const type = "documented: the type StorageListWorkflowRunsInput";

/** Persists the runs r0 to r5, one a second, of two workflows, two resources and two statuses. */
async function six(store: Store): Promise<void> {
  for (let n = 0; n < 6; n++)
    await persist(store, {
      workflowName: n < 4 ? "w" : "v",
      runId: `r${n}`,
      resourceId: n % 2 === 0 ? "even" : "odd",
      snapshot: snapshot({ runId: `r${n}`, status: n === 1 || n === 3 ? "suspended" : "success" }),
      createdAt: at(n),
      updatedAt: at(n),
    });
}

/** Checks which runs a list has, in any order. */
async function assertListed(store: Store, filter: Parameters<Store["listWorkflowRuns"]>[0], wanted: string[]) {
  const { runs, total } = await store.listWorkflowRuns(filter);
  assert.deepEqual(runs.map(({ runId }) => runId).toSorted(), wanted);
  assert.equal(total, wanted.length, "total");
}

export const lists = expectations<Store>("order", {
  "mastra/list-nothing": {
    must: "documented: the type WorkflowRuns",
    title: "lists no runs and a total of 0 while there are none",
    async checkStore(store) {
      assert.deepEqual(await store.listWorkflowRuns(), { runs: [], total: 0 });
      const page = await store.listWorkflowRuns({ workflowName: "w", page: 0, perPage: 5 });
      assert.deepEqual(page, { runs: [], total: 0 });
    },
  },
  "mastra/list-all": {
    must: "documented: the types WorkflowRuns and WorkflowRun",
    title: "lists all runs as they are, with their number",
    async checkStore(store) {
      await persist(store, { resourceId: "u", snapshot: suspended(), createdAt: at(1), updatedAt: at(2) });
      await persist(store, { runId: "other" });
      const { runs, total } = await store.listWorkflowRuns();
      assert.equal(total, 2);
      assert.equal(runs.length, 2);
      const run = runs.find(({ runId }) => runId === "r");
      assert(run, "the run r must be listed");
      assert.equal(run.workflowName, "w");
      assert.equal(run.resourceId, "u");
      assert.deepEqual([run.createdAt, run.updatedAt], [at(1), at(2)]);
      assert.deepEqual(parsed(run), suspended());
    },
  },
  "mastra/list-newest-first": {
    should: "framework: InMemoryStore and LibSQLStore sort by createdAt, the newest first",
    title: "lists the run that was created last first, whatever was updated since",
    async checkStore(store) {
      for (const seconds of [3, 1, 4, 0, 2])
        await persist(store, { runId: `r${seconds}`, createdAt: at(seconds), updatedAt: at(9 - seconds) });
      await persist(store, { runId: "r1" });
      assert.deepEqual(await ids(store), ["r4", "r3", "r2", "r1", "r0"]);
    },
  },
  "mastra/list-of-a-workflow": {
    must: type,
    title: "lists the runs of one workflow",
    async checkStore(store) {
      await six(store);
      await assertListed(store, { workflowName: "w" }, ["r0", "r1", "r2", "r3"]);
      await assertListed(store, { workflowName: "unknown" }, []);
    },
  },
  "mastra/list-by-status": {
    must: type,
    title: "lists the runs whose snapshots have a status now",
    async checkStore(store) {
      await six(store);
      await assertListed(store, { status: "suspended" }, ["r1", "r3"]);
      await store.updateWorkflowState({ workflowName: "w", runId: "r1", opts: { status: "running" } });
      await persist(store, { runId: "r0", snapshot: snapshot({ status: "suspended" }) });
      await assertListed(store, { status: "suspended" }, ["r0", "r3"]);
      await assertListed(store, { status: "running" }, ["r1"]);
    },
  },
  "mastra/list-of-a-resource": {
    must: type,
    title: "lists the runs of one resource",
    async checkStore(store) {
      await six(store);
      await persist(store, { runId: "none" });
      await assertListed(store, { resourceId: "even" }, ["r0", "r2", "r4"]);
      await assertListed(store, { resourceId: "unknown" }, []);
    },
  },
  "mastra/list-between-dates": {
    must: type,
    title: "lists the runs that were created between two dates, after one, or before one",
    async checkStore(store) {
      await six(store);
      await assertListed(store, { fromDate: at(0.5), toDate: at(3.5) }, ["r1", "r2", "r3"]);
      await assertListed(store, { fromDate: at(3.5) }, ["r4", "r5"]);
      await assertListed(store, { toDate: at(0.5) }, ["r0"]);
    },
  },
  "mastra/list-dates-inclusive": {
    should: "framework: InMemoryStore and LibSQLStore",
    title: "lists the runs that were created at the two dates themselves",
    async checkStore(store) {
      await six(store);
      await assertListed(store, { fromDate: at(1), toDate: at(3) }, ["r1", "r2", "r3"]);
    },
  },
  "mastra/list-with-all-filters": {
    must: type,
    title: "lists the runs that match all filters at once, and counts no others",
    async checkStore(store) {
      const filter = { workflowName: "w", status: "suspended", resourceId: "u", fromDate: at(10), toDate: at(20) };
      const match = { resourceId: "u", createdAt: at(15), snapshot: suspended() };
      for (const runId of ["m0", "m1"]) await persist(store, { ...match, runId });
      await persist(store, { ...match, runId: "workflow", workflowName: "v" });
      await persist(store, { ...match, runId: "status", snapshot: snapshot() });
      await persist(store, { ...match, runId: "resource", resourceId: "v" });
      await persist(store, { ...match, runId: "earlier", createdAt: at(5) });
      await persist(store, { ...match, runId: "later", createdAt: at(25) });
      await assertListed(store, filter, ["m0", "m1"]);
      const { runs, total } = await store.listWorkflowRuns({ ...filter, page: 1, perPage: 1 });
      assert.deepEqual([runs.length, total], [1, 2], "on a page of one run, and the total without pages");
    },
  },
  "mastra/list-of-a-thread": {
    must: `${type} ("MUST NOT exclude rows the canonical extraction would match")`,
    title: "leaves out no run of a thread, if lists are filtered by a thread",
    async checkStore(store) {
      const memoryInfo = { threadId: "t", resourceId: "u" };
      const waits = { status: "suspended", suspendPayload: { __streamState: { messageList: { memoryInfo } } } };
      await persist(store, { runId: "loop", snapshot: snapshot({ context: { input: {}, "any step": waits } }) });
      const input = { messageListState: { memoryInfo } };
      await persist(store, { runId: "durable", snapshot: snapshot({ context: { input } }) });
      await persist(store, { runId: "other" });
      const found = await ids(store, { threadId: "t" });
      assert(found.includes("loop"), "the thread of a suspended step");
      assert(found.includes("durable"), "the thread of the input");
    },
  },
  "mastra/list-pages": {
    must: type,
    title: "lists runs in pages that begin with 0, and says how many runs all pages have",
    async checkStore(store) {
      await six(store);
      const pages = await Promise.all([0, 1, 2, 3].map((page) => store.listWorkflowRuns({ page, perPage: 4 })));
      const numbers = pages.map(({ runs, total }) => `${runs.length} of ${total}`);
      assert.deepEqual(numbers, ["4 of 6", "2 of 6", "0 of 6", "0 of 6"]);
      const all = pages.flatMap(({ runs }) => runs.map(({ runId }) => runId));
      assert.deepEqual(all.toSorted(), ["r0", "r1", "r2", "r3", "r4", "r5"]);
    },
  },
  "mastra/list-pages-of-one-moment": {
    should: "framework: listSuspendedRuns of agents reads all pages, and needs each run once",
    title: "lists each run on one page, also if all were created in the same millisecond",
    async checkStore(store) {
      const names = Array.from({ length: 20 }, (_, n) => `r${(n * 7) % 20}`);
      for (const runId of names) await persist(store, { runId, createdAt: at(0) });
      const found: string[] = [];
      for (let page = 0; page < 7; page++) {
        found.push(...(await ids(store, { page, perPage: 3 })));
        // Runs change while somebody turns the pages.
        await persist(store, { runId: names[page]! });
      }
      assert.deepEqual(found.toSorted(), names.toSorted());
    },
  },
  "mastra/list-without-pages": {
    must: `${type} ("When either is undefined, all results are returned")`,
    title: "lists all runs if only one of page and perPage is given, or if perPage is false",
    async checkStore(store) {
      await six(store);
      assert.equal((await ids(store, { perPage: 2 })).length, 6, "only perPage");
      assert.equal((await ids(store, { page: 1 })).length, 6, "only page");
      assert.equal((await ids(store, { page: 0, perPage: false })).length, 6, "perPage is false");
    },
  },
  "mastra/list-pages-of-nothing": {
    should: "framework: normalizePerPage, which @mastra/core exports for stores",
    title: "lists no run but the total on a page of 0 runs",
    async checkStore(store) {
      await six(store);
      assert.deepEqual(await store.listWorkflowRuns({ page: 0, perPage: 0 }), { runs: [], total: 6 });
    },
  },
  "mastra/list-wrong-per-page": {
    should: "framework: normalizePerPage, which @mastra/core exports for stores",
    title: "refuses pages of a negative number of runs, and of parts of runs",
    async checkStore(store) {
      await six(store);
      for (const perPage of [-1, 1.5])
        await assert.rejects(store.listWorkflowRuns({ page: 0, perPage }), `perPage ${perPage} must be refused`);
    },
  },
  "mastra/list-negative-page": {
    ours: "a page before the first one is a mistake of the caller (InMemoryStore refuses it, LibSQLStore doesn't)",
    title: "refuses a negative page",
    async checkStore(store) {
      await six(store);
      await assert.rejects(store.listWorkflowRuns({ page: -1, perPage: 2 }), "page -1 must be refused");
    },
  },
  "mastra/list-results": {
    must: "framework: the engine looks for active runs in lists, and resumes them from their snapshots",
    title: "lists what updates have stored",
    async checkStore(store) {
      await persist(store);
      await store.updateWorkflowResults({ ...key, stepId: "a", result: step(1), requestContext: {} });
      await store.updateWorkflowState({ ...key, opts: { status: "success" } });
      const [run] = (await store.listWorkflowRuns()).runs;
      assert.equal(parsed(run!).status, "success");
      assert.deepEqual(parsed(run!).context.a, step(1));
    },
  },
});
