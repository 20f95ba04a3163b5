/** `copyStore`: copies everything from one store to another, or some runs. */

import { existsSync } from "node:fs";
import { tellFailure } from "../bridge/channels.js";
import { ForkpointError, isOwnError, quote, readingArgument, typeError } from "../bridge/errors.js";
import type { Engine } from "../store/engine.js";
import { type FeedPage, inspect, type Key, openFeed, type Row } from "./wire.js";
import { Copy, pathOfTarget } from "../bridge/native.js";
import { type OptionParser, readRecord, readTarget } from "../store/options.js";
import { check } from "../store/check.js";
import { pruneOptions } from "../store/retention.js";
import type { StoreStats } from "../store/results.js";
import { Store, engineOf, openInBackground } from "../store/store.js";
import { type Stored, binaryTags, storedAsText } from "../bridge/serializer.js";
import { parse, subjectOf } from "../bridge/wire.js";
import { type ChosenRun, choiceOptions, chosenRuns } from "./chosen-runs.js";
import { copyAnswers } from "./copy-answers.js";
import { shownNs, spaceOf } from "./context.js";
import { readRuns } from "./read-runs.js";
import type { RunRef, Space } from "./views.js";

/**
 * Options of {@link copyStore}. With `runs`, `space`, `since`, `onConflict` or `onDamage`, runs are copied one after the other.
 */
export interface CopyOptions {
  /**
   * Copies only these runs: a thread with all of its namespaces, a session with its messages. The destination may have other
   * runs.
   */
  runs?: RunRef[];
  /** Copies only runs of this framework. The destination may have other runs. */
  space?: Space;
  /** Copies only runs that were active at this time or later, in ms since the epoch. The destination may have other runs. */
  since?: number;
  /**
   * What happens to a run that exists in the destination with different content. `"fail"` rejects with `CONFLICT`.
   * `"skip"` leaves the run as it is and continues. `"replace"` removes it and copies it. The destination may have
   * other runs. Default: `"fail"`.
   */
  onConflict?: "fail" | "skip" | "replace";
  /**
   * What happens to a run of the source that cannot be read. `"fail"` rejects with `CORRUPT`. `"skip"` leaves the run out, and
   * names it in `damaged` of the result. The destination may have other runs. Default: `"fail"`.
   */
  onDamage?: "fail" | "skip";
  /**
   * Stops the copy between two pages. `copyStore` then rejects with the signal's reason. What was copied stays, and the
   * next call continues after it.
   */
  signal?: AbortSignal;
  /** Is called after each page, with the progress. */
  onProgress?: (progress: CopyProgress) => void;
}

/** What {@link copyStore} has copied and compared. */
export interface CopyResult {
  /** The number of runs, threads, sessions, stored values and namespaces. */
  lineages: number;
  /** The number of checkpoints. */
  checkpoints: number;
  /** The number of effects of runs: see `forkpoint/effects`. */
  effects: number;
  /** The number of pending writes. */
  writes: number;
  /** The number of messages and events, such as the messages of Helix sessions. */
  records: number;
  /** The size of all these in bytes, before compression. */
  bytes: number;
  /** The number of runs that stayed as they were in the destination, because of `onConflict: "skip"`. */
  skipped: number;
  /** The runs that were left out because of `onDamage: "skip"`, and why. Missing without this option. */
  damaged?: Array<RunRef & { message: string }>;
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
  /** The number of messages and events that the source had when the call began. */
  ofRecords: number;
}

/** The progress as the engine reports it: see `engine/src/copy.rs`. */
interface Step extends Omit<CopyResult, "skipped"> {
  verifying: boolean;
  done: boolean;
  /** True if the destination was changed. */
  changed: boolean;
  ofCheckpoints: number;
  ofRecords: number;
}

/** One of the two stores of a copy. */
interface Side {
  store: Store;
  /** True if `copyStore` opened the store, and closes it. */
  owned: boolean;
}

/** The options of the stores that `copyStore` opens. The limit is the maximum, so that every stored payload fits. */
const options = { maxPayloadBytes: 900 * 2 ** 20 };

const oneOf =
  (values: readonly string[]) =>
  (value: unknown, name: string): unknown => {
    if (!values.includes(value as string)) throw typeError(`${name} must be one of ${values.join(", ")}`);
    return value;
  };

const copyOptions: { [K in keyof Required<CopyOptions>]: OptionParser<unknown> } = {
  ...choiceOptions,
  onConflict: oneOf(["fail", "skip", "replace"]),
  onDamage: oneOf(["fail", "skip"]),
  signal: pruneOptions.signal,
  onProgress: pruneOptions.onProgress,
};

/** See copy-store.ts. */
export async function copyStore(
  from: string | URL | Store,
  to: string | URL | Store,
  options?: CopyOptions,
): Promise<CopyResult> {
  const sides: Side[] = [];
  try {
    const read = readRecord(options, "options", copyOptions) as ReadOptions;
    read.signal?.throwIfAborted();
    // Open the source first. If that fails, the destination is not created.
    const open = async (target: unknown, name: "from" | "to") => {
      const side = sideOf(target, name);
      sides.push(side);
      await engineOf(side.store).ready;
      return side.store;
    };
    const copying = new Copying(await open(from, "from"), await open(to, "to"), read);
    const mark = await Mark.of(copying.from, "source");
    const { runs, space, since, onConflict, onDamage } = read;
    const isWhole = [runs, space, since, onConflict, onDamage].every((option) => option === undefined);
    const result = isWhole ? await copying.copy(undefined, nothing) : await copying.copyRuns();
    await mark.confirm();
    return result;
  } catch (error) {
    if (isOwnError(error)) Error.captureStackTrace(error, copyStore);
    throw error;
  } finally {
    await Promise.all(sides.map(({ store, owned }) => (owned ? store.close() : undefined)));
  }
}

type ReadOptions = Omit<CopyOptions, "runs"> & { runs?: Key[] };

const nothing: CopyResult = { lineages: 0, checkpoints: 0, effects: 0, writes: 0, records: 0, bytes: 0, skipped: 0 };

/** A copy between two open stores. */
class Copying {
  readonly from: Store;
  readonly #to: Store;
  readonly #options: ReadOptions;
  /** The number of checkpoints of all chosen runs. */
  #ofCheckpoints: number | undefined;
  /** True if the last call of {@link copy} has changed the destination. */
  #changed = false;
  /** True if the entire source was verified. */
  #verified = false;

  constructor(from: Store, to: Store, options: ReadOptions) {
    this.from = from;
    this.#to = to;
    this.#options = options;
  }

  /** Copies one run after the other. */
  async copyRuns(): Promise<CopyResult> {
    const chosen = await chosenRuns({ engine: engineOf(this.from) }, this.#options);
    this.#ofCheckpoints = chosen.reduce((sum, { checkpoints }) => sum + checkpoints, 0);
    let done: CopyResult = this.#options.onDamage === "skip" ? { ...nothing, damaged: [] } : nothing;
    for (const run of chosen) {
      const message = done.damaged === undefined ? undefined : await this.#damageOf(run);
      if (message !== undefined) {
        done.damaged!.push({ ...refOf(run), message });
        continue;
      }
      try {
        done = await this.copy(run.keys, done);
      } catch (error) {
        if (!isOwnError(error) || this.#changed) throw error;
        if (error.code === "CORRUPT" && done.damaged !== undefined) {
          done.damaged.push({ ...refOf(run), message: error.message });
          continue;
        }
        if (error.code !== "CONFLICT") throw error;
        if (this.#options.onConflict === "skip") {
          done = { ...done, skipped: done.skipped + 1 };
        } else if (this.#options.onConflict === "replace") {
          await this.#remove(run);
          done = await this.copy(run.keys, done);
        } else {
          const { space, run: id } = run.keys[0]!;
          const how = "skip it or replace it with onConflict, or remove it from the destination";
          throw new ForkpointError("CONFLICT", `run ${quote(id)} of ${space}: ${error.message}: ${how}`, {
            cause: error,
          });
        }
      }
    }
    return done;
  }

  /**
   * Copies the lineages with these keys, or all lineages. `before` has the counts of the runs that were copied earlier.
   * They are added to the result.
   */
  async copy(keys: readonly Key[] | undefined, before: CopyResult): Promise<CopyResult> {
    const { signal, onProgress } = this.#options;
    const [from, to] = [engineOf(this.from), engineOf(this.#to)];
    const convert = to.keepsText ? (values: Stored[]) => values.map(storedAsText) : undefined;
    const copy = new Copy(from.native, to.native, convert, binaryTags, keys);
    this.#changed = false;
    let compared: Mark | undefined;
    let wasVerifying = false;
    for (;;) {
      signal?.throwIfAborted();
      const { done, verifying, changed, ofCheckpoints, ofRecords, ...counts } = await step(copy, [from, to]);
      // The stores were compared, and nothing was changed yet.
      if (changed && !this.#changed) await copyAnswers(from, to, keys);
      this.#changed = changed;
      // The comparison writes nothing, so the destination must not change until the comparison ends.
      if (verifying && !wasVerifying) compared = await Mark.of(this.#to, "destination");
      wasVerifying = verifying;
      const result: CopyResult = {
        lineages: before.lineages + counts.lineages,
        checkpoints: before.checkpoints + counts.checkpoints,
        effects: before.effects + counts.effects,
        writes: before.writes + counts.writes,
        records: before.records + counts.records,
        bytes: before.bytes + counts.bytes,
        skipped: before.skipped,
        ...(before.damaged && { damaged: before.damaged }),
      };
      onProgress?.({
        phase: verifying ? "verifying" : "copying",
        ...result,
        ofCheckpoints: this.#ofCheckpoints ?? ofCheckpoints,
        ofRecords: before.records + ofRecords,
      });
      if (done) {
        await compared?.confirm();
        return result;
      }
    }
  }

  /** Returns what is damaged in a run of the source. Everything of it is read. */
  async #damageOf({ keys }: ChosenRun): Promise<string | undefined> {
    let message: string | undefined;
    const onDamage = (error: Error) => void (message ??= error.message);
    await readRuns({ engine: engineOf(this.from) }, keys, this.#options.signal, onDamage);
    return message;
  }

  /** Removes a run from the destination. A damaged source must not replace it, so all of the source is verified first. */
  async #remove({ keys }: ChosenRun): Promise<void> {
    if (!this.#verified) {
      const { findings } = await check(engineOf(this.from), { signal: this.#options.signal }, () => false);
      const damage = findings.find(({ severity }) => severity === "error");
      if (damage !== undefined) {
        const message = `the source of the copy is damaged, so nothing was replaced: ${damage.message}`;
        throw new ForkpointError("CORRUPT", message);
      }
      this.#verified = true;
    }
    for (const of of keys) {
      await inspect.call(engineOf(this.#to).native, "remove", { of, ids: undefined, reopen: [] });
    }
  }
}

function refOf({ keys: [key] }: ChosenRun): RunRef {
  const { space, run, ns } = key!;
  return { space: spaceOf(space), run, ns: shownNs(space, ns) };
}

/**
 * Detects that a store was restored to an earlier state during a copy. Remembers the newest checkpoint and the sizes of
 * the store. The copy fails then, because it does not compare earlier checkpoints again.
 */
class Mark {
  readonly #store: Store;
  readonly #side: "source" | "destination";
  readonly #newest: Row | undefined;
  readonly #stats: StoreStats;

  private constructor(store: Store, side: "source" | "destination", newest: Row | undefined, stats: StoreStats) {
    this.#store = store;
    this.#side = side;
    this.#newest = newest;
    this.#stats = stats;
  }

  static async of(store: Store, side: "source" | "destination"): Promise<Mark> {
    const { rows } = await feed(store, 0, true, NEWEST);
    // A running effect is stored again and again.
    const newest = rows.find(({ effect }) => effect !== true);
    return new Mark(store, side, newest, await store.stats());
  }

  /** Throws `CONFLICT` if the store went back in time. */
  async confirm(): Promise<void> {
    const newest = this.#newest;
    const { rows } = await feed(this.#store, (newest?.seq ?? 1) - 1, false, 1);
    const { checkpoints, effects, records } = await this.#store.stats();
    const before = this.#stats;
    const isLess = checkpoints < before.checkpoints || effects < before.effects || records < before.records;
    if (isLess || (newest !== undefined && identityOf(rows[0]) !== identityOf(newest))) {
      throw new ForkpointError(
        "CONFLICT",
        `the ${this.#side} of the copy changed while it was copied: an older version of it was restored, or something was ` +
          `removed from it. Copy again${this.#side === "source" ? " to an empty store" : ""}`,
      );
    }
  }
}

const identityOf = (row: Row | undefined): string =>
  row === undefined ? "" : JSON.stringify([row.space, row.run, row.ns, row.id, row.seq, row.savedAt]);

/** The number of rows among which the newest checkpoint is looked for. */
const NEWEST = 100;

const feed = (store: Store, after: number, newestFirst: boolean, limit: number): Promise<FeedPage> =>
  inspect.find(
    engineOf(store).native,
    "feed",
    { after, newestFirst, limit, version: undefined, wait: undefined },
    openFeed,
  );

/** Runs one step of the copy. `close` of either store waits until the step ends. */
async function step(copy: Copy, engines: readonly [from: Engine, to: Engine]): Promise<Step> {
  for (const { activity } of engines) activity.begin();
  try {
    return parse(await copy.step()) as Step;
  } catch (error) {
    // The error may be of either store. Its message names the store.
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
    throw typeError(`${name} is "memory:", which always opens a new, empty store: pass a store from openStore()`);
  }
  // Check that the source exists, because opening a missing file would create it.
  if (name === "from" && path !== null && !existsSync(path)) {
    throw new ForkpointError("NOT_FOUND", `there is no store at ${quote(path)}: nothing to copy`);
  }
  // Somebody else may have made the source: it is read as it is, and nothing in it is changed.
  return { store: openInBackground(text, { ...options, readOnly: name === "from" }), owned: true };
}
