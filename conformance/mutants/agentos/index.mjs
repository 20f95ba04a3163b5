// Stores that are wrong in one way each, by the id of the expectation that names it. `?mutant=<id>` chooses one.
import { durable } from "../durable.mjs";
import { contract } from "./contract.mjs";
import { forks } from "./fork.mjs";
import { hostile } from "./hostile.mjs";
import { processes } from "./processes.mjs";
import { ReferenceStore, changes } from "./reference.mjs";

/**
 * A mutant is the class of its store, or has some of these: the class of its `store`, the `faults` of its file, how calls are put
 * there (`encode`, `decode`, `at`), methods `around` those of the store, or all of it (`open`). `isRaw`: its arguments are not
 * copied when it is called.
 */
export const mutants = { ...contract, ...forks, ...hostile, ...processes };

const found = mutants[new URL(import.meta.url).searchParams.get("mutant")] ?? {};
const wrong = typeof found === "function" ? { store: found } : found;

export const name = "reference";

/** Copies what the store is given when it is called: `durable` calls methods later. */
const copying = (store) => ({
  save: async (checkpoint) => store.save(structuredClone(checkpoint)),
  fork: async (checkpointId, patch) => store.fork(checkpointId, structuredClone(patch)),
});

const methods = (store) =>
  Object.fromEntries(
    ["save", "get", "load", "latest", "list", "delete", "fork"].map((method) => [
      method,
      (...args) => store[method](...args),
    ]),
  );

export function open({ target }) {
  const { store: Store = ReferenceStore, faults, encode, decode, at = (given) => given, around, isRaw = false } = wrong;
  if (wrong.open !== undefined) return wrong.open(target);
  const inner = methods(durable((now) => new Store(now), at(target), changes, { faults, encode, decode }));
  const outer = isRaw ? inner : { ...inner, ...copying(inner) };
  return around === undefined ? outer : { ...outer, ...around(outer, target) };
}
