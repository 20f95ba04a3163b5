/** Lists all checkpoints of a run. */

import type { Context } from "./context.js";
import { readPages } from "./rows.js";
import type { Key, Row, Wanted } from "./wire.js";

/** The number of checkpoints that one call lists. */
const PAGE = 500;

/** Lists all checkpoints of a run, the oldest first. */
export async function* everyRow(context: Context, key: Key): AsyncGenerator<Row> {
  let from: Wanted["from"] = "end";
  for (;;) {
    const [page] = await readPages(context, [{ ...key, from, newestFirst: false, limit: PAGE, sums: false }]);
    yield* page!.rows;
    if (page!.rows.length < PAGE) return;
    from = { after: page!.rows.at(-1)!.place };
  }
}
