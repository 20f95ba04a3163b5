// Tests that lists of runs with filters which no index has are complete, also where times are not in the order of the saves.
import { CheckpointStore, copyStore } from "forkpoint";
import { Workflow, WorkflowCheckpointStore } from "forkpoint/agentium";
import { type Inspector, type RunQuery } from "forkpoint/inspect";
import { describe, expect, test, vi } from "vitest";
import { allRuns, inspected as opened } from "../contents.js";
import { checkpoint, kinds, place } from "../helpers.js";

const found = async (inspector: Inspector, query: RunQuery) => (await allRuns(inspector, query)).map(({ run }) => run);

/** Compares each filter with the list of all runs. */
async function expectComplete(inspector: Inspector, query: RunQuery, fits: (run: any) => boolean): Promise<number> {
  const { items } = await inspector.runs({ sort: query.sort, limit: 1_000 });
  const expected = items.filter(fits).map(({ run }) => run);
  for (const limit of [2, 1_000]) {
    expect(await found(inspector, { ...query, limit })).toEqual(expected);
    expect(await found(inspector, { ...query, limit, maxMs: 1 })).toEqual(expected);
  }
  return expected.length;
}

async function savedAt(time: number, save: () => Promise<unknown>): Promise<void> {
  vi.useFakeTimers({ toFake: ["Date"], now: time });
  try {
    await save();
  } finally {
    vi.useRealTimers();
  }
}

const hour = 3_600_000;

describe.each(kinds)("a list in %s", (kind) => {
  test("of a group, a status and a time is complete", async () => {
    const { store, inspector } = await opened(place(kind));
    const graphs = new CheckpointStore(store);
    for (let n = 0; n < 12; n++) {
      const fields = { graphId: n % 3 === 0 ? "billing" : "support", pendingEdges: n % 4 === 0 ? [] : ["a->b"] };
      await graphs.save(checkpoint({ id: `c${n}`, runId: `run-${n}`, timestamp: n, ...fields }));
    }
    await graphs.save(checkpoint({ id: "again", runId: "run-3", timestamp: 99, graphId: "billing" }));
    const step = { id: "w", runId: "w", stepIndex: 0, stepName: "a", state: {}, createdAt: 1 };
    await new WorkflowCheckpointStore<object>(store).save(step);
    for (const sort of ["active", "began"] as const) {
      for (const group of ["bill", "support", "none", ""]) {
        await expectComplete(inspector, { group, sort }, (run) => (run.group ?? "").startsWith(group));
      }
      const { items } = await inspector.runs();
      expect(new Set(items.map(({ status }) => status)).size).toBeGreaterThan(1);
      for (const status of ["finished", "unfinished", "waiting", "failed", "unknown"] as const) {
        await expectComplete(inspector, { status, sort }, (run) => run.status === status);
        await expectComplete(
          inspector,
          { status, sort, group: "b" },
          (run) => run.status === status && run.group === "billing",
        );
      }
    }
    expect(await found(inspector, { group: "billing" })).toEqual(["run-3", "run-9", "run-6", "run-0"]);
    expect(await found(inspector, { ns: "x" })).toEqual([]);
    expect((await found(inspector, { sort: "size" })).length).toBe(13);
    expect(await found(inspector, { since: Date.now() + hour })).toEqual([]);
    expect((await found(inspector, { since: Date.now() - hour })).length).toBe(13);
  });

  test("since a time has runs that were copied in, or saved while the clock was wrong", async () => {
    const now = Date.now();
    const old = await opened(place(kind));
    const oldGraphs = new CheckpointStore(old.store);
    await savedAt(now - 48 * hour, async () => {
      for (let n = 0; n < 8; n++) await oldGraphs.save(checkpoint({ id: `o${n}`, runId: `old-${n}`, timestamp: n }));
    });
    const { store, inspector } = await opened(place(kind));
    const graphs = new CheckpointStore(store);
    for (let n = 0; n < 4; n++) await graphs.save(checkpoint({ id: `n${n}`, runId: `new-${n}`, timestamp: n }));
    const copied = Array.from({ length: 8 }, (_, n) => ({ space: "agentos", run: `old-${n}` }));
    await copyStore(old.store, store, { runs: copied });
    await savedAt(now - 24 * hour, () => graphs.save(checkpoint({ id: "w", runId: "wrong", timestamp: 1 })));
    const { items } = await inspector.runs();
    expect(items[0]).toMatchObject({ run: "wrong" });
    expect(items.at(-1)).toMatchObject({ run: "new-0" });
    for (const hours of [1, 30, 60]) {
      const since = now - hours * hour;
      const count = await expectComplete(inspector, { since }, ({ active }) => active >= since);
      expect(count).toBe({ 1: 4, 30: 5, 60: 13 }[hours]);
    }
  });

  test("of a version is complete, and a version that nobody knows has no runs", async () => {
    const { store, inspector } = await opened(place(kind));
    const checkpointStore = new WorkflowCheckpointStore<object>(store);
    for (const version of ["1", "2"]) {
      for (const n of [1, 2]) {
        const steps = [{ name: "a", run: () => {} }];
        const workflow = new Workflow({
          name: "w",
          version,
          initialState: {},
          steps,
          checkpointStore,
          register: false,
        });
        await workflow.runWithCheckpoints({ runId: `run ${version} ${n}` });
      }
    }
    expect(await expectComplete(inspector, { version: "2" }, (run) => run.version?.version === "2")).toBe(2);
    expect(await found(inspector, { version: "3" })).toEqual([]);
    expect(await found(inspector, { version: "abcdef" })).toEqual([]);
    expect(await found(inspector, { version: "2", space: "helix" })).toEqual([]);
  });
});
