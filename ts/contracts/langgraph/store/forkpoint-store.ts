/** Declares the class `ForkpointStore`, which store.ts makes from LangGraph's package. */

import type { BaseStore, Operation, OperationResults } from "@langchain/langgraph-checkpoint";
import type { VerifyReport } from "../../../bridge/wire.js";
import type { CheckOptions } from "../../../store/check.js";
import type { StoreOptions } from "../../../store/options.js";
import type { RunStats } from "../../../store/results.js";
import type { StatsOptions } from "../../../store/retention.js";
import type { Store } from "../../../store/store.js";

export interface ForkpointStoreOptions extends StoreOptions {
  /**
   * How long items are kept. Default: until they are deleted.
   *
   * - `defaultTtl`: the time after the last put, in minutes. May be a fraction.
   * - `refreshOnRead`: whether a get or a search restarts this time for the items that it returns. Default: true.
   */
  ttl?: { defaultTtl?: number; refreshOnRead?: boolean };
}

/**
 * A LangGraph store that keeps items by namespace and key in a database. It has filters, and no semantic search.
 *
 * All methods give the error codes `CLOSED`, `BUSY`, `FULL`, `UNAVAILABLE` and `CORRUPT` where they apply, and a TypeError or a
 * RangeError for a wrong argument.
 *
 * @example
 * ```ts
 * const store = new ForkpointStore("agent.db");
 * const graph = builder.compile({ checkpointer, store });
 * await store.put(["users", "7"], "food", { likes: "ramen" });
 * ```
 */
export declare class ForkpointStore extends BaseStore {
  /**
   * @param target a file path, `"sqlite:<path>"`, a `file:` URL, `"postgres://<user>@<host>/<database>"`,
   *   `"jsonl:<folder>"`, `"memory:"`, or a store from `openStore`.
   * @param options `ttl`, and the options of `openStore`. An open store takes only `ttl`.
   * @throws TypeError or RangeError for a wrong target or option. ForkpointError `UNSUPPORTED` for the option `index`.
   */
  constructor(target: string | URL | Store, options?: ForkpointStoreOptions);
  /**
   * Runs a batch. Reads see the state before it. All writes are stored, or none. The last put of a key wins.
   * @throws InvalidNamespaceError if LangGraph's `put` refuses the namespace of a put. Nothing is stored then.
   * @example await store.batch([{ namespace: ["users", "7"], key: "food" }, { namespacePrefix: ["users"], limit: 5 }]);
   */
  batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>>;
  /**
   * Returns how many namespaces (`runs`) and items (`checkpoints`) are stored and how much storage they use, in bytes.
   * @example const { runs, checkpoints } = await store.stats();
   */
  stats(options?: StatsOptions): Promise<RunStats>;
  /**
   * Verifies the entire database and changes nothing.
   * @example const { ok } = await store.check();
   */
  check(options?: CheckOptions): Promise<VerifyReport>;
  /**
   * Returns the space of removed data to the file system.
   * @example await store.vacuum();
   */
  vacuum(): Promise<void>;
  /**
   * Waits for earlier calls to end, then closes the store. An open store that was given to the constructor stays open.
   * @example await store.close();
   */
  close(): Promise<void>;
  /**
   * Calls `close()` at the end of an `await using` block.
   * @example await using mine = store; // closed at the end of the block
   */
  [Symbol.asyncDispose](): Promise<void>;
}
