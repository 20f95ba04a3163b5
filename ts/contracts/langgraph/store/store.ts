/** Makes the class `ForkpointStore` from LangGraph's package. */

import { ForkpointError, rangeError, show, typeError } from "../../../bridge/errors.js";
import { withStoreMethods } from "../../../store/contract-store.js";
import { StoreHandle } from "../../../store/handle.js";
import { setHandle } from "../../../store/handle-of.js";
import { flag, readRecord, splitOptions } from "../../../store/options.js";
import type { Store } from "../../../store/store.js";
import { later } from "../lazily.js";
import type { Peer } from "../tuples.js";
import type { ForkpointStore, ForkpointStoreOptions } from "./forkpoint-store.js";
import type { Items, Ttl } from "./items.js";
import { storeCalls } from "./wire.js";

const MINUTE = 60_000;

const ownOptions = {
  ttl(value: unknown, name: string): Ttl | undefined {
    const { defaultTtl: ms, refreshOnRead = true } = readRecord(value, name, { defaultTtl, refreshOnRead: flag });
    return ms === undefined ? undefined : { ms, refreshOnRead };
  },
  index(value: unknown): void {
    if (value === undefined) return;
    throw new ForkpointError(
      "UNSUPPORTED",
      'option "index" asks for semantic search, which ForkpointStore does not have: leave it out, and keep embeddings in a ' +
        "vector store",
    );
  },
};

function defaultTtl(value: unknown, name: string): number {
  if (typeof value !== "number") throw typeError(`${name} must be a number of minutes, but is ${show(value)}`);
  const ms = Math.ceil(value * MINUTE);
  if (Number.isSafeInteger(ms) && ms > 0) return ms;
  throw rangeError(`${name} must be a positive number of minutes, but is ${value}`);
}

/** Makes the store class for one copy of LangGraph's package. See `saverOf`. */
export function storeOf(peer: Peer): typeof ForkpointStore {
  /** Checks a namespace with LangGraph's own `put`, which writes only accepted namespaces to this object. */
  const checkNamespace = (namespace: unknown): Promise<void> | undefined => {
    let isAccepted = false;
    const batch = () => {
      isAccepted = true;
      return Promise.resolve([]);
    };
    const put = peer.BaseStore.prototype.put.call({ batch } as never, namespace as string[], "", {});
    return isAccepted ? undefined : put;
  };

  const made = class ForkpointStore extends peer.BaseStore {
    readonly #handle: StoreHandle;
    readonly #ttl: Ttl | undefined;
    #items: Items | undefined;

    constructor(target: string | URL | Store, options?: ForkpointStoreOptions) {
      const { own, others } = splitOptions(options, ownOptions);
      super();
      this.#ttl = own.ttl;
      this.#handle = StoreHandle.of(target, others, storeCalls);
      setHandle(this, this.#handle);
    }

    async batch(operations: unknown): Promise<any> {
      const given = later().operationsOf(operations);
      this.#items ??= new (later().Items)(this.#handle, this.#ttl, checkNamespace);
      return this.#items.batch(given);
    }
  };
  return withStoreMethods(made, "stats", "check", "vacuum", "close", Symbol.asyncDispose);
}
