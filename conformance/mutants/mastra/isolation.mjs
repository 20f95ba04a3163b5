// Mutants that mix up runs, or a store and its callers.
import { ReferenceStore } from "./reference.mjs";
import { naming } from "./wrong.mjs";

export const mutants = {
  "mastra/runs-of-one-id": {
    store: class extends ReferenceStore {
      async deleteWorkflowRunById({ runId }) {
        for (const [key, run] of this.runs) if (run.runId === runId) this.runs.delete(key);
      }
    },
  },
  "mastra/runs-of-one-workflow": {
    store: class extends ReferenceStore {
      async updateWorkflowState({ runId, ...given }) {
        const changed = await super.updateWorkflowState({ ...given, runId });
        for (const run of this.runs.values())
          if (run.workflowName === given.workflowName) run.snapshot.status = given.opts.status;
        return changed;
      }
    },
  },
  "mastra/names-are-not-joined": { store: naming((workflowName, runId) => `${workflowName}-${runId}`) },
  "mastra/odd-runs": { store: naming((...both) => JSON.stringify(both).toLowerCase()) },
  "mastra/nul-in-names": { store: naming((...both) => JSON.stringify(both.map((name) => name.split("\0")[0]))) },
  "mastra/copies-of-what-is-read": {
    store: class extends ReferenceStore {
      async loadWorkflowSnapshot(key) {
        return this.find(key)?.snapshot ?? null;
      }
    },
  },
  "mastra/copies-of-what-updates-return": {
    store: class extends ReferenceStore {
      async updateWorkflowState(given) {
        const isChanged = (await super.updateWorkflowState(given)) !== undefined;
        return isChanged ? this.find(given).snapshot : undefined;
      }
    },
  },
  "mastra/copies-of-what-is-stored": {
    isLate: true,
    store: class extends ReferenceStore {
      copyIn(value) {
        return value;
      }
    },
  },
  "mastra/copies-at-the-call": { isLate: true },
};
