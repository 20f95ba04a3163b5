/** Pages of listings: of runs, threads and sessions. */

import type { LeaseHolder } from "../bridge/forkpoint-error.js";
import { typeError } from "../bridge/errors.js";
import type { NativeStore } from "../bridge/native.js";
import { holdersOf } from "./lease.js";
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
  show: (entry: T, lease: LeaseHolder | null) => R;
}

/** Makes a page of at most `limit` entries, each with the holder of its lease. */
export async function pageOf<T extends { cursor: string }, R>(
  native: NativeStore,
  { limit = PAGE, cursor: start }: Parsed<typeof pageOptions>,
  { space, fetch, picks, batch = 0, runOf, show }: Listing<T, R>,
): Promise<{ page: R[]; cursor: string | null }> {
  const found: T[] = [];
  // Fetch one entry more than the page has, to know whether there is a next page.
  const most = picks === undefined ? limit + 1 : batch;
  for (let after = start; ;) {
    const fetched = await fetch(after, most);
    for (const entry of fetched) if (picks === undefined || (await picks(entry))) found.push(entry);
    if (found.length > limit || fetched.length < most) break;
    after = Number(fetched.at(-1)!.cursor);
  }
  const entries = found.slice(0, limit);
  const leases = await holdersOf(native, space, entries.map(runOf));
  const page = entries.map((entry, at) => show(entry, leases[at]!));
  return { page, cursor: found.length > limit ? entries.at(-1)!.cursor : null };
}
