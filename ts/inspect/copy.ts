/** `copyStore`: copies everything from one store to another. */

import { existsSync } from "node:fs";
import { tellFailure } from "../bridge/channels.js";
import { ForkpointError, isOwnError, quote, readingArgument, typeError } from "../bridge/errors.js";
import type { Engine } from "../store/engine.js";
import { type FeedPage, inspect, openFeed, type Row } from "./wire.js";
import { Copy, pathOfTarget } from "../bridge/native.js";
import { type OptionParser, readRecord, readTarget } from "../store/options.js";
import { pruneOptions } from "../store/retention.js";
import type { StoreStats } from "../store/results.js";
import { Store, engineOf, openInBackground } from "../store/store.js";
import { type Stored, binaryTags, storedAsText } from "../bridge/serializer.js";
import { parse, subjectOf } from "../bridge/wire.js";

/** Options of {@link copyStore}. */
export interface CopyOptions {
  /**
   * Stops the copy between two pages. `copyStore` then rejects with the signal's reason. What was copied stays, and the
   * next call continues after it.
   */
  signal?: AbortSignal;
  /** Is called after each page, with what was done so far. */
  onProgress?: (progress: CopyProgress) => void;
}

/** What {@link copyStore} has copied and compared. */
export interface CopyResult {
  /** The number of runs, threads, sessions, stored values and namespaces. */
  lineages: number;
  /** The number of checkpoints. */
  checkpoints: number;
  /** The number of pending writes. */
  writes: number;
  /** The number of records of logs, such as the messages of Helix sessions. */
  records: number;
  /** The size of all these in bytes, before compression. */
  bytes: number;
}

/** How far {@link copyStore} is. */
export interface CopyProgress extends CopyResult {
  /**
   * `"verifying"`: both stores are read and compared. The counts begin again at 0. A copy begins with this phase if the
   * destination is not empty, and ends with it.
   */
  phase: "copying" | "verifying";
  /** The number of checkpoints that the source had when the call began. */
  ofCheckpoints: number;
  /** The number of records that the source had when the call began. */
  ofRecords: number;
}

/** The progress as the engine reports it: see `engine/src/copy.rs`. */
interface Step extends CopyResult {
  verifying: boolean;
  done: boolean;
  ofCheckpoints: number;
  ofRecords: number;
}

/** One of the two stores of a copy. */
interface Side {
  store: Store;
  /** True if `copyStore` opened the store, and closes it. */
  owned: boolean;
}

/** The options of stores that `copyStore` opens: every payload that a store can hold must fit. */
const options = { maxPayloadBytes: 900 * 2 ** 20 };

const copyOptions: { [K in keyof Required<CopyOptions>]: OptionParser<unknown> } = {
  signal: pruneOptions.signal,
  onProgress: pruneOptions.onProgress,
};

/**
 * Copies everything from one store to another one, of any kind: a database, a folder of text files, a store in memory.
 * Then reads both stores and compares them.
 *
 * The copy has all checkpoints, pending writes, logs, sessions and stored values, in the same order. Leases are left out.
 * A copy that was interrupted, even by a kill, is continued by the next call with the same stores. A copy that has ended gets
 * what is new in `from`. `from` is only read.
 * No program should write to either store during the copy.
 *
 * @param from the store to copy: a target as for {@link openStore}, or an open store.
 * @param to an empty store, or one with a copy of the same source. It has no retention limits.
 * @throws ForkpointError `CONFLICT` if `to` holds anything else, or if a program changed what was copied: the message
 *   names the checkpoint. `NOT_FOUND` if `from` does not exist. `INVALID_ARGUMENT` if both are the same store, or if `to`
 *   has a retention limit. `CORRUPT` if the source is damaged: the message names the checkpoint. `FULL`, `BUSY`,
 *   `CLOSED`, `UNAVAILABLE` or `UNSUPPORTED` as for any call.
 * @throws TypeError for a wrong argument or option.
 * @example
 * ```ts
 * import { copyStore } from "forkpoint";
 *
 * const { checkpoints } = await copyStore("agent.db", "jsonl:runs");
 * ```
 */
export async function copyStore(
  from: string | URL | Store,
  to: string | URL | Store,
  options?: CopyOptions,
): Promise<CopyResult> {
  const sides: Side[] = [];
  try {
    const { signal, onProgress } = readRecord(options, "options", copyOptions) as CopyOptions;
    signal?.throwIfAborted();
    // The destination is not opened, and so not created, if the source cannot be opened.
    const open = async (target: unknown, name: "from" | "to") => {
      const side = sideOf(target, name);
      sides.push(side);
      await engineOf(side.store).ready;
      return side.store;
    };
    const source = await open(from, "from");
    const destination = await open(to, "to");
    const mark = await Mark.of(source);
    const convert = engineOf(destination).keepsText ? (values: Stored[]) => values.map(storedAsText) : undefined;
    const copy = new Copy(engineOf(source).native, engineOf(destination).native, convert, binaryTags);
    for (;;) {
      signal?.throwIfAborted();
      const { done, verifying, ofCheckpoints, ofRecords, ...counts } = await step(copy, [source, destination]);
      const progress: CopyProgress = {
        phase: verifying ? "verifying" : "copying",
        ...counts,
        ofCheckpoints,
        ofRecords,
      };
      onProgress?.(progress);
      if (!done) continue;
      await mark.confirm(source);
      return counts;
    }
  } catch (error) {
    if (isOwnError(error)) Error.captureStackTrace(error, copyStore);
    throw error;
  } finally {
    await Promise.all(sides.map(({ store, owned }) => (owned ? store.close() : undefined)));
  }
}

/**
 * What a store keeps unless it goes back in time: its newest checkpoint, and how much it has. What was compared before a store
 * goes back is not compared again.
 */
class Mark {
  readonly #newest: string;
  readonly #after: number;
  readonly #stats: StoreStats;

  constructor({ rows: [newest] }: FeedPage, stats: StoreStats) {
    this.#newest = identityOf(newest);
    this.#after = (newest?.seq ?? 1) - 1;
    this.#stats = stats;
  }

  static async of(store: Store): Promise<Mark> {
    const newest = await feed(store, 0, true);
    return new Mark(newest, await store.stats());
  }

  async confirm(store: Store): Promise<void> {
    const { rows } = await feed(store, this.#after, false);
    const { checkpoints, records } = await store.stats();
    const isLess = checkpoints < this.#stats.checkpoints || records < this.#stats.records;
    if (isLess || (this.#newest !== "" && identityOf(rows[0]) !== this.#newest)) {
      throw new ForkpointError(
        "CONFLICT",
        "the source of the copy changed while it was copied: an older version of it was restored, or something was " +
          "removed from it. Copy it again to an empty store",
      );
    }
  }
}

const identityOf = (row: Row | undefined): string =>
  row === undefined ? "" : JSON.stringify([row.space, row.run, row.ns, row.id, row.seq, row.savedAt]);

const feed = (store: Store, after: number, newestFirst: boolean): Promise<FeedPage> =>
  inspect.find(
    engineOf(store).native,
    "feed",
    { after, newestFirst, limit: 1, version: undefined, wait: undefined },
    openFeed,
  );

/** Makes one step. A store that is closed meanwhile waits for the end of the step. */
async function step(copy: Copy, stores: [from: Store, to: Store]): Promise<Step> {
  const engines = stores.map(engineOf) as [Engine, Engine];
  for (const { activity } of engines) activity.begin();
  try {
    return parse(await copy.step()) as Step;
  } catch (error) {
    // The message says which of the two stores it is.
    tellFailure(error, subjectOf(engines[1].native, "copy", {}));
    throw error;
  } finally {
    for (const { activity } of engines) activity.end();
  }
}

function sideOf(target: unknown, name: "from" | "to"): Side {
  if (readingArgument(name, () => target instanceof Store)) return { store: target as Store, owned: false };
  if (readingArgument(name, () => typeof target === "object" && target !== null && !(target instanceof URL))) {
    throw typeError(`${name} must be a path, a URL or a store from openStore()`);
  }
  const text = readTarget(target);
  const path = pathOfTarget(text);
  if (text === "memory:") {
    throw typeError(
      `${name} is "memory:", which is a new store that nobody else can use: give a store from openStore()`,
    );
  }
  // Opening the source would create it.
  if (name === "from" && path !== null && !existsSync(path)) {
    throw new ForkpointError("NOT_FOUND", `there is no store at ${quote(path)}: nothing to copy`);
  }
  return { store: openInBackground(text, options), owned: true };
}
