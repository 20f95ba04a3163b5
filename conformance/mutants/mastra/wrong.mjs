// Makes stores that are wrong in one way.
import { ReferenceStore } from "./reference.mjs";

/** Returns a copy without a field. */
export function without(value, name) {
  const { ...copy } = value;
  delete copy[name];
  return copy;
}

/** A store that persists something else than it is given. `before` is the run that is there. */
export const persisting = (change) =>
  class extends ReferenceStore {
    persistWorkflowSnapshot = async (given) => super.persistWorkflowSnapshot(change(given, this.find(given)));
  };

/** A store in which a call has another result. */
export const returning = (method, change) =>
  class extends ReferenceStore {
    async [method](...args) {
      return change(await super[method](...args), ...args);
    }
  };

/** A store that changes its run after an update. `before` is a copy of the run before. */
export const after = (method, change) =>
  class extends ReferenceStore {
    async [method](given) {
      const before = structuredClone(this.find(given));
      const result = await super[method](given);
      const run = this.find(given);
      if (run !== undefined) change(run, before, given);
      return result;
    }
  };

/** A store that keeps other values. */
export const keeping = (change) =>
  class extends ReferenceStore {
    copyIn = (value) => change(super.copyIn(value));
  };

/** A store that names runs in another way. */
export const naming = (keyOf) =>
  class extends ReferenceStore {
    keyOf = (workflowName, runId) => keyOf(workflowName, runId);
  };

/** A store that reads a snapshot, lets others do something, and writes it: updates are no transactions. */
export const slow = (method) =>
  class extends ReferenceStore {
    async [method](given) {
      const before = structuredClone(this.find(given));
      const others = new Promise((resolve) => setTimeout(resolve, 1));
      await others;
      if (before !== undefined) this.runs.set(this.keyOf(given.workflowName, given.runId), before);
      return await super[method](given);
    }
  };

/** A store that keeps JSON, and changes it. */
export const texts = (change) =>
  keeping((value) => (value instanceof Date ? value : JSON.parse(change(JSON.stringify(value)))));
