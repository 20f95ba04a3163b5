/** Repeats a call that failed with a retryable error. */

import { ForkpointError } from "../../bridge/errors.js";

/** The waits before the second, third and fourth attempt, in ms. */
const WAITS: readonly number[] = [50, 200, 800];

/**
 * Retries an operation that failed with a retryable error. LangGraph's default durability writes in the background,
 * where a rejection is unhandled and ends the process (langgraphjs#2838).
 */
export function retrying<T>(work: () => Promise<T>, waits: readonly number[] = WAITS): Promise<T> {
  const [wait, ...others] = waits;
  if (wait === undefined) return work();
  return work().catch(async (error: unknown) => {
    // A run that another process works on is refused until that ends.
    if (!(error instanceof ForkpointError) || !error.retryable || error.lease !== undefined) throw error;
    await new Promise((resolve) => setTimeout(resolve, wait));
    return retrying(work, others);
  });
}
