// Tests the domain `workflows` against Mastra's own storages and against this package. The places where ours differs are tested below.
import { tracingChannel } from "node:diagnostics_channel";
import { createRequire } from "node:module";
import { MastraCompositeStore, type WorkflowsStorage } from "@mastra/core/storage";
import { type CallContext, copyStore, openStore } from "forkpoint";
import { openInspector } from "forkpoint/inspect";
import { ForkpointMastraStore } from "forkpoint/mastra";
import { describe, expect, it, onTestFinished } from "vitest";
import { kinds, place, rejection, sharedKinds, wrongType } from "../../__test__/helpers.js";
import { at, failure, libsql, make, sides, snapshot, storeAt } from "./helpers.js";

const step = (n: number) => ({ status: "success" as const, output: { n }, payload: {}, startedAt: 1, endedAt: 2 });

async function idsOf(workflows: WorkflowsStorage, args?: Parameters<WorkflowsStorage["listWorkflowRuns"]>[0]) {
  return (await workflows.listWorkflowRuns(args)).runs.map(({ runId }) => runId);
}

describe.each(sides)("the workflows of Mastra: %s", (side) => {
  it("says that several processes may change a run", async () => {
    expect((await make(side)).supportsConcurrentUpdates()).toBe(true);
  });

  it("returns the snapshot that was persisted last, as a fresh copy", async () => {
    const workflows = await make(side);
    expect(await workflows.loadWorkflowSnapshot(at)).toBeNull();
    await workflows.persistWorkflowSnapshot({ ...at, snapshot: snapshot() });
    await workflows.persistWorkflowSnapshot({ ...at, snapshot: snapshot({ status: "suspended", value: { a: "1" } }) });
    const loaded = (await workflows.loadWorkflowSnapshot(at))!;
    expect(loaded).toEqual(snapshot({ status: "suspended", value: { a: "1" } }));
    loaded.status = "failed";
    expect((await workflows.loadWorkflowSnapshot(at))!.status).toBe("suspended");
  });

  it("keeps the resource of a run, and moves updatedAt", async () => {
    const workflows = await make(side);
    const old = new Date(1_000);
    await workflows.persistWorkflowSnapshot({
      ...at,
      resourceId: "u",
      snapshot: snapshot(),
      createdAt: old,
      updatedAt: old,
    });
    const first = (await workflows.getWorkflowRunById(at))!;
    expect(first).toMatchObject({ ...at, resourceId: "u", createdAt: old, updatedAt: old, snapshot: snapshot() });
    await workflows.persistWorkflowSnapshot({ ...at, snapshot: snapshot({ status: "success" }) });
    const second = (await workflows.getWorkflowRunById(at))!;
    expect(second).toMatchObject({ resourceId: "u", createdAt: old });
    expect(second.updatedAt.getTime()).toBeGreaterThan(1_000);
    expect(await workflows.getWorkflowRunById({ runId: "unknown", workflowName: "w" })).toBeNull();
    expect(await workflows.getWorkflowRunById({ runId: "unknown" })).toBeNull();
  });

  it("finds the newest run of an id without the name of its workflow", async () => {
    const workflows = await make(side);
    for (const [n, workflowName] of ["a", "b", "c"].entries()) {
      const createdAt = new Date([2_000, 3_000, 1_000][n]!);
      await workflows.persistWorkflowSnapshot({
        workflowName,
        runId: "r",
        snapshot: snapshot(),
        createdAt,
        updatedAt: createdAt,
      });
    }
    const found = (await workflows.getWorkflowRunById({ runId: "r" }))!;
    // LibSQL returns any of them.
    if (side !== "LibSQLStore") expect(found.workflowName).toBe("b");
    expect(found.runId).toBe("r");
  });

  it("claims a run by its status, once", async () => {
    const workflows = await make(side);
    const opts = { status: "running" as const, expectedStatus: "suspended" as const };
    expect(await workflows.updateWorkflowState({ ...at, opts })).toBeUndefined();
    expect(await workflows.loadWorkflowSnapshot(at)).toBeNull();
    await workflows.persistWorkflowSnapshot({ ...at, snapshot: snapshot({ status: "suspended" }) });
    const claims = await Promise.all(Array.from({ length: 5 }, () => workflows.updateWorkflowState({ ...at, opts })));
    const got = claims.filter((claim) => claim !== undefined);
    expect(got).toHaveLength(1);
    expect(got[0]).toMatchObject({ status: "running", context: { input: { n: 1 } } });
    expect(got[0]).not.toHaveProperty("expectedStatus");
    expect(
      await workflows.updateWorkflowState({ ...at, opts: { ...opts, expectedStatus: ["failed", "running"] } }),
    ).toMatchObject({ status: "running" });
    const changed = await workflows.updateWorkflowState({ ...at, opts: { status: "success", activePaths: [2] } });
    expect(changed).toMatchObject({ status: "success", activePaths: [2] });
    expect(await workflows.loadWorkflowSnapshot(at)).toEqual(changed);
  });

  it("keeps the results of steps that end at the same time", async () => {
    const workflows = await make(side);
    await workflows.persistWorkflowSnapshot({ ...at, snapshot: snapshot() });
    const contexts = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        workflows.updateWorkflowResults({ ...at, stepId: `s${n}`, result: step(n), requestContext: { [`k${n}`]: n } }),
      ),
    );
    expect(contexts.at(-1)).toMatchObject({ input: { n: 1 }, s19: step(19) });
    const loaded = (await workflows.loadWorkflowSnapshot(at))!;
    expect(Object.keys(loaded.context).toSorted()).toEqual(
      ["input", ...Array.from({ length: 20 }, (_, n) => `s${n}`)].toSorted(),
    );
    expect(Object.keys(loaded.requestContext ?? {})).toHaveLength(20);
  });

  it("lists runs: the newest first, filtered, in pages", async () => {
    const workflows = await make(side);
    for (let n = 0; n < 6; n++) {
      const createdAt = new Date(1_000 * (n + 1));
      await workflows.persistWorkflowSnapshot({
        workflowName: n < 4 ? "w" : "v",
        runId: `r${n}`,
        ...(n % 2 === 0 && { resourceId: "even" }),
        snapshot: snapshot({ runId: `r${n}`, status: n === 3 ? "suspended" : "success" }),
        createdAt,
        updatedAt: createdAt,
      });
    }
    expect(await idsOf(workflows)).toEqual(["r5", "r4", "r3", "r2", "r1", "r0"]);
    expect(await idsOf(workflows, { workflowName: "w" })).toEqual(["r3", "r2", "r1", "r0"]);
    expect(await idsOf(workflows, { workflowName: "unknown" })).toEqual([]);
    expect(await idsOf(workflows, { resourceId: "even" })).toEqual(["r4", "r2", "r0"]);
    expect(await idsOf(workflows, { status: "suspended" })).toEqual(["r3"]);
    expect(await idsOf(workflows, { fromDate: new Date(2_000), toDate: new Date(4_000) })).toEqual(["r3", "r2", "r1"]);
    expect(await idsOf(workflows, { fromDate: new Date(6_000) })).toEqual(["r5"]);
    expect(await idsOf(workflows, { toDate: new Date(1_000) })).toEqual(["r0"]);
    const page = await workflows.listWorkflowRuns({ workflowName: "w", page: 1, perPage: 3 });
    expect([page.total, page.runs.map(({ runId }) => runId)]).toEqual([4, ["r0"]]);
    expect(await idsOf(workflows, { page: 5, perPage: 3 })).toEqual([]);
    expect(await idsOf(workflows, { perPage: 2 })).toHaveLength(6);
    expect(await idsOf(workflows, { page: 1 })).toHaveLength(6);
    expect(await workflows.listWorkflowRuns({ page: 0, perPage: 0 })).toEqual({ runs: [], total: 6 });
    expect(await idsOf(workflows, { page: 0, perPage: false })).toHaveLength(6);
    const [first] = page.runs;
    expect(first).toMatchObject({ workflowName: "w", runId: "r0", resourceId: "even", createdAt: new Date(1_000) });
  });

  it("deletes a run, and everything", async () => {
    const workflows = await make(side);
    await workflows.deleteWorkflowRunById(at);
    await workflows.persistWorkflowSnapshot({ ...at, snapshot: snapshot() });
    await workflows.persistWorkflowSnapshot({ ...at, runId: "other", snapshot: snapshot() });
    await workflows.deleteWorkflowRunById(at);
    expect([await workflows.loadWorkflowSnapshot(at), await idsOf(workflows)]).toEqual([null, ["other"]]);
    await workflows.persistWorkflowSnapshot({ ...at, snapshot: snapshot({ status: "failed" }) });
    expect((await workflows.loadWorkflowSnapshot(at))!.status).toBe("failed");
    await workflows.dangerouslyClearAll();
    expect(await idsOf(workflows)).toEqual([]);
  });
});

describe.each(kinds)("the workflows over %s", (kind) => {
  const make = (): WorkflowsStorage => storeAt(place(kind)).stores.workflows;

  it("a late snapshot does not bring back a run that was deleted", async () => {
    const target = kind === "memory" ? await openStore("memory:") : place(kind);
    if (typeof target !== "string") onTestFinished(() => target.close());
    const [mine, theirs] = [storeAt(target).stores.workflows, storeAt(target).stores.workflows];
    for (const deleting of [mine, theirs]) {
      await mine.persistWorkflowSnapshot({ ...at, snapshot: snapshot({ status: "pending" }) });
      await mine.persistWorkflowSnapshot({ ...at, snapshot: snapshot({ status: "running" }) });
      await deleting.deleteWorkflowRunById(at);
      const late = () => mine.persistWorkflowSnapshot({ ...at, snapshot: snapshot({ status: "success" }) });
      for (let tries = 0; tries < 2; tries += 1) await failure(late(), "CONFLICT");
      expect((await theirs.listWorkflowRuns()).total).toBe(0);
    }
    // A run that is started again begins anew.
    await mine.persistWorkflowSnapshot({ ...at, snapshot: snapshot({ status: "pending" }) });
    await mine.persistWorkflowSnapshot({ ...at, snapshot: snapshot({ status: "success" }) });
    expect((await theirs.loadWorkflowSnapshot(at))!.status).toBe("success");
  });

  it("a late snapshot does not land in a run that was deleted and begun again", async () => {
    const target = kind === "memory" ? await openStore("memory:") : place(kind);
    if (typeof target !== "string") onTestFinished(() => target.close());
    const [mine, theirs] = [storeAt(target).stores.workflows, storeAt(target).stores.workflows];
    const put = (of: WorkflowsStorage, status: "pending" | "running" | "success", createdAt?: Date) =>
      of.persistWorkflowSnapshot({ ...at, ...(createdAt && { createdAt }), snapshot: snapshot({ status }) });
    await put(mine, "pending");
    await put(mine, "running");
    await theirs.deleteWorkflowRunById(at);
    await put(theirs, "pending", new Date(Date.now() + 1_000));
    await put(theirs, "running");
    const late = () => put(mine, "success");
    for (let tries = 0; tries < 2; tries += 1) {
      const error = await failure(late(), "CONFLICT");
      expect(error.message).toContain("was deleted while it ran");
    }
    const result = { stepId: "s", result: step(1), requestContext: {} };
    await failure(mine.updateWorkflowResults({ ...at, ...result }), "CONFLICT");
    expect((await theirs.loadWorkflowSnapshot(at))!.status).toBe("running");
    await put(theirs, "success");
    // Who has read the run continues the new one.
    expect((await mine.loadWorkflowSnapshot(at))!.status).toBe("success");
    await put(mine, "running");
  });

  it("keep values that JSON loses", async () => {
    const workflows = make();
    const odd = {
      at: new Date(1_700_000_000_123),
      map: new Map([["k", new Set([1])]]),
      nan: Number.NaN,
      none: undefined,
      bytes: new Uint8Array([1]),
      big: 10n,
    };
    const context = JSON.parse('{"__proto__":{"polluted":true}}') as Record<string, unknown>;
    await workflows.persistWorkflowSnapshot({ ...at, snapshot: snapshot({ context: { input: odd, ...context } }) });
    const loaded = (await workflows.loadWorkflowSnapshot(at))!;
    expect(loaded.context["input"]).toStrictEqual(odd);
    await workflows.updateWorkflowResults({
      ...at,
      stepId: "s",
      result: { ...step(1), output: odd },
      requestContext: {},
    });
    expect(((await workflows.loadWorkflowSnapshot(at))!.context["s"] as { output: object }).output).toStrictEqual(odd);
  });

  it("copy the snapshot before they return", async () => {
    const workflows = make();
    const given = snapshot();
    const persisted = workflows.persistWorkflowSnapshot({ ...at, snapshot: given });
    given.status = "failed";
    await persisted;
    const result = step(1);
    const updated = workflows.updateWorkflowResults({ ...at, stepId: "s", result, requestContext: {} });
    result.output.n = 2;
    expect((await updated)["s"]).toMatchObject({ output: { n: 1 } });
    expect((await workflows.loadWorkflowSnapshot(at))!.status).toBe("running");
  });

  it("keep runs apart, whatever their names", async () => {
    const workflows = make();
    const names = ["a", "a-b", "b", "1:a", "a\u0000b", "é", "__proto__", "x".repeat(1_000)];
    const keys = names.flatMap((workflowName) => names.map((runId) => ({ workflowName, runId })));
    for (const key of keys)
      await workflows.persistWorkflowSnapshot({ ...key, snapshot: snapshot({ value: { key: JSON.stringify(key) } }) });
    for (const key of keys) {
      expect((await workflows.loadWorkflowSnapshot(key))!.value).toEqual({ key: JSON.stringify(key) });
    }
    expect((await workflows.listWorkflowRuns({ workflowName: "a" })).total).toBe(names.length);
    await workflows.deleteWorkflowRunById({ workflowName: "a", runId: "b" });
    expect((await workflows.listWorkflowRuns()).total).toBe(keys.length - 1);
    await failure(
      workflows.persistWorkflowSnapshot({ ...at, runId: "x".repeat(5_000), snapshot: snapshot() }),
      "INVALID_ARGUMENT",
    );
  });

  it("differ from Mastra's storages: updates of unknown runs, created dates, wrong pages", async () => {
    const workflows = make();
    const update = { ...at, stepId: "s", result: step(1), requestContext: {} };
    expect(await workflows.updateWorkflowResults(update)).toEqual({});
    expect(await workflows.loadWorkflowSnapshot(at)).toBeNull();
    const [first, second] = [new Date(1_000), new Date(2_000)];
    await workflows.persistWorkflowSnapshot({ ...at, snapshot: snapshot(), createdAt: first });
    await workflows.persistWorkflowSnapshot({ ...at, snapshot: snapshot(), createdAt: second });
    expect((await workflows.getWorkflowRunById(at))!.createdAt).toEqual(first);
    const before = (await workflows.getWorkflowRunById(at))!.updatedAt;
    await new Promise((resolve) => setTimeout(resolve, 3));
    await workflows.updateWorkflowResults(update);
    expect((await workflows.getWorkflowRunById(at))!.updatedAt.getTime()).toBeGreaterThan(before.getTime());
    for (const wrong of [
      { page: -1, perPage: 1 },
      { page: 0, perPage: -1 },
      { page: 0, perPage: 1.5 },
      { page: 1, perPage: false as const },
    ]) {
      expect(await rejection(workflows.listWorkflowRuns(wrong))).toBeInstanceOf(RangeError);
    }
  });

  it("refuse wrong arguments before anything is stored", async () => {
    const workflows = make();
    const wrong = [undefined, null, 7, {}, { runId: "r" }, { ...at, workflowName: "" }, { ...at, runId: 7 }] as never[];
    for (const args of wrong) {
      await wrongType(workflows.persistWorkflowSnapshot(args));
      await wrongType(workflows.loadWorkflowSnapshot(args));
      await wrongType(workflows.updateWorkflowState(args));
      await wrongType(workflows.deleteWorkflowRunById(args));
    }
    for (const given of [
      {},
      { snapshot: null },
      { snapshot: [] },
      { snapshot: snapshot(), createdAt: 7 },
      { snapshot: snapshot(), updatedAt: new Date(Number.NaN) },
    ]) {
      await wrongType(workflows.persistWorkflowSnapshot({ ...at, ...given } as never));
    }
    await wrongType(workflows.listWorkflowRuns({ fromDate: "yesterday" } as never));
    await wrongType(workflows.listWorkflowRuns({ page: "1", perPage: 2 } as never));
    await failure(
      workflows.persistWorkflowSnapshot({ ...at, runId: "\ud800", snapshot: snapshot() }),
      "INVALID_ARGUMENT",
    );
    const getter = Object.defineProperty({ ...snapshot() }, "value", {
      enumerable: true,
      get: () => {
        throw new Error("secret");
      },
    });
    await failure(workflows.persistWorkflowSnapshot({ ...at, snapshot: getter as never }), "INVALID_ARGUMENT");
    expect((await workflows.listWorkflowRuns()).total).toBe(0);
    await workflows.persistWorkflowSnapshot({ ...at, snapshot: { runId: "r", status: "running" } as never });
    await failure(workflows.updateWorkflowState({ ...at, opts: { status: "success" } }), "INVALID_ARGUMENT");
  });

  it("take changes of two stores: none is lost", async () => {
    const target = place(kind);
    const store = await openStore(target);
    onTestFinished(() => store.close());
    const both = [storeAt(store).stores.workflows, storeAt(store).stores.workflows];
    await both[0]!.persistWorkflowSnapshot({ ...at, snapshot: snapshot({ status: "suspended" }) });
    await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        both[n % 2]!.updateWorkflowResults({ ...at, stepId: `s${n}`, result: step(n), requestContext: {} }),
      ),
    );
    expect(Object.keys((await both[1]!.loadWorkflowSnapshot(at))!.context)).toHaveLength(21);
    const opts = { status: "running" as const, expectedStatus: "suspended" as const };
    const claims = await Promise.all(both.map((workflows) => workflows.updateWorkflowState({ ...at, opts })));
    expect(claims.filter((claim) => claim !== undefined)).toHaveLength(1);
    await both[0]!.deleteWorkflowRunById(at);
    expect(await both[1]!.loadWorkflowSnapshot(at)).toBeNull();
    await both[1]!.persistWorkflowSnapshot({ ...at, snapshot: snapshot({ status: "success" }) });
    expect((await both[0]!.loadWorkflowSnapshot(at))!.status).toBe("success");
  });

  it("remove old runs in batches", async () => {
    const retention = { workflows: { workflowSnapshot: { maxAge: "1h", batchSize: 2 } } };
    const store = storeAt(place(kind), { retention });
    const { workflows } = store.stores;
    for (let n = 0; n < 7; n++) {
      const updatedAt = new Date(n === 6 ? Date.now() : 1_000);
      await workflows.persistWorkflowSnapshot({ ...at, runId: `r${n}`, snapshot: snapshot(), updatedAt });
    }
    const table = { domain: "workflows", table: "mastra_workflow_snapshot" };
    expect(await store.prune({ maxBatches: 1 })).toEqual([{ ...table, deleted: 2, done: false }]);
    expect(await store.prune({ maxRows: 1 })).toEqual([{ ...table, deleted: 1, done: false }]);
    expect(await store.prune({ signal: AbortSignal.abort() })).toEqual([]);
    expect(await store.prune()).toEqual([{ ...table, deleted: 3, done: true }]);
    expect(await store.prune()).toEqual([{ ...table, deleted: 0, done: true }]);
    expect(await idsOf(workflows)).toEqual(["r6"]);
    expect(await workflows.prune({})).toEqual([]);
  });

  it("keep the last checkpoints of a run, as the option says", async () => {
    const store = storeAt(place(kind), { keepLastN: 1 });
    for (let n = 0; n < 5; n++) {
      await store.stores.workflows.persistWorkflowSnapshot({ ...at, snapshot: snapshot({ value: { n: `${n}` } }) });
    }
    expect(await store.stats()).toMatchObject({ runs: 1, checkpoints: 1 });
    expect((await store.stores.workflows.loadWorkflowSnapshot(at))!.value).toEqual({ n: "4" });
  });

  it("are shown with Mastra's words, forked and copied", async () => {
    const store = await openStore(place(kind));
    onTestFinished(() => store.close());
    const { workflows } = storeAt(store).stores;
    await workflows.persistWorkflowSnapshot({
      ...at,
      resourceId: "u",
      snapshot: snapshot({ stepExecutionPath: ["a"] }),
    });
    await workflows.persistWorkflowSnapshot({
      ...at,
      snapshot: snapshot({ status: "suspended", stepExecutionPath: ["a", "b"] }),
    });
    const inspector = await openInspector(store, { write: true });
    onTestFinished(() => inspector.close());
    const [info] = (await inspector.runs({ status: "waiting" })).items;
    expect(info).toMatchObject({ space: "mastra", run: "r", ns: "w", group: "w", checkpoints: 2, status: "waiting" });
    expect(info!.latest).toMatchObject({ label: "b", meta: { status: "suspended", resourceId: "u" } });
    const ref = { space: "mastra", run: "r", ns: "w" };
    const { items } = await inspector.checkpoints(ref);
    const detail = await inspector.checkpoint({ ...ref, id: items.at(-1)!.id });
    expect(detail).toMatchObject({ state: { input: { n: 1 } } });
    const forked = await inspector.fork({ ...ref, id: items[0]!.id }, { set: [["input.n", 2]], as: "fork" });
    expect(forked).toMatchObject({ space: "mastra", run: "fork", ns: "w" });
    expect(await workflows.loadWorkflowSnapshot({ workflowName: "w", runId: "fork" })).toMatchObject({
      runId: "fork",
      context: { input: { n: 2 } },
    });
    expect(await rejection(inspector.fork({ ...ref, id: items[0]!.id }, { as: "fork" }))).toMatchObject({
      code: "CONFLICT",
    });
    const copy = await openStore("memory:");
    onTestFinished(() => copy.close());
    await copyStore(store, copy);
    expect(await storeAt(copy).stores.workflows.loadWorkflowSnapshot(at)).toEqual(
      await workflows.loadWorkflowSnapshot(at),
    );
    await inspector.remove(ref);
    expect(await workflows.loadWorkflowSnapshot(at)).toBeNull();
  });

  it("write with a lease only while it is held, and not after they are closed", async () => {
    const store = storeAt(place(kind));
    const lease = await store.lease({ space: "mastra", run: "r", ns: "w" });
    const mine = store.withLease(lease);
    await mine.stores.workflows.persistWorkflowSnapshot({ ...at, snapshot: snapshot() });
    // Nobody else deletes the run.
    await failure(store.stores.workflows.deleteWorkflowRunById(at), "CONFLICT");
    await lease.release();
    await failure(mine.stores.workflows.persistWorkflowSnapshot({ ...at, snapshot: snapshot() }), "CONFLICT");
    await failure(mine.stores.workflows.updateWorkflowState({ ...at, opts: { status: "success" } }), "CONFLICT");
    expect((await store.stores.workflows.loadWorkflowSnapshot(at))!.status).toBe("running");
    await store.close();
    const { workflows } = store.stores;
    for (const work of [
      workflows.persistWorkflowSnapshot({ ...at, snapshot: snapshot() }),
      workflows.loadWorkflowSnapshot(at),
      workflows.listWorkflowRuns(),
      workflows.getWorkflowRunById(at),
      workflows.deleteWorkflowRunById(at),
      workflows.updateWorkflowState({ ...at, opts: { status: "success" } }),
      workflows.dangerouslyClearAll(),
      workflows.prune({ workflowSnapshot: { maxAge: 1 } }),
      store.stats(),
    ]) {
      await failure(work, "CLOSED");
    }
  });

  it("are one domain of a composite store, and import the runs of another", async () => {
    const other = await libsql();
    const theirs = (await other.getStore("workflows"))!;
    for (const [n, status] of ["suspended", "success", "running"].entries()) {
      const createdAt = new Date(1_000 * n + 1_000);
      await theirs.persistWorkflowSnapshot({
        workflowName: "w",
        runId: `r${n}`,
        ...(n === 0 && { resourceId: "u" }),
        snapshot: snapshot({ runId: `r${n}`, status }),
        createdAt,
        updatedAt: createdAt,
      });
    }
    const store = storeAt(place(kind));
    const { workflows } = store.stores;
    const composite = new MastraCompositeStore({ id: "app", default: other, domains: { workflows } });
    expect(await composite.getStore("workflows")).toBe(workflows);
    expect(await composite.getStore("memory")).toBe(await other.getStore("memory"));
    expect(await store.importRuns(other)).toEqual({ copied: 2, skipped: 0 });
    expect(await store.importRuns(theirs, { statuses: ["success", "running"] })).toEqual({ copied: 1, skipped: 1 });
    expect(await store.stores.workflows.getWorkflowRunById({ workflowName: "w", runId: "r0" })).toMatchObject({
      resourceId: "u",
      createdAt: new Date(1_000),
      updatedAt: new Date(1_000),
      snapshot: { status: "suspended" },
    });
    for (const source of [undefined, {}, { stores: {} }, 7]) await wrongType(store.importRuns(source as never));
    await wrongType(store.importRuns(other, { statuses: "success" } as never));
  });
});

describe.each(kinds)("many workflow runs over %s", (kind) => {
  const STATUSES = ["success", "suspended", "failed"] as const;
  const COUNT = 120;

  /** Runs whose creation times are in another order than they were begun, with several at the same time. */
  async function fill(workflows: WorkflowsStorage) {
    for (let n = 0; n < COUNT; n++) {
      const at = new Date(1_000_000 + ((n * 37) % 50) * 1_000);
      await workflows.persistWorkflowSnapshot({
        workflowName: `w${n % 3}`,
        runId: `run-${n % 40}`,
        ...(n % 5 > 0 && { resourceId: `u${n % 5}` }),
        snapshot: snapshot({ runId: `run-${n % 40}`, status: STATUSES[(n % 7) % 3] }),
        createdAt: at,
        updatedAt: at,
      });
    }
  }

  it("have the pages, the totals and the filters of Mastra's own store", async () => {
    const theirs = await libsql().then(async (store) => (await store.getStore("workflows"))!);
    const ours = storeAt(place(kind)).stores.workflows;
    await fill(theirs);
    await fill(ours);
    const [from, to] = [new Date(1_010_000), new Date(1_030_000)];
    for (const filter of [
      {},
      { workflowName: "w1" },
      { workflowName: "w" },
      { status: "suspended" as const },
      { resourceId: "u3" },
      { fromDate: from },
      { toDate: to },
      { fromDate: from, toDate: to, workflowName: "w2", status: "success" as const },
    ]) {
      const all = await ours.listWorkflowRuns(filter);
      const name = ({ workflowName, runId, createdAt }: (typeof all.runs)[number]) =>
        `${createdAt.getTime()} ${workflowName} ${runId}`;
      // Mastra's stores leave the order of runs of the same time open.
      const wanted = await theirs.listWorkflowRuns(filter);
      expect(all.total).toBe(wanted.total);
      expect(all.runs.map(name).toSorted()).toEqual(wanted.runs.map(name).toSorted());
      const times = all.runs.map(({ createdAt }) => createdAt.getTime());
      expect(times).toEqual(times.toSorted((a, b) => b - a));
      for (const perPage of [1, 7, 50]) {
        const paged = [];
        for (let page = 0; page * perPage < all.total; page++) {
          const { runs, total } = await ours.listWorkflowRuns({ ...filter, page, perPage });
          expect(total).toBe(all.total);
          paged.push(...runs);
        }
        expect(paged).toEqual(all.runs);
      }
    }
    for (const runId of ["run-0", "run-39", "run-4", "run", "w0"]) {
      const [ofOurs, ofTheirs] = [await ours.getWorkflowRunById({ runId }), await theirs.getWorkflowRunById({ runId })];
      expect(ofOurs?.createdAt).toEqual(ofTheirs?.createdAt);
      expect(ofOurs?.runId).toBe(ofTheirs?.runId);
    }
  });

  it("are read for a page only as far as it goes", async () => {
    const { workflows } = storeAt(place(kind)).stores;
    await fill(workflows);
    const { asyncEnd } = tracingChannel("forkpoint:read");
    const counted: Array<[operation: string, count: unknown]> = [];
    const hear = (message: unknown) => {
      const { operation, result } = message as CallContext;
      counted.push([operation, result]);
    };
    asyncEnd.subscribe(hear);
    onTestFinished(() => void asyncEnd.unsubscribe(hear));
    const read = async (call: Promise<unknown>) => {
      counted.length = 0;
      await call;
      return counted.splice(0);
    };
    expect(await read(workflows.listWorkflowRuns({ page: 0, perPage: 10 }))).toEqual([
      ["select", 10],
      ["snapshots", 10],
    ]);
    expect(await read(workflows.listWorkflowRuns({ page: 0, perPage: 0 }))).toEqual([["select", 0]]);
    expect(await read(workflows.listWorkflowRuns({ page: 1, perPage: 4, status: "suspended" }))).toEqual([
      ["select", 8],
      ["snapshots", 4],
    ]);
    expect(await read(workflows.getWorkflowRunById({ runId: "run-39" }))).toEqual([
      ["named", 3],
      ["snapshots", 1],
    ]);
  });
});

describe.each(sharedKinds)("the workflows of a store that was closed, over %s", (kind) => {
  it("are there again", async () => {
    const target = place(kind);
    const before = storeAt(target);
    await before.stores.workflows.persistWorkflowSnapshot({ ...at, resourceId: "u", snapshot: snapshot() });
    await before.close();
    const after = storeAt(target).stores.workflows;
    await after.persistWorkflowSnapshot({ ...at, snapshot: snapshot({ status: "success" }) });
    expect(await after.getWorkflowRunById(at)).toMatchObject({ resourceId: "u", snapshot: { status: "success" } });
  });
});

it("a program that uses require gets a store of its own copy of Mastra", async () => {
  const required = createRequire(import.meta.url);
  const theirs = required("@mastra/core/storage") as typeof import("@mastra/core/storage");
  const { ForkpointMastraStore: Store } = required("forkpoint/mastra") as typeof import("forkpoint/mastra");
  const store = new Store("memory:");
  expect(store).toBeInstanceOf(theirs.MastraCompositeStore);
  expect(new ForkpointMastraStore("memory:")).toBeInstanceOf(MastraCompositeStore);
  await store.stores.workflows.persistWorkflowSnapshot({ ...at, snapshot: snapshot() });
  expect(await store.stores.workflows.loadWorkflowSnapshot(at)).toEqual(snapshot());
  await store.close();
});

it("a store needs a target", () => {
  expect(() => new ForkpointMastraStore(undefined as never)).toThrow(TypeError);
  expect(() => new ForkpointMastraStore("memory:", { id: "" })).toThrow(TypeError);
  expect(() => new ForkpointMastraStore("memory:", { unknown: 1 } as never)).toThrow(TypeError);
});
