// Mutants that mix up runs, or a store and its callers.
import { ReferenceStore } from "./reference.mjs";
import { naming } from "./wrong.mjs";

export const mutants = {
  "mastra/runs-of-one-id": class extends ReferenceStore {
    async deleteWorkflowRunById({ runId }) {
      for (const [key, run] of this.runs) if (run.runId === runId) this.runs.delete(key);
    }
  },
  "mastra/runs-of-one-workflow": class extends ReferenceStore {
    async updateWorkflowState({ runId, ...given }) {
      const changed = await super.updateWorkflowState({ ...given, runId });
      for (const run of this.runs.values())
        if (run.workflowName === given.workflowName) run.snapshot.status = given.opts.status;
      return changed;
    }
  },
  "mastra/names-are-not-joined": naming((workflowName, runId) => `${workflowName}-${runId}`),
  "mastra/odd-runs": naming((...both) => JSON.stringify(both).toLowerCase()),
  "mastra/nul-in-names": naming((...both) => JSON.stringify(both.map((name) => name.split("\0")[0]))),
  "mastra/copies-of-what-is-read": class extends ReferenceStore {
    loadWorkflowSnapshot = async (key) => this.find(key)?.snapshot ?? null;
  },
  "mastra/copies-of-what-updates-return": class extends ReferenceStore {
    async updateWorkflowState(given) {
      const isChanged = (await super.updateWorkflowState(given)) !== undefined;
      return isChanged ? this.find(given).snapshot : undefined;
    }
  },
  "mastra/copies-of-what-is-stored": {
    isLate: true,
    store: class extends ReferenceStore {
      copyIn = (value) => value;
    },
  },
  "mastra/copies-at-the-call": { isLate: true },
};
