/** Pages of listings: of runs, threads and sessions. */

import type { LeaseHolder } from "../bridge/forkpoint-error.js";
import { typeError } from "../bridge/errors.js";
import type { NativeStore } from "../bridge/native.js";
import { dependsOnStops, stopsOf } from "./ended-runs.js";
import type { RunStop } from "./results.js";
import { holdersOf } from "./lease.js";
import type { Newest } from "./newest.js";
import { type Parsed, whole } from "./options.js";

/** Default length of a page. */
export const PAGE = 100;

export const pageOptions = {
  limit: whole(1, 100_000, "entries"),
  cursor: (value: unknown, name: string) => {
    if (value === null) return undefined;
    if (typeof value === "string" && /^[1-9]\d{0,15}$/.test(value)) return Number(value);
    throw typeError(`${name} must be the cursor of an earlier page`);
  },
};

/**
 * Lists entries in batches of `size`. `read` gets the cursor of the last entry so far. After a batch, the caller may
 * remove its entries.
 */
export async function* batches<T extends { cursor: string }>(
  read: (after: number | undefined, limit: number) => Promise<readonly T[]>,
  size = 1_000,
): AsyncGenerator<readonly T[]> {
  for (let after: number | undefined; ;) {
    const batch = await read(after, size);
    yield batch;
    if (batch.length < size) return;
    after = Number(batch.at(-1)!.cursor);
  }
}

/** A listing of the contract `space`. */
interface Listing<T, R> {
  space: string;
  /** Lists the entries after a cursor. */
  fetch: (after: number | undefined, limit: number) => Promise<T[]>;
  /** Returns false for an entry to leave out. Default: lists all entries. */
  picks?: ((entry: T) => boolean | Promise<boolean>) | undefined;
  /** With `picks`: the number of entries that are fetched at the same time. */
  batch?: number;
  runOf: (entry: T) => string;
  /** Returns the id of the newest checkpoint, and the stored status. Default: entries are never stopped. */
  newestOf?: (entry: T) => Pick<Newest, "newest" | "status">;
  /** Lists only entries with one of these statuses. `fetch` selects by the stored status. Default: all entries. */
  statuses?: readonly string[] | undefined;
  /** `stop`: set if somebody has stopped the run. */
  show: (entry: T, lease: LeaseHolder | null, stop: RunStop | null) => R;
}

/** The least number of entries that are fetched at the same time if some are left out. */
const BATCH = 100;

/** Makes a page of at most `limit` entries, each with the holder of its lease and with its stop. */
export async function pageOf<T extends { cursor: string }, R>(
  native: NativeStore,
  { limit = PAGE, cursor: start }: Parsed<typeof pageOptions>,
  { space, fetch, picks, batch = 0, runOf, newestOf, statuses, show }: Listing<T, R>,
): Promise<{ page: R[]; cursor: string | null }> {
  const found: T[] = [];
  const stopsIn = async (entries: readonly T[]): Promise<Array<RunStop | null>> => {
    if (newestOf === undefined) return entries.map(() => null);
    const runs = entries.map((entry): Newest => ({ run: runOf(entry), ns: "", ...newestOf(entry) }));
    return stopsOf(native, space, runs);
  };
  const narrows = statuses !== undefined && dependsOnStops(statuses);
  // Fetch one entry more than the page has, to know whether there is a next page.
  const whole = narrows ? Math.max(BATCH, limit + 1) : limit + 1;
  const most = picks === undefined ? whole : batch;
  for (let after = start; ;) {
    const fetched = await fetch(after, most);
    const stops = narrows ? await stopsIn(fetched) : [];
    for (const [at, entry] of fetched.entries()) {
      if (narrows && !statuses.includes(stops[at] === null ? newestOf!(entry).status : "stopped")) continue;
      if (picks === undefined || (await picks(entry))) found.push(entry);
    }
    if (found.length > limit || fetched.length < most) break;
    after = Number(fetched.at(-1)!.cursor);
  }
  const entries = found.slice(0, limit);
  // One after the other: a server would need a second connection for both at once.
  const leases = await holdersOf(native, space, entries.map(runOf));
  const stops = await stopsIn(entries);
  const page = entries.map((entry, at) => show(entry, leases[at]!, stops[at]!));
  return { page, cursor: found.length > limit ? entries.at(-1)!.cursor : null };
}
