/** Reads the tokens of runs, and sorts runs by them. Uses nothing of Node, because the page uses it. */

import type { RunUsage, Usage } from "./usage-views.js";
import type { RunRef } from "../../plugin/views.js";

/** The sort key of listed runs. */
export type UsageSort = "tokens" | "cost";

/** Sorts by tokens or costs, the most first. Items without them come last. Equal items keep their order. */
export function sortByUsage<T>(items: readonly T[], sort: UsageSort, usageOf: (item: T) => Usage | null): T[] {
  const value = (item: T): number => {
    const usage = usageOf(item);
    return (sort === "cost" ? usage?.cost : usage?.total) ?? -1;
  };
  return items.toSorted((a, b) => value(b) - value(a));
}

/** Reads the tokens of each run. Null: the run was removed or cannot be read. */
export async function* readUsages(
  runs: readonly RunRef[],
  read: (run: RunRef) => Promise<RunUsage | null>,
): AsyncGenerator<RunUsage | null> {
  for (const run of runs) yield await read(run).catch(nullIfDamaged);
}

function nullIfDamaged(error: unknown): null {
  const { code } = (error ?? {}) as { code?: unknown };
  if (code === "CORRUPT" || code === "UNSUPPORTED") return null;
  throw error;
}
