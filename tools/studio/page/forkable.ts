// Which runs can be forked, and alternatives to a fork.
import { traitsOf } from "../../../ts/contracts/registry.js";

/** Returns an alternative to a fork, as a sentence. Null: runs of this framework can be forked. */
export function whyNoFork(space: string): string | null {
  const { insteadOfFork: instead } = traitsOf(space);
  return instead === undefined ? null : `No fork here: ${instead}`;
}
