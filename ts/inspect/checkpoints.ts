/** Lists the checkpoints of a run, and finds one of them. */

import { ForkpointError, typeError } from "../bridge/errors.js";
import { oneOf, readRecord, whole } from "../store/options.js";
import { traitsOf } from "../contracts/registry.js";
import type { Context } from "./context.js";
import { readPages } from "../plugin/pages.js";
import { infoOf, isOrdered, readLineups, readParents } from "./rows.js";
import type { Key, Row, Wanted } from "../plugin/wire.js";
import type { CheckpointInfo, Page } from "../plugin/views.js";

/** Default and maximum page length. */
const [PAGE, MOST] = [100, 1000];

export const limitOption = whole(1, MOST, "entries");

export const cursorOption = (value: unknown, name: string) => {
  if (value === null) return undefined;
  if (typeof value !== "string") throw typeError(`${name} must be the cursor of a page, or null`);
  return value;
};

const pageOptions = {
  limit: limitOption,
  cursor: cursorOption,
  order: oneOf("asc", "desc"),
};

/** The cursor for the current state of a run. */
const CURRENT = "current";

export async function listCheckpoints(context: Context, key: Key, query: unknown): Promise<Page<CheckpointInfo>> {
  const { limit = PAGE, cursor, order } = readRecord(query, "query", pageOptions);
  const newestFirst = order === "desc";
  if (cursor !== undefined && cursor !== CURRENT && !/^-?\d+\.(?:[0-9a-f]{2})*$/.test(cursor)) {
    throw new ForkpointError("INVALID_ARGUMENT", "the cursor is not the cursor of a page of checkpoints");
  }
  const from = cursor === undefined || cursor === CURRENT ? "end" : { after: cursor };
  // Read one checkpoint more than the page has. It shows whether there is a next page, and may be the last one's
  // parent.
  const wanted = { ...key, from, newestFirst, limit: limit + 1, sums: false } satisfies Wanted;
  const [lineup] = await readLineups(context, [wanted]);
  const { page, current } = lineup!;
  const rows: Row[] = page.rows;
  const isFirst = cursor === undefined;
  if (current !== undefined && newestFirst && isFirst) rows.unshift(current);
  if (current !== undefined && !newestFirst && rows.length <= limit) rows.push(current);
  const shown = rows.slice(0, limit);
  const before = newestFirst ? undefined : await rowBefore(context, key, shown[0]);
  const parents = await readParents(context, shown, rows);
  const items = shown.map((row, at) =>
    infoOf(context, row, newestFirst ? rows[at + 1] : (shown[at - 1] ?? before), parents(row)),
  );
  const last = shown.at(-1);
  const next = last === current ? CURRENT : last?.cursor;
  return { items, cursor: rows.length > limit && next !== undefined ? next : null };
}

/**
 * Returns the checkpoint before `row`. Returns undefined if the contract stores parents, or if `row` is the first one.
 */
async function rowBefore(context: Context, key: Key, row: Row | undefined): Promise<Row | undefined> {
  if (row === undefined || row.step === 0 || !isOrdered(row)) return undefined;
  const wanted: Wanted = { ...key, from: { step: row.step - 1 }, newestFirst: false, limit: 1, sums: false };
  return (await readPages(context, [wanted]))[0]!.rows[0];
}

/** Finds a checkpoint of a run: by id, by index, or the newest one. Returns null if it does not exist. */
export async function findCheckpoint(
  context: Context,
  key: Key,
  { id, step }: { id?: string | undefined; step?: number | undefined },
): Promise<{ row: Row; info: CheckpointInfo } | null> {
  // A stored value or a session has one checkpoint, whose id is its name.
  if (traitsOf(key.space).single === true && id !== undefined && id !== key.run) return null;
  const place = step ?? -1;
  const from: Wanted["from"] = id === undefined ? { step: place } : { id };
  const [lineup] = await readLineups(context, [{ ...key, from, newestFirst: true, limit: 2, sums: false }]);
  const { page, current, total } = lineup!;
  const rows = [...page.rows];
  if (current !== undefined) {
    const wanted = id === undefined ? place === total - 1 || place === -1 : id === current.id;
    // A negative index counts from the current state. The engine does not count this state, so convert the index.
    if (!wanted && id === undefined && place < 0) {
      return total + place < 0 ? null : findCheckpoint(context, key, { step: total + place });
    }
    if (wanted && (id === undefined || rows.length === 0)) {
      const before = id === undefined && place === -1 ? rows[0] : await rowBefore(context, key, current);
      return { row: current, info: infoOf(context, current, before, undefined) };
    }
  }
  const [row, before] = rows;
  if (row === undefined) return null;
  const parents = await readParents(context, [row], rows);
  return { row, info: infoOf(context, row, before, parents(row)) };
}
