/** Follows what is saved, by whatever process. */

import { setTimeout as sleep } from "node:timers/promises";
import type { CheckpointInfo, StoreEvent } from "../../inspect.js";
import { requireId } from "../ids.js";
import { readRecord, signalOption, whole } from "../options.js";
import { type Context, SESSIONS, readSpace } from "./context.js";
import { contractsOf } from "./runs.js";
import { infoOf, isOrdered, readLineups, readPages } from "./rows.js";
import { type FeedPage, type Row, type Wanted, inspect, openFeed } from "./wire.js";

/** The pause between two looks, in ms. A look at a server is a round trip. */
const [PAUSE, SERVER_PAUSE] = [100, 500];

/** The number of checkpoints that one look reads. */
const PAGE = 500;

const watchOptions = {
  space: (value: unknown) => readSpace(value),
  run: requireId,
  since: whole(0, Number.MAX_SAFE_INTEGER, "a save number"),
  last: whole(0, 1000, "checkpoints"),
  signal: signalOption,
};

interface WatchOptions {
  space?: string;
  run?: string;
  since?: number;
  last?: number;
  signal?: AbortSignal;
}

/** Yields what is saved. */
export async function* watch(
  context: Context,
  given: unknown,
  closing: () => boolean,
): AsyncGenerator<StoreEvent, void, void> {
  const { since, last = 0, signal, ...filter } = readRecord(given, "options", watchOptions) as WatchOptions;
  const spaces = new Set(contractsOf(filter.space));
  const isWanted = ({ space, run }: Row) => spaces.has(space) && (filter.run === undefined || run === filter.run);
  const pause = context.engine.native.backend === "postgres" ? SERVER_PAUSE : PAUSE;
  const stopped = () => closing() || signal?.aborted === true;

  const newest = await look(context, { after: 0, newestFirst: true, limit: 1 });
  let after = since ?? newest.next;
  if (since === undefined && last > 0) {
    const rows = await lastSaved(context, last, isWanted);
    for (const event of await eventsOf(context, rows)) yield event;
    after = Math.max(after, rows.at(-1)?.seq ?? 0);
  }
  let page: FeedPage | undefined;
  let counted: number | null = null;
  while (!stopped()) {
    const { version, wait }: Partial<FeedPage> = page ?? {};
    const found = await look(context, { after, newestFirst: false, limit: PAGE, version, wait });
    if (isRemoval(page, found, counted)) yield { type: "changed" };
    counted = found.checkpoints ?? counted;
    after = found.next;
    page = found;
    for (const event of await eventsOf(context, found.rows.filter(isWanted))) {
      if (stopped()) return;
      yield event;
    }
    if (found.rows.length < PAGE && !(await paused(pause, signal))) return;
  }
}

/** Waits. Returns false if the signal has aborted meanwhile. */
function paused(ms: number, signal: AbortSignal | undefined): Promise<boolean> {
  return sleep(ms, true, signal && { signal }).catch(() => false);
}

function look(
  { engine }: Context,
  {
    version,
    wait,
    ...fields
  }: Pick<FeedPage, never> & {
    after: number;
    newestFirst: boolean;
    limit: number;
    version?: number | null | undefined;
    wait?: FeedPage["wait"] | undefined;
  },
): Promise<FeedPage> {
  const known = { version: version ?? undefined, wait: wait ?? undefined };
  return inspect.find(engine.native, "feed", { ...fields, ...known }, openFeed);
}

/** Returns true if something was removed between two looks. A checkpoint that was saved again was removed before. */
function isRemoval(before: FeedPage | undefined, now: FeedPage, counted: number | null): boolean {
  if (before === undefined) return false;
  if (now.removals !== null) return now.removals !== before.removals;
  return now.checkpoints !== null && counted !== null && now.checkpoints !== counted + now.rows.length;
}

/** Returns the last wanted checkpoints, in save order. */
async function lastSaved(context: Context, count: number, isWanted: (row: Row) => boolean): Promise<Row[]> {
  for (let limit = Math.max(count, 100); ; limit *= 8) {
    const { rows } = await look(context, { after: 0, newestFirst: true, limit });
    const wanted = rows.filter(isWanted);
    if (wanted.length >= count || rows.length < limit) return wanted.slice(0, count).toReversed();
  }
}

/** Shows saved checkpoints. */
async function eventsOf(context: Context, rows: readonly Row[]): Promise<StoreEvent[]> {
  const shown = await Promise.all(rows.map((row) => showSaved(context, row)));
  return shown.map((checkpoint, at) => ({ type: "saved", seq: rows[at]!.seq, checkpoint }));
}

async function showSaved(context: Context, row: Row): Promise<CheckpointInfo> {
  if (!isOrdered(row)) return infoOf(context, row, undefined);
  const key = { space: row.space, run: row.run, ns: row.ns ?? "" };
  if (row.space === SESSIONS) {
    // The current state of a session comes after its checkpoints.
    const of = { ...key, space: "helix", from: "end" as const, newestFirst: true, limit: 1, sums: false };
    const [lineup] = await readLineups(context, [of]);
    const { page } = lineup!;
    return infoOf(context, { ...row, step: page.checkpoints }, page.rows[0]);
  }
  const wanted: Wanted = { ...key, from: { id: row.id }, newestFirst: true, limit: 2, sums: false };
  const [page] = await readPages(context, [wanted]);
  return infoOf(context, row, page!.rows[1]);
}
