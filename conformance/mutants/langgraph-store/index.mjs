// Stores that are wrong in one way each, by the id of the expectation that names it. `?mutant=<id>` chooses one.
import { durable } from "../durable.mjs";
import { ReferenceStore, changes } from "./reference.mjs";

/** Each mutant has the class of its store, or the faults of its file. */
export const mutants = {
  "langgraph-store/get-missing": {
    store: class extends ReferenceStore {
      async get(...of) {
        return (await super.get(...of)) ?? undefined;
      }
    },
  },
  "langgraph-store/kill-keeps-acknowledged": { faults: { lateMs: 200 } },
};

const wrong = mutants[new URL(import.meta.url).searchParams.get("mutant")] ?? {};

export const name = "reference";
export function open({ target }) {
  const { store: Store = ReferenceStore, faults } = wrong;
  return durable((now) => new Store(now), target, changes, { faults });
}
