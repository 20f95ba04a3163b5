// Which runs can be forked, and what to do instead.
import { traitsOf } from "../../../ts/contracts/registry.js";

/** Returns what to do instead of a fork, as a sentence. Null: the runs of a framework can be forked. */
export function whyNoFork(space: string): string | null {
  const { insteadOfFork: instead } = traitsOf(space);
  return instead === undefined ? null : `No fork here: ${instead}`;
}
