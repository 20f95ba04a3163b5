// Checkpointers that are wrong in one way each, by the id of the expectation that names it. `?mutant=<id>` chooses one.
import { durable } from "../durable.mjs";
import { ReferenceSaver, changes } from "./reference.mjs";
export const mutants = {};
const wrong = mutants[new URL(import.meta.url).searchParams.get("mutant")] ?? {};

export const name = "reference";

export async function open({ target }) {
  const { store: Store = ReferenceSaver, faults, wrap = (saver) => saver, open: begin } = wrong;
  await begin?.(target);
  const store = durable((now) => new Store(now), target, changes, { faults });
  const { getNextVersion } = new Store();
  return wrap({
    serde: store.serde,
    get: store.get,
    getTuple: store.getTuple,
    put: store.put,
    putWrites: store.putWrites,
    deleteThread: store.deleteThread,
    getDeltaChannelHistory: store.getDeltaChannelHistory,
    getNextVersion,
    async *list(config, options) {
      for (const at of await store.find(config, options)) {
        const tuple = await store.getTuple(at);
        if (tuple !== undefined) yield tuple;
      }
    },
  });
}
