// Mutants of the methods.
import { ReferenceStore } from "./reference.mjs";
import { after, persisting, returning, slow, without } from "./wrong.mjs";

export const mutants = {
  "mastra/load-unknown": returning("loadWorkflowSnapshot", (found) => found ?? undefined),
  "mastra/load-persisted": persisting((given) => ({ ...given, snapshot: without(given.snapshot, "resumeLabels") })),
  "mastra/persist-replaces": persisting((given, before) => ({
    ...given,
    snapshot: { ...before?.snapshot, ...given.snapshot },
  })),
  "mastra/get-run": returning("getWorkflowRunById", (run) => run && { ...run, createdAt: run.createdAt.toISOString() }),
  "mastra/get-unknown": returning("getWorkflowRunById", (run) => run ?? undefined),
  "mastra/get-by-id-alone": class extends ReferenceStore {
    getWorkflowRunById = async ({ runId, workflowName = "w" }) => super.getWorkflowRunById({ runId, workflowName });
  },
  "mastra/get-newest-of-an-id": class extends ReferenceStore {
    async getWorkflowRunById({ runId, workflowName }) {
      if (workflowName !== undefined) return await super.getWorkflowRunById({ runId, workflowName });
      return structuredClone([...this.runs.values()].find((run) => run.runId === runId) ?? null);
    }
  },
  "mastra/given-dates": persisting((given) => without(given, "updatedAt")),
  "mastra/created-at-stays": class extends ReferenceStore {
    async persistWorkflowSnapshot(given) {
      await super.persistWorkflowSnapshot(given);
      this.find(given).createdAt = given.createdAt ?? new Date(this.now());
    }
  },
  "mastra/created-at-of-the-first": class extends ReferenceStore {
    async persistWorkflowSnapshot(given) {
      await super.persistWorkflowSnapshot(given);
      if (given.createdAt !== undefined) this.find(given).createdAt = given.createdAt;
    }
  },
  "mastra/updated-at-moves": persisting((given, before) => ({ updatedAt: before?.updatedAt, ...given })),
  "mastra/resource-stays": after("persistWorkflowSnapshot", (run, _, { resourceId }) => (run.resourceId = resourceId)),
  "mastra/resource-changes": persisting((given, before) => ({
    ...given,
    resourceId: before?.resourceId ?? given.resourceId,
  })),
  "mastra/init-keeps": class extends ReferenceStore {
    async init() {
      this.runs.clear();
    }
  },

  "mastra/results-add-a-step": after("updateWorkflowResults", (run) => (run.snapshot.status = "running")),
  "mastra/results-replace-a-step": after("updateWorkflowResults", (run, before, { stepId, result }) => {
    run.snapshot.context[stepId] = { ...before.snapshot.context[stepId], ...result };
  }),
  "mastra/results-return-the-context": returning("updateWorkflowResults", (context, { stepId }) => ({
    [stepId]: context[stepId],
  })),
  "mastra/results-merge-the-request-context": after(
    "updateWorkflowResults",
    (run, _, { requestContext }) => (run.snapshot.requestContext = requestContext),
  ),
  "mastra/results-of-foreach": class extends ReferenceStore {
    async updateWorkflowResults(given) {
      const run = this.find(given);
      // The newest items replace the others.
      if (run !== undefined) delete run.snapshot.context[given.stepId];
      return await super.updateWorkflowResults(given);
    }
  },
  "mastra/results-of-foreach-again": class extends ReferenceStore {
    async updateWorkflowResults(given) {
      const output = Array.isArray(given.result.output)
        ? given.result.output.map((item) => (item?.["__mastra_pending__"] ? null : item))
        : given.result.output;
      return await super.updateWorkflowResults({ ...given, result: { ...given.result, output } });
    }
  },
  "mastra/results-of-an-unknown-run": class extends ReferenceStore {
    async updateWorkflowResults(given) {
      if (this.find(given) === undefined) throw new Error("no such run");
      return await super.updateWorkflowResults(given);
    }
  },
  "mastra/results-make-no-run": class extends ReferenceStore {
    async updateWorkflowResults(given) {
      const { workflowName, runId } = given;
      const snapshot = { runId, status: "pending", context: {} };
      if (this.find(given) === undefined) await this.persistWorkflowSnapshot({ workflowName, runId, snapshot });
      return await super.updateWorkflowResults(given);
    }
  },
  "mastra/results-move-updated-at": after("updateWorkflowResults", (run, before) => (run.updatedAt = before.updatedAt)),
  "mastra/state-changes": after("updateWorkflowState", (run, before) => {
    // Paths are merged.
    run.snapshot.suspendedPaths = { ...before.snapshot.suspendedPaths, ...run.snapshot.suspendedPaths };
  }),
  "mastra/state-of-an-unknown-run": returning("updateWorkflowState", (found) => found ?? null),
  "mastra/state-if-expected": class extends ReferenceStore {
    // Knows no lists.
    async updateWorkflowState(given) {
      return Array.isArray(given.opts.expectedStatus) ? undefined : await super.updateWorkflowState(given);
    }
  },
  "mastra/state-unless-expected": class extends ReferenceStore {
    async updateWorkflowState(given) {
      return await super.updateWorkflowState({ ...given, opts: without(given.opts, "expectedStatus") });
    }
  },
  "mastra/state-without-expected-status": after("updateWorkflowState", (run, _, { opts }) => {
    if (opts.expectedStatus !== undefined) run.snapshot.expectedStatus = opts.expectedStatus;
  }),
  "mastra/state-moves-updated-at": after("updateWorkflowState", (run, before) => (run.updatedAt = before.updatedAt)),
  "mastra/concurrent-updates": class extends ReferenceStore {
    supportsConcurrentUpdates = () => false;
  },
  "mastra/parallel-results": { store: slow("updateWorkflowResults"), isParallel: true },
  "mastra/parallel-states": { store: slow("updateWorkflowState"), isParallel: true },
  "mastra/parallel-claims": { store: slow("updateWorkflowState"), isParallel: true },
};
