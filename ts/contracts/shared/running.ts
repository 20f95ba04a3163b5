/** Refuses a second run with the same id in this process. */

import { ForkpointError, quote } from "../../bridge/errors.js";

/** The ids of the runs that are in progress in this process, by the identity of their store. */
const running = new Map<unknown, Set<string>>();

/**
 * Reserves a run until the returned function is called. Throws `CONFLICT` if the run is already in progress. `runId`
 * identifies the run. The message calls it `what`.
 */
export function reserve(identity: unknown, runId: string, what = `run ${quote(runId)}`): () => void {
  const runs = running.get(identity) ?? new Set();
  if (runs.has(runId)) {
    throw new ForkpointError(
      "CONFLICT",
      `${what} is already running in this process: wait until it ends, or use another ${what.split(" ")[0]}Id`,
    );
  }
  running.set(identity, runs.add(runId));
  return () => {
    runs.delete(runId);
    if (runs.size === 0) running.delete(identity);
  };
}
