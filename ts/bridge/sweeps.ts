/** Reports background deletions by retention on the channel `forkpoint:sweep`. */

import { channel } from "node:diagnostics_channel";

/**
 * A message of the diagnostics channel `forkpoint:sweep`: what `ttlMs` and `maxBytes` have deleted in the background. A
 * sweep lasts until no limit is exceeded.
 *
 * @example
 * ```ts
 * import { subscribe } from "node:diagnostics_channel";
 *
 * subscribe("forkpoint:sweep", (message) => {
 *   const { target, removed, workMs } = message as Sweep;
 *   console.log(target, removed, workMs);
 * });
 * ```
 */
export interface Sweep {
  /** The path of the file or folder, `"memory:"`, or the server, database and schema. */
  target: string;
  /** How many checkpoints were deleted. */
  removed: number;
  /** How much `stats().storedBytes` shrank. Can be negative. */
  bytes: number;
  /** How many lineages have no checkpoints left. See {@link StoreStats.lineages}. */
  lineages: number;
  /** How long the store worked, in ms. */
  workMs: number;
  /** How long it took with the pauses between the transactions, in ms. See {@link StoreOptions.pruneShare}. */
  tookMs: number;
}

export const sweeps = channel("forkpoint:sweep");

/** Publishes a sweep. */
export function publishSweep(sweep: Sweep): void {
  if (sweeps.hasSubscribers) sweeps.publish(sweep);
}
