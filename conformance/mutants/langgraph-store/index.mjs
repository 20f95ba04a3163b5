// Stores that are wrong in one way each, by the id of the expectation that names it. `?mutant=<id>` chooses one.
import { existsSync } from "node:fs";
import { durable } from "../durable.mjs";
import { contract } from "./contract.mjs";
import { filters } from "./filters.mjs";
import { hostile } from "./hostile.mjs";
import { isolation } from "./isolation.mjs";
import { processes } from "./processes.mjs";
import { ReferenceStore, changes } from "./reference.mjs";
import { changed } from "./wrong.mjs";

/**
 * A mutant is the class of its store, or has one or more of these:
 * - `store`: its class.
 * - `faults`: those of its file, see `durable`.
 * - `changes`: the names of more methods that change something.
 * - `wrap(store, { target, isNew })`: returns the store that is used in its place. Its method `end` is called when it is closed.
 * - `isWorse(figures, reference)`: for figures, which cannot fail.
 */
export const mutants = { ...contract, ...filters, ...isolation, ...hostile, ...processes };

const found = mutants[new URL(import.meta.url).searchParams.get("mutant")] ?? {};
const wrong = typeof found === "function" ? { store: found } : found;

/** Takes the arguments of the moment of the call. */
const copying = (store) =>
  changed(
    store,
    Object.fromEntries(changes.map((name) => [name, async (...args) => store[name](...structuredClone(args))])),
  );

export const name = "reference";
export function open({ target }) {
  const { store: Store = ReferenceStore, wrap = (store) => store } = wrong;
  const isNew = !existsSync(target);
  const names = [...changes, ...(wrong.changes ?? [])];
  return wrap(copying(durable((now) => new Store(now), target, names, { faults: wrong.faults })), { target, isNew });
}
export const close = (store) => store.end?.();
