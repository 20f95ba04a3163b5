/** Declares the class `ForkpointCache`, which cache.ts makes from LangGraph's package. */

import type { BaseCache, CacheFullKey, CacheNamespace, SerializerProtocol } from "@langchain/langgraph-checkpoint";
import type { VerifyReport } from "../../../bridge/wire.js";
import type { CheckOptions } from "../../../store/check.js";
import type { StoreOptions } from "../../../store/options.js";
import type { Store } from "../../../store/store.js";

export interface ForkpointCacheOptions extends Omit<StoreOptions, "serializer" | "durability"> {
  /** The serializer that turns values into bytes. Default: LangGraph's own serializer. */
  serde?: SerializerProtocol;
  /**
   * Separates the entries of this cache from others in the database. Use the name and version of the graph, and the
   * tenant: LangGraph identifies a result only by the node's name and the JSON of its input. Default: none.
   */
  namespace?: string;
  /**
   * How long an entry is kept if the node's `cachePolicy` has no `ttl`, in seconds. Default: 86,400 (a day).
   * `Infinity`: until it is cleared.
   */
  ttl?: number;
  /**
   * The failures that an entry survives, as for every store. Default: `"off"`, because a lost entry is only computed
   * again. Power loss may then corrupt the file, so use a separate file, or an open store.
   */
  durability?: "full" | "normal" | "off";
}

/**
 * A LangGraph cache that outlives the process: nodes with a `cachePolicy` are not run again for the same input.
 *
 * All methods give the error codes `CLOSED`, `BUSY`, `FULL`, `UNAVAILABLE` and `CORRUPT` where they apply, and a TypeError or a
 * RangeError for a wrong argument.
 *
 * @example
 * ```ts
 * const graph = builder.compile({ cache: new ForkpointCache("cache.db", { namespace: "support v7" }) });
 * ```
 */
export declare class ForkpointCache<V = unknown> extends BaseCache<V> {
  /**
   * @param target a file path, `"sqlite:<path>"`, a `file:` URL, `"postgres://<user>@<host>/<database>"`,
   *   `"jsonl:<folder>"`, `"memory:"`, or a store from `openStore`.
   * @param options `serde`, `namespace`, `ttl`, and the options of `openStore`. An open store takes only the first three.
   * @throws TypeError or RangeError for a wrong target or option.
   */
  constructor(target: string | URL | Store, options?: ForkpointCacheOptions);
  /**
   * Reads entries. Those that do not exist or have expired are left out.
   * @example const [found] = await cache.get([[["weather"], "lisbon"]]);
   */
  get(keys: CacheFullKey[]): Promise<{ key: CacheFullKey; value: V }[]>;
  /**
   * Saves all entries or none. `ttl` is in seconds. Default: the option `ttl`.
   * @example await cache.set([{ key: [["weather"], "lisbon"], value: "sunny", ttl: 600 }]);
   */
  set(pairs: { key: CacheFullKey; value: V; ttl?: number }[]): Promise<void>;
  /**
   * Removes the entries of these namespaces within the option `namespace`. An empty list removes all entries within the
   * option `namespace`, or all entries of the database if the option is not set.
   * @example await cache.clear([["weather"]]);
   */
  clear(namespaces: CacheNamespace[]): Promise<void>;
  /**
   * Verifies the entire database and changes nothing.
   * @example const { ok } = await cache.check();
   */
  check(options?: CheckOptions): Promise<VerifyReport>;
  /**
   * Returns the space of removed data to the file system.
   * @example await cache.vacuum();
   */
  vacuum(): Promise<void>;
  /**
   * Waits for earlier calls to end, then closes the cache. An open store that was given to the constructor stays open.
   * @example await cache.close();
   */
  close(): Promise<void>;
  /**
   * Calls `close()` at the end of an `await using` block.
   * @example await using mine = cache; // closed at the end of the block
   */
  [Symbol.asyncDispose](): Promise<void>;
}
