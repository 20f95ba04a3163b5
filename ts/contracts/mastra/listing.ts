/** Selects the rows of a list: its page, its filtered messages, and the neighbors of messages. */

import type { Engine } from "../../store/engine.js";
import { readInTurns } from "../shared/records.js";
import type { Included, Paging } from "./arguments.js";
import { type Direction, type Row, type Rows, type Selection, oldestFirst } from "./rows.js";
import type { Source } from "./wire.js";

/** Rows of a list, and the number of rows on all pages. */
export interface Found {
  rows: Row[];
  total: number;
}

/** The filter of a list's rows. */
export interface Filter extends Pick<Selection, "from" | "before"> {
  /** Undefined: all rows are accepted. */
  accepts?: ((row: Row) => boolean) | undefined;
}

/** How a list is read. */
export interface Order extends Pick<Paging, "offset" | "limit"> {
  direction: Direction;
  /** If false, `total` may leave out the rows after the page. */
  isCounted: boolean;
}

/** Reads a page of the rows of all sources. */
export async function select(
  rows: Rows,
  engine: Engine,
  sources: readonly Source[],
  { from, before, accepts }: Filter,
  order: Order,
): Promise<Found> {
  const { direction, offset, limit } = order;
  if (limit === 0) return { rows: [], total: 0 };
  // A filter must read the rows that it leaves out to count them.
  const isPage = accepts === undefined && ((from === undefined && before === undefined) || !order.isCounted);
  if (isPage && sources.length === 1) return pageOf(rows, engine, sources[0]!, { from, before }, order);
  const found = await Promise.all(sources.map((one) => rows.list(engine, one, { direction, from, before })));
  const rowsOfAll = found.flatMap((one) => one.rows);
  const accepted = accepts && (await readInTurns(rowsOfAll, accepts));
  const all = accepted === undefined ? rowsOfAll : rowsOfAll.filter((_, at) => accepted[at]);
  const sorted = inDirection(all, direction);
  return { rows: sorted.slice(offset, offset + limit), total: all.length };
}

/** Reads only the rows of a source's page. */
async function pageOf(
  rows: Rows,
  engine: Engine,
  source: Source,
  range: Pick<Filter, "from" | "before">,
  { direction, offset, limit, isCounted }: Order,
): Promise<Found> {
  const count = isCounted && limit !== Infinity;
  // Without a count, one more row shows whether there are more.
  const found = await rows.list(engine, source, {
    ...range,
    direction,
    skip: offset,
    limit: count ? limit : limit + 1,
    count,
  });
  return { rows: found.rows.slice(0, limit), total: found.count ?? offset + found.rows.length };
}

/** Reads messages with their neighbors, except known ones. */
export async function neighbours(
  rows: Rows,
  engine: Engine,
  included: readonly Included[],
  resource: string | undefined,
  known: ReadonlySet<string>,
): Promise<Row[]> {
  const targets = await rows.find(engine, "messages", [...new Set(included.map(({ id }) => id))]);
  const ids = new Set<string>();
  for (const { id, before, after } of included) {
    const target = targets.find((row) => row.id === id);
    if (target === undefined || (resource !== undefined && target.group !== resource)) continue;
    for (const one of await rows.around(engine, target, before, after, resource)) if (!known.has(one)) ids.add(one);
  }
  return rows.find(engine, "messages", [...ids]);
}

/** Sorts rows by creation time. */
export function inDirection(rows: readonly Row[], direction: Direction, order = oldestFirst): Row[] {
  const sorted = rows.toSorted(order);
  return direction === "ASC" ? sorted : sorted.toReversed();
}

/** The fields of a response about its page. `size` is the number of rows in the page. */
export function counted({ page, perPage, offset }: Paging, total: number, size: number) {
  return { total, page, perPage, hasMore: perPage !== false && perPage > 0 && offset + size < total };
}
