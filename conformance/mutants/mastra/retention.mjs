// Mutants of deletion and pruning.
import { ReferenceStore } from "./reference.mjs";

export const mutants = {
  "mastra/delete": class extends ReferenceStore {
    async deleteWorkflowRunById(key) {
      const run = this.find(key);
      if (run !== undefined) run.snapshot = null;
    }
    matches = (run, filter) => super.matches(run.snapshot === null ? { ...run, snapshot: {} } : run, filter);
  },
  "mastra/delete-unknown": class extends ReferenceStore {
    async deleteWorkflowRunById(key) {
      if (this.find(key) === undefined) throw new Error("no such run");
      await super.deleteWorkflowRunById(key);
    }
  },
  "mastra/delete-and-begin-again": class extends ReferenceStore {
    deleted = new Map();
    async deleteWorkflowRunById(key) {
      const run = this.find(key);
      if (run !== undefined) this.deleted.set(this.keyOf(key.workflowName, key.runId), run);
      await super.deleteWorkflowRunById(key);
    }
    async persistWorkflowSnapshot(given) {
      const { resourceId, createdAt } = this.deleted.get(this.keyOf(given.workflowName, given.runId)) ?? {};
      await super.persistWorkflowSnapshot({ resourceId, createdAt, ...given });
    }
  },
  "mastra/deleted-stays-deleted": class extends ReferenceStore {
    deleted = new Map();
    async deleteWorkflowRunById(key) {
      this.deleted.set(this.keyOf(key.workflowName, key.runId), this.find(key));
      await super.deleteWorkflowRunById(key);
    }
    async updateWorkflowResults(given) {
      const key = this.keyOf(given.workflowName, given.runId);
      if (this.deleted.has(key)) this.runs.set(key, this.deleted.get(key));
      return await super.updateWorkflowResults(given);
    }
  },
  "mastra/clear": class extends ReferenceStore {
    // Only of one workflow.
    async dangerouslyClearAll() {
      for (const [key, { workflowName }] of this.runs) if (workflowName === "w0") this.runs.delete(key);
    }
  },
  "mastra/prune": class extends ReferenceStore {
    async prune(policies, options) {
      // By the age of runs.
      for (const run of this.runs.values()) run.updatedAt = run.createdAt;
      return await super.prune(policies, options);
    }
  },
  "mastra/prune-in-parts": class extends ReferenceStore {
    prune = async (policies) => super.prune(policies);
  },
  "mastra/prune-nothing": class extends ReferenceStore {
    prune = async ({ workflowSnapshot = { maxAge: 1 } }, options) => super.prune({ workflowSnapshot }, options);
  },
};
