/** Repeats a call that failed with a retryable error. */

import { ForkpointError } from "../../bridge/errors.js";

/** The waits before the second, third and fourth attempt, in ms. */
const WAITS = [50, 200, 800];

/**
 * Retries an operation that failed with a retryable error. LangGraph's default durability writes in the background,
 * where a rejection is unhandled and ends the process (langgraphjs#2838).
 */
export async function retrying<T>(work: () => Promise<T>): Promise<T> {
  for (const wait of WAITS) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ForkpointError) || !error.retryable) throw error;
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }
  return work();
}
