// Stores that are wrong in one way each, by the id of the expectation that names it. `?mutant=<id>` chooses one.
import { durable } from "../durable.mjs";
import { entries } from "./entries.mjs";
import { keys } from "./keys.mjs";
import { lists } from "./lists.mjs";
import { processes } from "./processes.mjs";
import { ReferenceStore, changes } from "./reference.mjs";
import { retention } from "./retention.mjs";
import { summaries } from "./summaries.mjs";

/**
 * Each mutant is the class of its store, or has that as `store`, the faults of its file, or a function that wraps the store:
 * `wrap(store, target)` returns the methods that are other ones.
 */
export const mutants = { ...entries, ...summaries, ...lists, ...keys, ...retention, ...processes };

const found = mutants[new URL(import.meta.url).searchParams.get("mutant")] ?? {};
const wrong = typeof found === "function" ? { store: found } : found;

export const name = "reference";

export function open({ target }) {
  const { store: Store = ReferenceStore, faults, wrap = () => ({}) } = wrong;
  const inner = durable((now) => new Store(now), target, changes, { faults });
  const store = {
    // Copies the entries before anything else happens.
    append: async (key, entries) => inner.append({ ...key }, structuredClone(entries)),
    load: (key) => inner.load(key),
    listSessions: (projectKey) => inner.listSessions(projectKey),
    listSessionSummaries: (projectKey) => inner.listSessionSummaries(projectKey),
    listSubkeys: (key) => inner.listSubkeys(key),
    delete: (key) => inner.delete(key),
  };
  return { ...store, ...wrap(inner, target) };
}
