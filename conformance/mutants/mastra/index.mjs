// Stores that are wrong in one way each, by the id of the expectation that names it. `?mutant=<id>` chooses one.
import { durable } from "../durable.mjs";
import { mutants as contract } from "./contract.mjs";
import { mutants as hostile } from "./hostile.mjs";
import { mutants as isolation } from "./isolation.mjs";
import { mutants as lists } from "./lists.mjs";
import { mutants as processes } from "./processes.mjs";
import { ReferenceStore, changes } from "./reference.mjs";
import { mutants as retention } from "./retention.mjs";

/**
 * A mutant is the class of its store, or has one or more of these:
 * - `store`: its class.
 * - `faults`: those of its file, see `durable`.
 * - `encode`: changes what is written into its file.
 * - `isLate`: arguments are copied only when the store comes to a call.
 * - `isParallel`: calls do not wait for each other.
 * - `wrap(store)`: returns the methods that are used in place of those of the store.
 * - `isWorse(figures, reference)`: for figures, which cannot fail.
 */
export const mutants = { ...contract, ...hostile, ...isolation, ...lists, ...processes, ...retention };

const found = mutants[new URL(import.meta.url).searchParams.get("mutant")] ?? {};
const wrong = typeof found === "function" ? { store: found } : found;

export const name = "reference";
export function open({ target }) {
  const { store: Store = ReferenceStore, faults, encode, isLate, isParallel, wrap } = wrong;
  const store = isParallel
    ? new Store(Date.now)
    : durable((now) => new Store(now), target, changes, { encode, faults });
  const wrapped = wrap?.(store) ?? {};
  const supports = new Store(Date.now).supportsConcurrentUpdates();
  return new Proxy(store, {
    get(_, method) {
      if (method === "then") return undefined;
      // The only method that returns no promise.
      if (method === "supportsConcurrentUpdates") return () => supports;
      const from = method in wrapped ? wrapped : store;
      return async (...args) => from[method](...(isLate ? args : structuredClone(args)));
    },
  });
}
