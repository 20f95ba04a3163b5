/** Goes through listings page by page. */

import { describe, UsageError } from "./errors.js";
import type { CheckpointInfo, Page, RunInfo, RunRef } from "../../ts/inspect/views.js";
import type { Inspector } from "../../ts/inspect/inspector.js";
import type { RunQuery } from "../../ts/inspect/runs.js";

/** The longest page of a listing. */
const LONGEST = 1000;

/** How much of a listing to read. */
export interface Part {
  /** How many entries. Default: all. */
  limit?: number | undefined;
  cursor?: string | undefined;
}

/** A listing that was read, and the cursor of what follows. */
export interface Listing<T> {
  items: T[];
  cursor: string | null;
}

/** Yields the runs of a query. */
export function runsOf(inspector: Inspector, query: Omit<RunQuery, "limit" | "cursor">): AsyncGenerator<RunInfo> {
  return entries((limit, cursor) => inspector.runs({ ...query, limit, cursor }), {});
}

/** Yields the checkpoints of a run. */
export function checkpointsOf(
  inspector: Inspector,
  ref: RunRef,
  { order = "asc", ...part }: Part & { order?: "asc" | "desc" } = {},
): AsyncGenerator<CheckpointInfo> {
  return entries((limit, cursor) => inspector.checkpoints(ref, { limit, cursor, order }), part);
}

/** Reads a part of a listing. */
export async function readListing<T>(
  read: (limit: number, cursor: string | null) => Promise<Page<T>>,
  part: Part,
): Promise<Listing<T>> {
  const items: T[] = [];
  let end: string | null = null;
  for await (const page of pages(read, part)) {
    items.push(...page.items);
    end = page.cursor;
  }
  return { items, cursor: end };
}

async function* entries<T>(
  read: (limit: number, cursor: string | null) => Promise<Page<T>>,
  part: Part,
): AsyncGenerator<T> {
  for await (const { items } of pages(read, part)) yield* items;
}

async function* pages<T>(
  read: (limit: number, cursor: string | null) => Promise<Page<T>>,
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

/** A wrong cursor is a wrong argument of the command. */
function cursorError(error: unknown): unknown {
  const { code, message } = describe(error);
  return code === "INVALID_ARGUMENT" && message.includes("cursor") ? new UsageError(message) : error;
}
