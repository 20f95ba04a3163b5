/** Makes the class `ForkpointCache` from LangGraph's package. */

import type { CacheFullKey, CacheNamespace, SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { typeError } from "../../../bridge/errors.js";
import { withStoreMethods } from "../../../store/contract-store.js";
import { StoreHandle } from "../../../store/handle.js";
import { setHandle } from "../../../store/handle-of.js";
import { requireId } from "../../../store/ids.js";
import { splitOptions } from "../../../store/options.js";
import { Store } from "../../../store/store.js";
import { serdeOption, trust } from "../serde.js";
import { later } from "../lazily.js";
import type { Peer } from "../tuples.js";
import type { Entries, EntryRules } from "./entries.js";
import type { ForkpointCache, ForkpointCacheOptions } from "./forkpoint-cache.js";
import { millisecondsOf } from "./seconds.js";
import { cacheCalls } from "./wire.js";

/** The default time to live, in ms. It keeps a later version of the code from getting old results for ever. */
const DEFAULT_TTL = 24 * 60 * 60_000;

function namespaceOption(value: unknown, name: string): string {
  if (requireId(value, name) !== "") return value as string;
  throw typeError(`${name} is empty: pass the name and the version of the graph, or leave it out`);
}

/** Makes the cache class for one copy of LangGraph's package. See `saverOf`. */
export function cacheOf(peer: Peer): typeof ForkpointCache {
  const made = class ForkpointCache extends peer.BaseCache {
    readonly #handle: StoreHandle;
    readonly #rules: EntryRules;
    #entries: Entries | undefined;

    constructor(target: string | URL | Store, options?: ForkpointCacheOptions) {
      const { own, others } = splitOptions(options, {
        serde: serdeOption,
        namespace: namespaceOption,
        ttl: millisecondsOf,
      });
      super(own.serde);
      if (own.serde === undefined) trust(this.serde);
      const prefix = own.namespace === undefined ? [] : [own.namespace];
      this.#rules = { prefix, ttlMs: "ttl" in own ? own.ttl : DEFAULT_TTL };
      // A lost entry is computed again.
      const isOpen = target instanceof Store;
      this.#handle = StoreHandle.of(target, isOpen ? others : { durability: "off", ...others }, cacheCalls);
      setHandle(this, this.#handle);
    }

    get #all(): Entries {
      return (this.#entries ??= new (later().Entries)(this.#handle, this.serde as SerializerProtocol, this.#rules));
    }

    async get(keys: CacheFullKey[]) {
      return this.#all.get(keys);
    }

    async set(pairs: Array<{ key: CacheFullKey; value: unknown; ttl?: number }>): Promise<void> {
      return this.#all.set(pairs);
    }

    async clear(namespaces: CacheNamespace[]): Promise<void> {
      return this.#all.clear(namespaces);
    }
  };
  return withStoreMethods(made, "check", "vacuum", "close", Symbol.asyncDispose);
}
