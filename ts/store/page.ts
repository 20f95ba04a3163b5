/** Pages of listings: of runs, threads and sessions. */

import type { LeaseHolder } from "../bridge/forkpoint-error.js";
import { typeError } from "../bridge/errors.js";
import type { NativeStore } from "../bridge/native.js";
import { holdersOf } from "./lease.js";
import { whole } from "./options.js";

/** The number of entries in a page, unless the caller says another one. */
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
 * Makes a page of at most `limit` entries, each with the holder of its lease. `found` has one entry more than that if
 * there is a next page. `runOf` returns the run of an entry, in the contract `space`.
 */
export async function pageOf<T extends { cursor: string }, R>(
  native: NativeStore,
  space: string,
  { found, limit }: { found: T[]; limit: number },
  runOf: (entry: T) => string,
  show: (entry: T, lease: LeaseHolder | null) => R,
): Promise<{ page: R[]; cursor: string | null }> {
  const entries = found.slice(0, limit);
  const leases = await holdersOf(native, space, entries.map(runOf));
  const page = entries.map((entry, at) => show(entry, leases[at]!));
  return { page, cursor: found.length > limit ? entries.at(-1)!.cursor : null };
}
