/** Selects the rows of a list: its page, the messages of its filter, and the neighbours of messages. */

import type { Engine } from "../../store/engine.js";
import { readInTurns } from "../shared/records.js";
import type { Included, Paging } from "./arguments.js";
import { type Direction, type Row, type Rows, type Selection, oldestFirst } from "./rows.js";
import type { Source } from "./wire.js";

/** Rows of a list, and how many rows it has on all pages. */
export interface Found {
  rows: Row[];
  total: number;
}

/** Which rows of the sources a list has. */
export interface Filter extends Pick<Selection, "from" | "before"> {
  /** Undefined: all rows are accepted. */
  accepts?: ((row: Row) => boolean) | undefined;
}

/** How a list is read. */
export interface Order extends Pick<Paging, "offset" | "limit"> {
  direction: Direction;
  /** If false, `total` need not count what comes after the page. */
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
  // Rows that a filter leaves out must be read to be counted.
  const isPage = accepts === undefined && ((from === undefined && before === undefined) || !order.isCounted);
  if (isPage && sources.length === 1) return pageOf(rows, engine, sources[0]!, { from, before }, order);
  const found = await Promise.all(sources.map((one) => rows.list(engine, one, { direction, from, before })));
  const rowsOfAll = found.flatMap((one) => one.rows);
  const accepted = accepts && (await readInTurns(rowsOfAll, accepts));
  const all = accepted === undefined ? rowsOfAll : rowsOfAll.filter((_, at) => accepted[at]);
  const sorted = inDirection(all, direction);
  return { rows: sorted.slice(offset, offset + limit), total: all.length };
}

/** Reads a page of the rows of a source, and no other row. */
async function pageOf(
  rows: Rows,
  engine: Engine,
  source: Source,
  range: Pick<Filter, "from" | "before">,
  { direction, offset, limit, isCounted }: Order,
): Promise<Found> {
  const count = isCounted && limit !== Infinity;
  // If the rows are not counted, one more row tells whether there are more.
  const found = await rows.list(engine, source, {
    ...range,
    direction,
    skip: offset,
    limit: count ? limit : limit + 1,
    count,
  });
  return { rows: found.rows.slice(0, limit), total: found.count ?? offset + found.rows.length };
}

/** Reads messages with their neighbours, without those that are known. */
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

/** Sorts rows by the times of their creation. */
export function inDirection(rows: readonly Row[], direction: Direction, order = oldestFirst): Row[] {
  const sorted = rows.toSorted(order);
  return direction === "ASC" ? sorted : sorted.toReversed();
}

/** The fields of a response that tell about its page. `size` is the number of rows in the page. */
export function counted({ page, perPage, offset }: Paging, total: number, size: number) {
  return { total, page, perPage, hasMore: perPage !== false && perPage > 0 && offset + size < total };
}
