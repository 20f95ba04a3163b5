/** The tokens and costs of the runs of a listing. */

import { safeText } from "../../ts/bridge/json-form/json-text.js";
import type { Context } from "./context.js";
import { UsageError } from "./errors.js";
import { refOf } from "./find.js";
import type { Column } from "./table.js";
import { costText, tokenCount } from "./usage.js";
import { type UsageSort, readUsages, sortByUsage } from "../../ts/inspect/conversation/usage-order.js";
import type { Usage } from "../../ts/inspect/conversation/usage-views.js";
import type { Inspector } from "../../ts/inspect/inspector.js";
import type { RunInfo } from "../../ts/plugin/views.js";

/** A listed run with its tokens. Null: none are stored. */
export type UsedRun = RunInfo & { usage: Usage | null };

/** Returns the sort key of the listed runs. Undefined: the order of the listing. */
export function sortOfUsage(options: { sort: string; usage?: boolean; prices?: string }): UsageSort | undefined {
  const { sort, usage = false, prices } = options;
  if (prices !== undefined && !usage) throw new UsageError("--prices needs --usage");
  if (sort !== "tokens" && sort !== "cost") return undefined;
  if (!usage) throw new UsageError(`--sort ${sort} needs --usage`);
  if (sort === "cost" && prices === undefined) throw new UsageError("--sort cost needs --prices");
  return sort;
}

/** Reads the tokens of runs, and sorts the runs by them, most first. Runs without tokens come last. */
export async function withUsage(
  { output, signal }: Context,
  inspector: Inspector,
  runs: readonly RunInfo[],
  sort: UsageSort | undefined,
): Promise<UsedRun[]> {
  const used: UsedRun[] = [];
  const unpriced = new Set<string>();
  let complete = true;
  const all = readUsages(runs.map(refOf), (ref) => inspector.usage(ref, { signal }));
  for await (const found of all) {
    used.push({ ...runs[used.length]!, usage: found?.total ?? null });
    for (const model of found?.unpriced ?? []) unpriced.add(model);
    complete &&= found?.complete ?? true;
  }
  if (unpriced.size > 0)
    output.hint(`no price for ${[...unpriced].map(safeText).join(", ")}: add it to the file of --prices`);
  if (!complete) output.hint("some runs are so large that only their newest checkpoints were read");
  return sort === undefined ? used : sortByUsage(used, sort, ({ usage }) => usage);
}

const hasCost = (usage: Usage | null) => usage !== null && usage.cost !== null;

export const usageColumns: Array<Column<UsedRun>> = [
  { title: "TOKENS", align: "right", drop: 1, cell: ({ usage }) => ({ text: tokenCount(usage?.total ?? null) }) },
  {
    title: "COST",
    align: "right",
    drop: 2,
    // Without costs, the column is left out.
    cell: ({ usage }) => ({ text: hasCost(usage) ? costText(usage!.cost) : "" }),
  },
];
