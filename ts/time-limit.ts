import { ForkpointError, rangeError, show } from "./errors.js";

/** Checks a time limit in ms. Undefined, null and Infinity mean no limit. */
export function readTimeLimit(value: unknown, where: string): number | undefined {
  if (value === undefined || value === null || value === Number.POSITIVE_INFINITY) return undefined;
  if (typeof value !== "number" || !(value > 0) || value > 0x7fffffff)
    throw rangeError(`${where} must be a number of milliseconds above 0, and is ${show(value)}`);
  return value;
}

/**
 * Runs `work` with a signal of its own. If the work takes longer than the limit, its signal is aborted, and the promise
 * rejects with `UNAVAILABLE`. `what` is the name of the work in the message.
 */
export async function within<T>(
  timeoutMs: number | undefined,
  cancelled: AbortSignal,
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
  try {
    return await Promise.race([work(AbortSignal.any([cancelled, late.signal])), timedOut]);
  } finally {
    clearTimeout(timer);
  }
}
