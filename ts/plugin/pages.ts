/** Reads the engine's pages of checkpoints and of runs. */

import type { Context } from "./context.js";
import type { StoredStatus } from "./views.js";
import { type FoundRun, type Key, type Row, type RowPage, type Wanted, inspect, openPages } from "./wire.js";

/** Returns the query for the newest checkpoint of a run. The page also counts the run's checkpoints. */
export function newestOf({ space, run, ns }: Key): Wanted {
  return { space, run, ns, from: "end", newestFirst: true, limit: 1, sums: false };
}

/** Reads pages of several runs from one snapshot. */
export function readPages({ engine }: Pick<Context, "engine">, pages: Wanted[]): Promise<RowPage[]> {
  return pages.length === 0 ? Promise.resolve([]) : inspect.find(engine.native, "rows", { pages }, openPages);
}

/** Lists the runs of contracts whose names contain a text, the last active run first, in pages of `limit`. */
export async function* recentRuns(
  { engine }: Pick<Context, "engine">,
  fields: {
    spaces: string[];
    matching: string;
    statuses?: StoredStatus[] | undefined;
    labels?: Record<string, string> | undefined;
    after?: number | undefined;
    limit: number;
  },
): AsyncGenerator<FoundRun[]> {
  let { after, statuses, labels } = fields;
  for (;;) {
    const found = await inspect.call(engine.native, "recent", { ...fields, statuses, labels, after });
    if (found.length > 0) yield found;
    if (found.length < fields.limit) return;
    after = found.at(-1)!.position;
  }
}

/** The number of checkpoints that one call lists. */
const PAGE = 500;

/** Lists all checkpoints of a run, the oldest or the newest first. */
export async function* everyRow(
  context: Pick<Context, "engine">,
  { space, run, ns }: Key,
  newestFirst = false,
): AsyncGenerator<Row> {
  let from: Wanted["from"] = "end";
  for (;;) {
    const [page] = await readPages(context, [{ space, run, ns, from, newestFirst, limit: PAGE, sums: false }]);
    yield* page!.rows;
    if (page!.rows.length < PAGE) return;
    from = { after: page!.rows.at(-1)!.cursor };
  }
}
