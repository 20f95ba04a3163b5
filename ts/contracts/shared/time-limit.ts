/** Limits how long a function of the user may take. */

import { ForkpointError, rangeError, show } from "../../bridge/errors.js";

/** Checks a time limit in ms. Undefined, null and Infinity mean no limit. */
export function readTimeLimit(value: unknown, where: string): number | undefined {
  if (value === undefined || value === null || value === Number.POSITIVE_INFINITY) return undefined;
  if (typeof value !== "number" || !(value > 0) || value > 0x7fffffff)
    throw rangeError(`${where} must be a number of milliseconds above 0, but is ${show(value)}`);
  return value;
}

/**
 * Runs `work` with its own signal. If the work takes longer than the limit, its signal is aborted, and the promise
 * rejects with `UNAVAILABLE`. `what` names the work in the message. The signal also aborts when the run is cancelled.
 * The limit ends with the run, so that its timer does not keep the process alive.
 */
export async function within<T>(
  timeoutMs: number | undefined,
  { cancelled, ended }: { cancelled: AbortSignal; ended: AbortSignal },
  what: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (timeoutMs === undefined) return work(cancelled);
  const late = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const timedOut = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = new ForkpointError("UNAVAILABLE", `${what} took longer than its ${timeoutMs} ms`);
      late.abort(error);
      reject(error);
    }, timeoutMs);
  });
  const stop = () => clearTimeout(timer);
  ended.addEventListener("abort", stop);
  try {
    return await Promise.race([work(AbortSignal.any([cancelled, late.signal])), timedOut]);
  } finally {
    stop();
    ended.removeEventListener("abort", stop);
  }
}
