// Stores that are wrong in one way each, by the id of the expectation that names it. `?mutant=<id>` chooses one.
import { durable } from "../durable.mjs";
import { growth } from "./growth.mjs";
import { methods } from "./methods.mjs";
import { processes } from "./processes.mjs";
import { ReferenceSession, ReferenceStore, changes } from "./reference.mjs";
import { transactions } from "./transactions.mjs";
import { values } from "./values.mjs";

/**
 * Each mutant is the class of its store or of its sessions, or has that, the faults of its file, `encode` for what its file has,
 * or `begin`, which is called when the store is opened.
 */
export const mutants = { ...methods, ...transactions, ...values, ...processes, ...growth };

const found = mutants[new URL(import.meta.url).searchParams.get("mutant")] ?? {};
const kind = found.prototype instanceof ReferenceSession ? "session" : "store";
const wrong = typeof found === "function" ? { [kind]: found } : found;

export const name = "reference";
export async function open({ target }) {
  const { store: Store = ReferenceStore, session: Session = ReferenceSession, faults, encode, begin } = wrong;
  await begin?.(target);
  const store = durable(() => new Store(), target, changes, { faults, ...(encode && { encode }) });
  return { session: async (id) => new Session(store, id) };
}
