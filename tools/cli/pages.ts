/** Reads listings page by page. */

import { describe, UsageError } from "./errors.js";
import type { CheckpointInfo, Page, RunInfo, RunRef } from "../../ts/plugin/views.js";
import type { Inspector } from "../../ts/inspect/inspector.js";
import type { RunQuery } from "../../ts/inspect/run-filters.js";

/** The maximum length of a page. */
const LONGEST = 1000;

/** The part of a listing to read. */
interface Part {
  /** The number of entries. Default: all. */
  limit?: number | undefined;
  cursor?: string | undefined;
}

type Read<T> = (limit: number, cursor: string | null) => Promise<Page<T>>;

export async function* runsOf(
  inspector: Inspector,
  query: Omit<RunQuery, "limit" | "cursor">,
): AsyncGenerator<RunInfo> {
  const read: Read<RunInfo> = (limit, cursor) => inspector.runs({ ...query, limit, cursor });
  for await (const { items } of pages(read, {})) yield* items;
}

/** The length of the first page of a streamed listing. */
const SHORT = 100;

/** Yields all runs in pages. */
export async function* runPages(
  inspector: Inspector,
  { cursor: given, ...query }: Omit<RunQuery, "limit">,
): AsyncGenerator<RunInfo[]> {
  const start = given ?? undefined;
  const read: Read<RunInfo> = (limit, cursor) => {
    return inspector.runs({ ...query, limit: cursor === (start ?? null) ? SHORT : limit, cursor });
  };
  for await (const { items } of pages(read, { cursor: start })) yield items;
}

/** Yields the checkpoints of a run, newest first. */
export async function* checkpointsOf(inspector: Inspector, ref: RunRef): AsyncGenerator<CheckpointInfo> {
  const read: Read<CheckpointInfo> = (limit, cursor) => inspector.checkpoints(ref, { limit, cursor, order: "desc" });
  for await (const { items } of pages(read, {})) yield* items;
}

/** Reads a part of a listing. Returns it with the cursor of the next part. */
export async function readListing<T>(read: Read<T>, part: Part): Promise<Page<T>> {
  const listing: Page<T> = { items: [], cursor: null };
  for await (const { items, cursor } of pages(read, part)) {
    listing.items.push(...items);
    listing.cursor = cursor;
  }
  return listing;
}

async function* pages<T>(
  read: Read<T>,
  { limit = Number.POSITIVE_INFINITY, cursor: given }: Part,
): AsyncGenerator<Page<T>> {
  let [left, cursor] = [limit, given ?? null];
  while (left > 0) {
    const page = await read(Math.min(left, LONGEST), cursor).catch((error: unknown) => {
      throw cursor === given && given !== undefined ? cursorError(error) : error;
    });
    yield page;
    left -= page.items.length;
    cursor = page.cursor;
    if (cursor === null) return;
  }
}

/** Turns the error of a wrong cursor into a usage error. */
function cursorError(error: unknown): unknown {
  const { code, message } = describe(error);
  return code === "INVALID_ARGUMENT" && message.includes("cursor") ? new UsageError(message) : error;
}
