import { ForkpointError } from "../errors.js";

/** Waits before the second and the further attempts, in ms. */
const WAITS = [50, 200, 800];

/**
 * Tries again what may succeed unchanged. LangGraph's default durability writes in the background: what is rejected there is an
 * unhandled rejection, which ends the process (langgraphjs#2838).
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
