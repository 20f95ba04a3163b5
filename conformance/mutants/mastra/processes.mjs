// Mutants that only other processes, kills and bytes find.
import { setTimeout as sleep } from "node:timers/promises";

/** Half a record of a change has only a part of what is changed. */
const half = (method, [given, ...others]) => {
  if (method === "persistWorkflowSnapshot") {
    const { context, ...fields } = given.snapshot;
    return [{ ...given, snapshot: { ...fields, context: { input: context.input } } }, ...others];
  }
  if (method === "updateWorkflowResults") return [{ ...given, requestContext: {} }, ...others];
  return [given, ...others];
};

/** The largest figures of a mutant are larger than those of the reference. */
const isWorse = (mutant, reference) =>
  mutant.some(({ name, value }) => value > 1.2 * reference.find((figure) => figure.name === name).value);

/** Every change takes some KB more. */
const encode = ([given, ...others]) => [{ ...given, padding: Buffer.alloc(200_000) }, ...others];

/** An update reads a snapshot and persists it. Other processes may have changed it in the meantime. */
function reading(store) {
  let last = Promise.resolve();
  const update = async ({ stepId, result, requestContext, ...key }) => {
    const snapshot = await store.loadWorkflowSnapshot(key);
    await sleep(10);
    snapshot.context[stepId] = result;
    snapshot.requestContext = { ...snapshot.requestContext, ...requestContext };
    await store.persistWorkflowSnapshot({ ...key, snapshot });
    return snapshot.context;
  };
  return { updateWorkflowResults: (given) => (last = last.then(() => update(given))) };
}

const forgets = (method) => ({ faults: { forgets: (name) => name === method } });

export const mutants = {
  "mastra/restart-reads-a-run": forgets("persistWorkflowSnapshot"),
  "mastra/restart-resumes-a-run": forgets("updateWorkflowState"),
  "mastra/restart-keeps-deletions": forgets("deleteWorkflowRunById"),
  "mastra/processes-see-each-other": { faults: { isDeaf: true } },
  "mastra/race-of-results": { wrap: reading },
  "mastra/race-of-claims": { faults: { unlockedMs: 10 } },
  "mastra/race-of-runs": { faults: { forgets: (_, [run]) => run?.runId === "b9" } },
  "mastra/kill-keeps-snapshots": { faults: { lateMs: 300 } },
  "mastra/kill-leaves-no-half-snapshot": { faults: { tornMs: 30, half } },
  "mastra/kill-keeps-results": { faults: { lateMs: 300 } },
  "mastra/kill-leaves-no-half-result": { faults: { tornMs: 30, half } },
  "mastra/kill-keeps-deletions": {
    faults: { forgets: (method, [run]) => method === "deleteWorkflowRunById" && run.runId === "r0" },
  },
  "mastra/growth-of-a-run": { encode, isWorse },
  "mastra/growth-of-results": { encode, isWorse },
  "mastra/growth-after-deletion": { encode, isWorse },
};
