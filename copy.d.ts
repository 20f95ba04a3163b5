import type { Store } from "./index.js";

/** Options of {@link copyStore}. */
export interface CopyOptions {
  /**
   * Stops the copy between two pages. `copyStore` then rejects with the signal's reason. What was copied stays, and the
   * next call continues after it.
   */
  signal?: AbortSignal;
  /** Is called after each page, with what was done so far. */
  onProgress?: (progress: CopyProgress) => void;
}

/** What {@link copyStore} has copied and compared. */
export interface CopyResult {
  /** The number of runs, threads, sessions, stored values and namespaces. */
  lineages: number;
  /** The number of checkpoints. */
  checkpoints: number;
  /** The number of pending writes. */
  writes: number;
  /** The number of records of logs, such as the messages of Helix sessions. */
  records: number;
  /** The size of all these in bytes, before compression. */
  bytes: number;
}

/** How far {@link copyStore} is. */
export interface CopyProgress extends CopyResult {
  /**
   * `"verifying"`: both stores are read and compared. The counts begin again at 0. A copy begins with this phase if the
   * destination is not empty, and ends with it.
   */
  phase: "copying" | "verifying";
  /** The number of checkpoints that the source had when the call began. */
  ofCheckpoints: number;
  /** The number of records that the source had when the call began. */
  ofRecords: number;
}

/**
 * Copies everything from one store to another one, of any kind: a database, a folder of text files, a store in memory.
 * Then reads both stores and compares them.
 *
 * The copy has all checkpoints, pending writes, logs, sessions and stored values, in the same order. Leases are left out.
 * A copy that was interrupted, even by a kill, is continued by the next call with the same stores. A copy that has ended gets
 * what is new in `from`. `from` is only read.
 * No program should write to either store during the copy.
 *
 * @param from the store to copy: a target as for {@link openStore}, or an open store.
 * @param to an empty store, or one with a copy of the same source. It has no retention limits.
 * @throws ForkpointError `CONFLICT` if `to` holds anything else, or if a program changed what was copied: the message
 *   names the checkpoint. `NOT_FOUND` if `from` does not exist. `INVALID_ARGUMENT` if both are the same store, or if `to`
 *   has a retention limit. `CORRUPT` if the source is damaged: the message names the checkpoint. `FULL`, `BUSY`,
 *   `CLOSED`, `UNAVAILABLE` or `UNSUPPORTED` as for any call.
 * @throws TypeError for a wrong argument or option.
 * @example
 * ```ts
 * import { copyStore } from "forkpoint";
 *
 * const { checkpoints } = await copyStore("agent.db", "jsonl:runs");
 * ```
 */
export function copyStore(
  from: string | URL | Store,
  to: string | URL | Store,
  options?: CopyOptions,
): Promise<CopyResult>;
