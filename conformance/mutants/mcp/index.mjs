// Stores that are wrong in one way each, by the id of the expectation that names it. `?mutant=<id>` chooses one.
import { durable } from "../durable.mjs";
import { events } from "./events.mjs";
import { ReferenceEvents, ReferenceStore, ReferenceTasks, changes } from "./reference.mjs";
import { tasks } from "./tasks.mjs";

/** Each mutant is the class of its events or of its tasks, or has that of its store, or the faults of its file. */
export const mutants = { ...events, ...tasks };

const found = mutants[new URL(import.meta.url).searchParams.get("mutant")] ?? {};
const kindOf = ({ prototype }) => (prototype instanceof ReferenceEvents ? "events" : "tasks");
const wrong = typeof found === "function" ? { [kindOf(found)]: found } : found;

export const name = "reference";
export function open({ target }) {
  const { store: Store = ReferenceStore, events: Events = ReferenceEvents, tasks: Tasks = ReferenceTasks } = wrong;
  // A store that each process has for itself.
  const path = wrong.begin === true ? `${target}.${process.pid}` : target;
  const store = durable((now) => new Store(now), path, changes, { faults: wrong.faults ?? {} });
  return { events: (session) => new Events(store, session), tasks: new Tasks(store) };
}
