/** Prunes, measures and vacuums a store. */

import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import type { PruneProgress, StoreStats } from "./results.js";
import type { Engine } from "./engine.js";
import { keptBytes } from "../bridge/incremental/memory.js";
import { ForkpointError, rangeError, show, typeError } from "../bridge/errors.js";
import {
  type OptionParser,
  type Retention,
  atMost,
  callback,
  flag,
  readRecord,
  signalOption,
  share,
  whole,
} from "./options.js";
import { type Cursor, type FoundStats, type Pruned, type Rule, storeCalls } from "../bridge/wire.js";

/**
 * The checkpoints to remove. Each rule applies independently of the others. A rule that is left out uses the value that
 * the store was opened with. Null means no limit. `Progress` is the type that `onProgress` receives.
 */
export interface PruneOptions<Progress = PruneProgress> {
  /**
   * Removes the checkpoints that were saved before this time: a Date, or ms since the epoch. The newest checkpoint of a
   * run is removed too, unless the run is leased or waits for a person. The rule compares the time of the save, not the
   * checkpoint's `timestamp`. Default: the current time minus the store's `ttlMs`.
   */
  olderThan?: Date | number | null;
  /**
   * If true, `olderThan` also removes runs that wait for a person. If false, it removes none of them. Default: those
   * older than the store's `waitingTtlMs`.
   */
  waiting?: boolean;
  /**
   * The maximum number of checkpoints of each run to keep. The newest are kept. 0 and Infinity mean no limit. Default:
   * the store's `keepLastN`.
   */
  keepLastN?: number | null;
  /**
   * Removes the checkpoints that were saved first until the remaining checkpoints use at most this many stored bytes.
   * The newest checkpoint of a run is never removed. 0 and Infinity mean no limit. Default: the store's `maxBytes`.
   */
  maxBytes?: number | null;
  /** If true, removes nothing and returns what would be removed. Default: false. */
  dryRun?: boolean;
  /**
   * The maximum share of time in which `prune()` works, from 0.01 to 1. It pauses between two batches, so that other
   * calls can use the database. Default: 1, without pauses.
   */
  share?: number;
  /**
   * Stops the prune between two batches. The promise then rejects with the signal's reason. Checkpoints that were
   * already removed stay removed.
   */
  signal?: AbortSignal;
  /** Called after each batch with the removals so far. If this function throws, pruning stops with that error. */
  onProgress?: (progress: Progress) => void;
}

/** Options of `stats()`. */
export interface StatsOptions {
  /**
   * The maximum number of runs to list: those that use the most storage. Default: 0. At most 1,000. The first list
   * reads a small part of every checkpoint. On SQLite, later lists read only what was saved in between, unless
   * checkpoints were removed, and do not hold up other reads. Without the list, `stats()` takes a few milliseconds,
   * however much is stored.
   */
  largest?: number;
}

/** The maximum number of checkpoints that one transaction removes. A save waits for at most one transaction. */
const BATCH = 500;

const REMOVAL = "the removal finished: the remaining checkpoints were kept";

/** Throws if the operation should stop because the store is being closed or the signal has aborted. */
export function throwIfStopped(signal: AbortSignal | undefined, closing: () => boolean, why = REMOVAL): void {
  if (closing()) throw new ForkpointError("CLOSED", `the store was closed before ${why}`);
  signal?.throwIfAborted();
}

/**
 * Yields to the event loop, then throws if the operation should stop. If a store answers immediately, the caller could
 * not abort otherwise.
 */
export async function betweenSteps(
  signal: AbortSignal | undefined,
  closing: () => boolean,
  why = REMOVAL,
): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  throwIfStopped(signal, closing, why);
}

/**
 * Removes the selected checkpoints in batches: those of `contract`, or of all contracts if `contract` is undefined.
 * `close` waits for at most one batch. `shown` converts the progress to the caller's type.
 */
export async function prune<R = PruneProgress>(
  { native, retention }: Engine,
  contract: string | undefined,
  options: unknown,
  closing: () => boolean,
  shown: (progress: PruneProgress) => R = (progress) => progress as R,
): Promise<R> {
  const { signal, onProgress, dryRun, share: ofTime = 1, ...given } = readRecord(options, "options", pruneOptions);
  const rules = rulesOf(given, retention);
  throwIfStopped(signal, closing);
  const done: PruneProgress = { removed: 0, bytes: 0, lineages: 0 };
  const count = ({ checkpoints, bytes, lineages }: Pruned) => {
    done.removed += checkpoints;
    done.bytes += bytes;
    done.lineages += lineages;
    onProgress?.(shown({ ...done }) as never);
  };
  if (dryRun) {
    count(await storeCalls.call(native, "prunable", { contract, rules }));
    return shown(done);
  }
  const remove = async (rule: Rule, of: string | undefined, removed: (batch: Pruned) => void) => {
    let next: Cursor | undefined;
    do {
      const began = performance.now();
      const batch: Pruned = await storeCalls.call(native, "prune", { contract: of, rule, cursor: next, most: BATCH });
      const took = performance.now() - began;
      removed(batch);
      next = batch.next ?? undefined;
      if (next === undefined) continue;
      // An abort ends the pause.
      if (ofTime < 1) await sleep(took * (1 / ofTime - 1), undefined, { signal }).catch(() => {});
      await betweenSteps(signal, closing);
    } while (next !== undefined);
  };
  for (const rule of rules) {
    await remove(rule, contract, count);
    // Effects age like the checkpoints of their run. They are not counted, because they are no checkpoints.
    const isAboutAge = "savedBefore" in rule || "allSavedBefore" in rule;
    if (contract !== undefined && isAboutAge) await remove(rule, `${contract}/effects`, () => {});
  }
  return shown(done);
}

export async function stats({ native }: Engine, contract: string | undefined, options: unknown): Promise<StoreStats> {
  const { largest = 0 } = readRecord(options, "options", statsOptions);
  const found = await storeCalls.call(native, "stats", { contract, largest });
  const lines = found.largest.map(({ space: _space, run: _run, ns: _ns, ...line }) => line);
  return { ...sizesOf(found), keptBytes: keptBytes(), largest: lines };
}

/** Returns the fields that all statistics of a store share. */
export function sizesOf({ largest: _largest, logBytes: _log, freeBytes: _free, fileBytes, ...sizes }: FoundStats) {
  const ratio = sizes.storedBytes === 0 ? 1 : sizes.logicalBytes / sizes.storedBytes;
  return { ...sizes, ratio, ...(fileBytes !== null && { fileBytes }) };
}

const statsOptions = { largest: whole(0, 1000, "entries") };

export async function vacuum({ native }: Engine): Promise<void> {
  await storeCalls.call(native, "vacuum", {});
}

/** Returns the selected rules. A missing rule takes the store's value. */
function rulesOf(
  given: { olderThan?: number | null; waiting?: boolean; keepLastN?: number | null; maxBytes?: number | null },
  policy: Retention,
): Rule[] {
  const { olderThan = policy.ttlMs === null ? null : Date.now() - policy.ttlMs } = given;
  const { keepLastN = policy.keepLastN, maxBytes = policy.maxBytes } = given;
  // The order of the rules matters. Removal by age leaves fewer checkpoints for the limit on their number. Removal by
  // number leaves fewer bytes for the limit on bytes.
  const rules: Rule[] = [];
  if (olderThan !== null)
    rules.push(...rulesOfAge(Math.ceil(olderThan), waitingBefore(olderThan, given.waiting, policy)));
  else if (given.waiting === true) throw typeError('option "waiting" needs "olderThan"');
  if (keepLastN !== null) rules.push({ keepLast: keepLastN });
  if (maxBytes !== null) rules.push({ maxBytes });
  return rules;
}

function rulesOfAge(olderThan: number, waiting: number): Rule[] {
  if (waiting >= olderThan) return [{ allSavedBefore: olderThan }];
  const rule = { savedBefore: olderThan };
  return waiting === Number.NEGATIVE_INFINITY ? [rule] : [rule, { allSavedBefore: Math.ceil(waiting) }];
}

/** Returns the time before which a run that waits for a person must have been saved for a rule about age. */
export function waitingBefore(
  olderThan: number,
  waiting: boolean | undefined,
  { waitingTtlMs }: Pick<Retention, "waitingTtlMs">,
): number {
  if (waiting === true) return Math.ceil(olderThan);
  if (waiting === false || waitingTtlMs === null) return Number.NEGATIVE_INFINITY;
  return Math.min(olderThan, Date.now() - waitingTtlMs);
}

/** The options of operations that run in steps and can be stopped. */
export const stepOptions = { signal: signalOption, onProgress: callback };

export const pruneOptions = {
  olderThan: (value: unknown, name: string) => {
    if (value === null) return null;
    const time = value instanceof Date ? value.getTime() : value;
    if (typeof time !== "number") {
      throw typeError(`${name} must be a Date or a number of milliseconds since the epoch, but is ${show(value)}`);
    }
    if (!Number.isFinite(time) || Math.abs(time) > Number.MAX_SAFE_INTEGER) {
      throw rangeError(`${name} must be a valid time, but is ${value instanceof Date ? "an invalid Date" : time}`);
    }
    return time;
  },
  waiting: flag,
  keepLastN: atMost("checkpoints"),
  maxBytes: atMost("bytes"),
  dryRun: flag,
  share,
  ...stepOptions,
} satisfies Record<keyof PruneOptions, OptionParser<unknown>>;
