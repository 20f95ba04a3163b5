// Nothing is mixed up between runs, and between a store and its callers.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import { at, finish, get, ids, key, load, parsed, persist, snapshot, step, suspended } from "./helpers.js";
import type { Key, Store } from "./store.js";

const pair = "documented: the types of WorkflowsStorage, which name a run by workflowName and runId";

/** Persists each run with a value of its own, then checks that each one has its own. */
async function assertApart(store: Store, keys: readonly Key[]): Promise<void> {
  for (const one of keys) await store.persistWorkflowSnapshot({ ...one, snapshot: snapshot({ value: { ...one } }) });
  for (const one of keys) {
    const found = await store.loadWorkflowSnapshot(one);
    assert.deepEqual(found?.value, one, `run ${JSON.stringify(one.runId)} of ${JSON.stringify(one.workflowName)}`);
    const run = await get(store, one);
    assert.deepEqual([run.workflowName, run.runId], [one.workflowName, one.runId]);
  }
  const [gone, ...others] = keys;
  await store.deleteWorkflowRunById(gone!);
  assert.equal(await store.loadWorkflowSnapshot(gone!), null, "the run that was deleted");
  const { runs, total } = await store.listWorkflowRuns();
  const names = runs.map(({ workflowName, runId }) => JSON.stringify([workflowName, runId]));
  assert.deepEqual(names.toSorted(), others.map((one) => JSON.stringify([one.workflowName, one.runId])).toSorted());
  assert.equal(total, others.length);
}

const odd = [
  "a",
  "A",
  "a ",
  " a",
  "a/b",
  "../a",
  "a%",
  "a_",
  "a'b",
  'a"b',
  "\u00e9",
  "e\u0301",
  "\u{1F600}",
  "__proto__",
  "constructor",
  "0",
  "-1",
  "null",
  "a\nb",
  "a:b",
  "a|b",
  "a\\b",
  "a,b",
  "a-b",
  "x".repeat(500),
  `${"x".repeat(499)}y`,
];

export const isolation = expectations<Store>("isolation", {
  "mastra/runs-of-one-id": {
    must: pair,
    title: "keeps runs of one id apart if they belong to different workflows",
    async checkStore(store) {
      const [v, w] = [{ ...key, workflowName: "v" }, key];
      for (const one of [v, w]) await store.persistWorkflowSnapshot({ ...one, snapshot: suspended() });
      await store.updateWorkflowState({ ...v, opts: { status: "running" } });
      await store.updateWorkflowResults({ ...v, stepId: "s", result: step(1), requestContext: {} });
      assert.deepEqual(await store.loadWorkflowSnapshot(w), suspended(), "after updates of the other one");
      await store.deleteWorkflowRunById(v);
      assert.deepEqual(await store.loadWorkflowSnapshot(w), suspended(), "after the other one was deleted");
    },
  },
  "mastra/runs-of-one-workflow": {
    must: pair,
    title: "changes only the run that is named, and no other run of its workflow",
    async checkStore(store) {
      const other = { ...key, runId: "other" };
      await persist(store, { snapshot: suspended() });
      await persist(store, { ...other, snapshot: suspended(), resourceId: "u" });
      await store.updateWorkflowState({ ...key, opts: { status: "running" } });
      await finish(store, "s", step(1));
      await persist(store, { snapshot: snapshot(), resourceId: "v" });
      assert.deepEqual(await store.loadWorkflowSnapshot(other), suspended());
      assert.equal((await get(store, other)).resourceId, "u");
    },
  },
  "mastra/names-are-not-joined": {
    must: pair,
    title: "keeps runs apart whose names are equal once they are joined",
    async checkStore(store) {
      const separators = ["-", "_", ":", "/", "|", ".", "#", "::", " "];
      await assertApart(
        store,
        separators.flatMap((by) => [
          { workflowName: `a${by}b`, runId: "c" },
          { workflowName: "a", runId: `b${by}c` },
        ]),
      );
    },
  },
  "mastra/odd-runs": {
    should: "documented: the type of runId in createRun is any text, and so is the id of a workflow",
    title: "keeps runs and workflows apart whatever their names are",
    async checkStore(store) {
      await assertApart(
        store,
        odd.flatMap((name) => [
          { workflowName: "w", runId: name },
          { workflowName: name, runId: "r" },
        ]),
      );
    },
  },
  "mastra/nul-in-names": {
    ours: "a text is not cut where C ends one (LibSQLStore cuts it)",
    title: "keeps runs apart whose names differ only after a NUL character, or refuses such names",
    async checkStore(store) {
      await persist(store, { runId: "a", snapshot: suspended() });
      const persisted = await persist(store, { runId: "a\0b" }).then(
        () => true,
        () => false,
      );
      assert.deepEqual(await store.loadWorkflowSnapshot({ ...key, runId: "a" }), suspended());
      if (!persisted) return;
      assert.deepEqual(await store.loadWorkflowSnapshot({ ...key, runId: "a\0b" }), snapshot());
      assert.deepEqual((await ids(store)).toSorted(), ["a", "a\0b"]);
    },
  },
  "mastra/filters-are-no-patterns": {
    must: "documented: the type StorageListWorkflowRunsInput, whose filters are names",
    title: "takes the names in filters as they are, and not as patterns",
    async checkStore(store) {
      for (const name of ["ab", "AB", "a%", "a_", "a' OR 1=1 --"])
        await persist(store, { workflowName: name, runId: name, resourceId: name });
      for (const name of ["a%", "a_", "a' OR 1=1 --", "AB"]) {
        assert.deepEqual(await ids(store, { workflowName: name }), [name]);
        assert.deepEqual(await ids(store, { resourceId: name }), [name]);
        assert.equal((await store.getWorkflowRunById({ runId: name }))?.runId, name);
      }
      for (const name of ["%", "a", "A%", "*"]) assert.deepEqual(await ids(store, { resourceId: name }), []);
    },
  },
  "mastra/copies-of-what-is-read": {
    should: "framework: InMemoryStore clones what it returns, because the engine changes it",
    title: "returns copies: who changes a snapshot that was read changes nothing in the store",
    async checkStore(store) {
      await persist(store, { snapshot: suspended(), createdAt: at(1) });
      const read = [
        async () => load(store),
        async () => parsed(await get(store)),
        async () => parsed((await store.listWorkflowRuns()).runs[0]!),
      ];
      for (const [n, each] of read.entries()) {
        const found = await each();
        found.status = "failed";
        found.context.input.approvers.push("mallory");
        delete found.suspendedPaths.approve;
        assert.deepEqual(
          await load(store),
          suspended(),
          ["loadWorkflowSnapshot", "getWorkflowRunById", "listWorkflowRuns"][n],
        );
      }
      (await get(store)).createdAt.setTime(0);
      assert.deepEqual((await get(store)).createdAt, at(1), "createdAt of getWorkflowRunById");
    },
  },
  "mastra/copies-of-what-updates-return": {
    ours: "what an update returns is no way into the store (updateWorkflowState of InMemoryStore returns its own object)",
    title: "returns copies from updates, too",
    async checkStore(store) {
      await persist(store, { snapshot: suspended() });
      const state = await store.updateWorkflowState({ ...key, opts: { status: "running" } });
      state.status = "failed";
      state.context.input.approvers.push("mallory");
      assert.deepEqual(await load(store), { ...suspended(), status: "running" }, "updateWorkflowState");
      const context = await finish(store, "s", step({ list: [1] }));
      context["s"].output.list.push(2);
      assert.deepEqual((await load(store)).context.s, step({ list: [1] }), "updateWorkflowResults");
    },
  },
  "mastra/copies-of-what-is-stored": {
    should: "framework: the engine persists its live results of steps, and changes them while it goes on",
    title: "keeps a snapshot as it was when it was persisted, whatever the caller does with its object afterwards",
    async checkStore(store) {
      const given = suspended();
      await persist(store, { snapshot: given });
      given.status = "failed";
      given.context.send = step("later");
      given.context.input.approvers.push("mallory");
      assert.deepEqual(await load(store), suspended(), "persistWorkflowSnapshot");
      const result = step({ list: [1] });
      await finish(store, "s", result);
      result.output = { list: [2] };
      assert.deepEqual((await load(store)).context.s, step({ list: [1] }), "updateWorkflowResults");
      const opts = { status: "success", activePaths: [1] };
      await store.updateWorkflowState({ ...key, opts });
      opts.activePaths.push(2);
      assert.deepEqual((await load(store)).activePaths, [1], "updateWorkflowState");
    },
  },
  "mastra/copies-at-the-call": {
    ours: "parallel steps go on while a snapshot is being stored, and would be half in it",
    title: "stores a snapshot as it is at the call, and not as it is once the store comes to it",
    async checkStore(store) {
      const given = suspended();
      const before = persist(store, { snapshot: suspended() });
      const persisted = persist(store, { snapshot: given });
      given.status = "failed";
      given.context.input.approvers.push("mallory");
      await Promise.all([before, persisted]);
      assert.deepEqual(await load(store), suspended(), "persistWorkflowSnapshot");
      const result = step({ list: [1] });
      const finished = finish(store, "s", result);
      result.output = { list: [2] };
      await finished;
      assert.deepEqual((await load(store)).context.s, step({ list: [1] }), "updateWorkflowResults");
    },
  },
});
