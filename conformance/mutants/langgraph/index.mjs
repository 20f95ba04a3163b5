// Checkpointers that are wrong in one way each, by the id of the expectation that names it. `?mutant=<id>` chooses one.
import { durable } from "../durable.mjs";
import { contract } from "./contract.mjs";
import { hostile, order } from "./order.mjs";
import { processes } from "./processes.mjs";
import { ReferenceSaver, changes } from "./reference.mjs";

/**
 * Each mutant is the class of its store, or has that as `store`, the faults or the encoding of its file, or what is done around
 * the store or before it is opened.
 */
export const mutants = { ...contract, ...order, ...hostile, ...processes };

const found = mutants[new URL(import.meta.url).searchParams.get("mutant")] ?? {};
const wrong = typeof found === "function" ? { store: found } : found;

export const name = "reference";

export async function open({ target }) {
  const { store: Store = ReferenceSaver, faults, encode, wrap = (saver) => saver, open: begin } = wrong;
  await begin?.(target);
  const store = durable((now) => new Store(now), target, changes, { faults, ...(encode && { encode }) });
  const { getNextVersion } = new Store();
  const saver = {
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
  };
  return wrap(saver, target);
}
