// Mutants that keep other values.
import { ReferenceStore } from "./reference.mjs";
import { after, keeping, persisting, texts } from "./wrong.mjs";

export const mutants = {
  "mastra/json-values": texts((json) => json.replaceAll("\u0301", "")),
  "mastra/order-of-steps": after("persistWorkflowSnapshot", ({ snapshot }) => {
    const steps = Object.entries(snapshot.context).toSorted(([a], [b]) => (a < b ? -1 : 1));
    snapshot.context = Object.fromEntries(steps);
  }),
  "mastra/nul-in-texts": texts((json) => json.replaceAll("\\u0000", "")),
  "mastra/half-characters": texts((json) => json.replaceAll(/\\ud[89a-f]../g, "\ufffd")),
  "mastra/dates": texts((json) => json),
  "mastra/values-beyond-json": keeping(function change(value) {
    if (typeof value === "bigint") return `${value}`;
    if (typeof value !== "object" || value === null || value instanceof Date) return value;
    if (value instanceof Map || value instanceof Set) return {};
    if (Array.isArray(value)) return value.map(change);
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, change(one)]));
  }),
  "mastra/proto-key": keeping(function change(value) {
    if (Array.isArray(value)) return value.map(change);
    if (typeof value !== "object" || value === null || value.constructor !== Object) return value;
    const result = {};
    for (const name of Object.keys(value)) result[name] = change(value[name]);
    return result;
  }),
  "mastra/big-snapshot": persisting((given) => {
    if (JSON.stringify(given.snapshot).length > 4_000_000) throw new Error("too large");
    return given;
  }),
  "mastra/deep-snapshot": keeping(function change(value, depth = 0) {
    if (typeof value !== "object" || value === null || value instanceof Date) return value;
    if (depth > 100) return "[Max depth exceeded]";
    if (Array.isArray(value)) return value.map((one) => change(one, depth + 1));
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, change(one, depth + 1)]));
  }),
  "mastra/odd-steps": class extends ReferenceStore {
    // The id becomes a path.
    async updateWorkflowResults({ stepId, ...given }) {
      return await super.updateWorkflowResults({ ...given, stepId: stepId.split(".")[0] });
    }
  },
  "mastra/rejected-persist": {
    isLate: true,
    store: class extends ReferenceStore {
      async persistWorkflowSnapshot(given) {
        this.runs.delete(this.keyOf(given.workflowName, given.runId));
        await super.persistWorkflowSnapshot(given);
      }
    },
  },
};
