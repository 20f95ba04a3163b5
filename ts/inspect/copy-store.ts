/** `copyStore`. copy-runs.ts does the work, and is loaded with the first call. */

import type { Store } from "../store/store.js";
import type { CopyOptions, CopyResult } from "./copy-runs.js";

const later = (): typeof import("./later.js") => require("./later.js");

/**
 * Copies all runs, or the runs you choose, from one store to another. Either store can be a database, a folder of text
 * files or a store in memory. Then reads both stores and compares them.
 *
 * The copy has all checkpoints, pending writes, logs, sessions and stored values, in the same order, but no leases. If
 * a copy was interrupted, even by a kill, call `copyStore` again with the same stores: it continues. A later call adds
 * the new data of `from`. `from` is only read. No program should write to either store during the copy.
 *
 * @param from the store to copy: a target as for {@link openStore}, or an open store.
 * @param to an empty store, or an earlier copy of the same source. With `runs`, `space`, `since` or `onConflict`, it
 *   may have other runs. It has no retention limits.
 * @throws ForkpointError `CONFLICT` if `to` holds anything else, or if a program changed copied data: the message names
 *   the checkpoint. `NOT_FOUND` if `from` or a run does not exist. `INVALID_ARGUMENT` if both are the same store, or if
 *   `to` has a retention limit. `CORRUPT` if the source is damaged (the message names the checkpoint), or is an
 *   incomplete export. `FULL`, `BUSY`, `CLOSED`, `UNAVAILABLE` or `UNSUPPORTED` as for any call.
 * @throws TypeError for a wrong argument or option.
 * @example
 * ```ts
 * import { copyStore } from "forkpoint";
 *
 * const { checkpoints } = await copyStore("agent.db", "jsonl:runs");
 * await copyStore("agent.db", "jsonl:one", { runs: [{ space: "langgraph", run: "thread-1" }] });
 * ```
 */
export function copyStore(
  from: string | URL | Store,
  to: string | URL | Store,
  options?: CopyOptions,
): Promise<CopyResult> {
  return later().copyStore(from, to, options);
}
