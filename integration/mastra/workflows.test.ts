// Tests the domain `workflows` beyond its contract: late snapshots, arguments, retention, leases, the inspector, imports, pages.
// forkpoint-conformance.test.ts states the contract.
import { tracingChannel } from "node:diagnostics_channel";
import { createRequire } from "node:module";
import { MastraCompositeStore, type WorkflowsStorage } from "@mastra/core/storage";
import { type CallContext, copyStore, openStore } from "forkpoint";
import { openInspector } from "forkpoint/inspect";
import { ForkpointMastraStore } from "forkpoint/mastra";
import { describe, expect, it, onTestFinished } from "vitest";
import { kinds, place, rejection, wrongType } from "../../__test__/helpers.js";
import { at, failure, libsql, snapshot, storeAt } from "./helpers.js";

const step = (n: number) => ({ status: "success" as const, output: { n }, payload: {}, startedAt: 1, endedAt: 2 });

async function idsOf(workflows: WorkflowsStorage, args?: Parameters<WorkflowsStorage["listWorkflowRuns"]>[0]) {
  return (await workflows.listWorkflowRuns(args)).runs.map(({ runId }) => runId);
}

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
    expect(await rejection(workflows.listWorkflowRuns({ page: 1, perPage: false }))).toBeInstanceOf(RangeError);
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
    await using inspector = await openInspector(store, { write: true });
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
