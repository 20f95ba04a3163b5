/** Follows the saves of all processes. */

import { setTimeout as sleep } from "node:timers/promises";
import { requireId } from "../store/ids.js";
import { type Parsed, readRecord, signalOption, whole } from "../store/options.js";
import { type Context, contractsOf, isCurrent, readSpace, refOf, spaceOf } from "./context.js";
import { readPages } from "../plugin/pages.js";
import { type Parents, infoOf, isOrdered, readLineups, readParents } from "./rows.js";
import { type FeedPage, type Row, type Wanted, inspect, openFeed } from "../plugin/wire.js";
import type { EffectState, StoredEffect } from "../store/effect-wire.js";
import type { CheckpointInfo, EffectInfo } from "../plugin/views.js";

/** An event of a watch. */
export type StoreEvent =
  | { type: "saved"; seq: number; checkpoint: CheckpointInfo }
  /** An effect of a run began or ended. Read its details with `effects()`. */
  | { type: "effect"; seq: number; effect: WatchedEffect }
  /** Checkpoints were removed. Read your data again. On a server, the end of an effect may also cause this event. */
  | { type: "changed" };

/** An effect that began or ended, at `savedAt`. */
export interface WatchedEffect extends Pick<EffectInfo, "space" | "run" | "ns" | "key" | "branch"> {
  state: EffectState;
  /** In ms since the epoch. */
  savedAt: number;
}

/** The pause between two polls, in ms. A poll of a server is a round trip, so its pause is longer. */
const [PAUSE, SERVER_PAUSE] = [100, 500];

/** The number of checkpoints that one poll reads. */
const PAGE = 500;

/** The number of checkpoints that a watch remembers. */
const KNOWN = 100;

const watchOptions = {
  space: readSpace,
  run: requireId,
  since: whole(0, Number.MAX_SAFE_INTEGER, "a save number"),
  last: whole(0, 1000, "checkpoints"),
  signal: signalOption,
};

/** Checks the options of a watch, and returns the watch. */
export function watch(
  context: Context,
  given: unknown,
  closing: () => boolean,
): AsyncGenerator<StoreEvent, void, void> {
  return eventsSince(context, readRecord(given, "options", watchOptions), closing);
}

async function* eventsSince(
  context: Context,
  { since, last = 0, signal, ...filter }: Parsed<typeof watchOptions>,
  closing: () => boolean,
): AsyncGenerator<StoreEvent, void, void> {
  const spaces = new Set(contractsOf(filter.space));
  const isWanted = ({ space, run }: Row) => spaces.has(space) && (filter.run === undefined || run === filter.run);
  const pause = context.engine.native.backend === "postgres" ? SERVER_PAUSE : PAUSE;
  const stopped = () => closing() || signal?.aborted === true;

  const newest = await look(context, { after: 0, newestFirst: true, limit: KNOWN });
  let after = since ?? newest.next;
  const seen = new Seen(newest.rows.filter(({ seq }) => seq <= after));
  // A removal after this read is always reported, even before the first pause.
  let page = since === undefined ? newest : undefined;
  let counted = page?.checkpoints ?? null;
  if (last > 0 && page !== undefined) {
    const rows = await lastSaved(context, last, isWanted);
    // Leave out newer checkpoints, which the loop yields.
    yield* await eventsOf(
      context,
      rows.filter(({ seq }) => seq <= after),
    );
  }
  while (!stopped()) {
    // Read the last seen checkpoint again. If its save number now has another checkpoint, the database was restored.
    const anchored = seen.has(after);
    const from = anchored ? after - 1 : after;
    const found = await look(context, { after: from, newestFirst: false, limit: PAGE }, page);
    const isUnchanged = found.version !== null && found.version === page?.version;
    const rows = found.rows.filter((row) => !seen.is(row));
    // An ended effect is a different row.
    const isGone = anchored && !isUnchanged && rows.length === found.rows.length && !seen.isEffect(after);
    if (isGone || isRemoval(page, found, rows, counted)) {
      yield { type: "changed" };
      const back = await seen.seqAfterRewind(context, after);
      if (back !== undefined) {
        [after, page, counted] = [back, undefined, null];
        continue;
      }
      if (isGone) seen.forget(after);
    }
    counted = found.checkpoints ?? counted;
    after = rows.at(-1)?.seq ?? after;
    page = found;
    seen.add(rows);
    for (const event of await eventsOf(context, rows.filter(isWanted))) {
      if (stopped()) return;
      yield event;
    }
    // An abort ends the pause, and then the loop.
    if (found.rows.length < PAGE) await sleep(pause, undefined, signal && { signal }).catch(() => {});
  }
}

/** The newest checkpoints that a watch has seen, by save number. A restored database uses these numbers again. */
class Seen {
  readonly #saved = new Map<number, { identity: string; isEffect: boolean }>();

  constructor(rows: readonly Row[]) {
    this.add(rows.toReversed());
  }

  /** Adds checkpoints in save order. */
  add(rows: readonly Row[]): void {
    for (const row of rows) this.#saved.set(row.seq, { identity: identityOf(row), isEffect: row.effect === true });
    for (const seq of this.#saved.keys()) if (this.#saved.size > KNOWN) this.#saved.delete(seq);
  }

  has(seq: number): boolean {
    return this.#saved.has(seq);
  }

  is(row: Row): boolean {
    return this.#saved.get(row.seq)?.identity === identityOf(row);
  }

  isEffect(seq: number): boolean {
    return this.#saved.get(seq)?.isEffect === true;
  }

  forget(seq: number): void {
    this.#saved.delete(seq);
  }

  /**
   * If the database was restored to a state before the save number `after`, returns the number to continue from: that
   * of the newest seen checkpoint that still exists or, without one, the newest number.
   */
  async seqAfterRewind(context: Context, after: number): Promise<number | undefined> {
    const { rows, next } = await look(context, { after: 0, newestFirst: true, limit: KNOWN });
    const isAnother = rows.some((row) => this.#saved.has(row.seq) && !this.is(row));
    if (next >= after && !isAnother) return undefined;
    const newest = rows.find((row) => this.is(row))?.seq ?? next;
    for (const seq of this.#saved.keys()) if (seq > newest) this.#saved.delete(seq);
    return newest;
  }
}

const identityOf = ({ space, run, ns, id, savedAt }: Row) => JSON.stringify([space, run, ns, id, savedAt]);

/** Reads a page of the feed. `before` is the previous page. */
function look(
  { engine }: Context,
  fields: { after: number; newestFirst: boolean; limit: number },
  before?: FeedPage,
): Promise<FeedPage> {
  const known = { version: before?.version ?? undefined, wait: before?.wait ?? undefined };
  return inspect.find(engine.native, "feed", { ...fields, ...known }, openFeed);
}

/** Returns true if checkpoints were removed between two polls. A repeated save also removes the earlier checkpoint. */
function isRemoval(
  before: FeedPage | undefined,
  now: FeedPage,
  added: readonly Row[],
  counted: number | null,
): boolean {
  if (before === undefined) return false;
  if (now.removals !== null) return now.removals !== before.removals;
  if (now.checkpoints === null || counted === null) return false;
  // The end of an effect replaces its beginning.
  const replaced = added.filter(({ effect }) => effect === true).length;
  return now.checkpoints > counted + added.length || now.checkpoints < counted + added.length - replaced;
}

/** Returns the last `count` checkpoints that match `isWanted`, in save order. */
async function lastSaved(context: Context, count: number, isWanted: (row: Row) => boolean): Promise<Row[]> {
  for (let limit = Math.max(count, 100); ; limit *= 8) {
    const { rows } = await look(context, { after: 0, newestFirst: true, limit });
    const wanted = rows.filter((row) => row.effect !== true && isWanted(row));
    if (wanted.length >= count || rows.length < limit) return wanted.slice(0, count).toReversed();
  }
}

async function eventsOf(context: Context, rows: readonly Row[]): Promise<StoreEvent[]> {
  const parents = await readParents(
    context,
    rows.filter(({ effect }) => effect !== true),
  );
  return Promise.all(rows.filter((row) => !isRenewalOrDamaged(row)).map((row) => eventOf(context, row, parents)));
}

async function eventOf(context: Context, row: Row, parents: Parents): Promise<StoreEvent> {
  const { seq } = row;
  if (row.effect !== true) return { type: "saved", seq, checkpoint: await showSaved(context, row, parents) };
  const { branch, state } = row.meta as unknown as StoredEffect;
  return { type: "effect", seq, effect: { ...refOf(row), key: row.id, branch, state, savedAt: row.savedAt } };
}

/** Returns true for a renewed claim of an effect. Also true for a damaged effect. */
function isRenewalOrDamaged({ effect, meta, savedAt }: Row): boolean {
  if (effect !== true) return false;
  const { state, startedAt } = (meta ?? {}) as Partial<StoredEffect>;
  return state === undefined || (state === "running" && startedAt !== savedAt);
}

async function showSaved(context: Context, row: Row, parents: Parents): Promise<CheckpointInfo> {
  if (!isOrdered(row)) return infoOf(context, row, undefined, parents(row));
  const key = { space: row.space, run: row.run, ns: row.ns ?? "" };
  if (isCurrent(row.space)) {
    // The current state of a run comes after its checkpoints.
    const of = { ...key, space: spaceOf(row.space), from: "end" as const, newestFirst: true, limit: 1, sums: false };
    const [lineup] = await readLineups(context, [of]);
    const { page } = lineup!;
    return infoOf(context, { ...row, step: page.checkpoints }, page.rows[0], undefined);
  }
  const wanted: Wanted = { ...key, from: { id: row.id }, newestFirst: true, limit: 2, sums: false };
  const [page] = await readPages(context, [wanted]);
  return infoOf(context, row, page!.rows[1], undefined);
}
