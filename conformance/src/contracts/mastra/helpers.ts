// Runs and snapshots for the expectations.
import assert from "node:assert/strict";
import { NotOffered } from "../../suite/not-offered.js";
import type { Trial } from "../../suite/types.js";
import type { Filter, Key, Persist, Run, Store } from "./store.js";

/** The run of most expectations. */
export const key: Key = { workflowName: "w", runId: "r" };

/** A time in 2023, in s after its begin. */
export const at = (seconds: number) => new Date(1_700_000_000_000 + 1_000 * seconds);

/** The result of a step. */
export const step = (output: unknown) => ({ status: "success", output, payload: {}, startedAt: 1, endedAt: 2 });

/** A snapshot of a run. */
export const snapshot = (fields: Record<string, unknown> = {}): any => ({
  runId: "r",
  status: "running",
  value: {},
  context: { input: { n: 1 } },
  activePaths: [],
  activeStepsPath: {},
  serializedStepGraph: [],
  suspendedPaths: {},
  waitingPaths: {},
  resumeLabels: {},
  timestamp: 1_700_000_000_000,
  ...fields,
});

/** A snapshot as the workflow engine persists it when a step suspends. */
export const suspended = (): any =>
  snapshot({
    status: "suspended",
    value: { counter: "3" },
    context: {
      input: { user: "Michael", amount: 100.25, approvers: ["manager", "finance"], note: null, isUrgent: false },
      draft: step({
        text: "Dear Ada,\n\tyour order \u2713 has left \u{1F69A}.",
        lines: [
          { id: 1, tags: [] },
          { id: 2, tags: ["a"] },
        ],
      }),
      approve: {
        status: "suspended",
        payload: { text: "Dear Ada" },
        suspendPayload: { ask: "Send it?", __workflow_meta: { runId: "inner", path: ["nested", "approve"] } },
        startedAt: 1_700_000_000_001,
        suspendedAt: 1_700_000_000_002,
      },
    },
    activePaths: [1, 0],
    activeStepsPath: { approve: [1, 0] },
    suspendedPaths: { approve: [1, 0], "nested.approve": [1, 0, 2] },
    waitingPaths: { sleep: [2] },
    resumeLabels: { manager: { stepId: "approve", foreachIndex: 0 } },
    serializedStepGraph: [
      { type: "step", step: { id: "draft" } },
      { type: "parallel", steps: [] },
    ],
    stepExecutionPath: ["draft", "approve"],
    requestContext: { tenant: "t-1", roles: ["a", "b"] },
    tracingContext: { traceId: "t", spanId: "s" },
  });

/** Persists a run of the workflow `w`. */
export const persist = (store: Store, run: Partial<Persist> = {}) =>
  store.persistWorkflowSnapshot({ ...key, snapshot: snapshot(), ...run });

/** Stores the result of a step of the run `r`. */
export const finish = (store: Store, stepId: string, result: unknown, requestContext: Record<string, unknown> = {}) =>
  store.updateWorkflowResults({ ...key, stepId, result, requestContext });

/** Returns the snapshot of the run `r`. */
export const load = (store: Store) => store.loadWorkflowSnapshot(key);

/** Returns the run. Rejects if it isn't there. */
export async function get(store: Store, of: Key = key): Promise<Run> {
  const run = await store.getWorkflowRunById(of);
  assert(run, `getWorkflowRunById must return the run ${of.runId} of ${of.workflowName}`);
  return run;
}

/** Returns the snapshot of a run, which may be JSON. */
export const parsed = ({ snapshot: found }: Run): any => (typeof found === "string" ? JSON.parse(found) : found);

/** Returns the ids of the runs that are listed. */
export async function ids(store: Store, filter?: Filter): Promise<string[]> {
  return (await store.listWorkflowRuns(filter)).runs.map(({ runId }) => runId);
}

/**
 * Checks that nothing is lost where a store says that it supports concurrent updates. For other stores it is only a figure, and the
 * expectation is skipped.
 */
export function nothingLost(trial: Trial<Store>, store: Store, what: string, kept: number, of: number): void {
  trial.figure(what, Math.round((100 * kept) / of), "of 100");
  if (!store.supportsConcurrentUpdates())
    throw new NotOffered("the store says that it does not support concurrent updates");
  assert.equal(kept, of, `${what}: each update must be one transaction, which reads and writes the snapshot`);
}
