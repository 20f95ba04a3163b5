/** `copyStore`: copies all runs, or some runs, from one store to another. */

import { existsSync } from "node:fs";
import { tellFailure } from "../bridge/channels.js";
import { ForkpointError, isOwnError, quote, readingArgument, typeError } from "../bridge/errors.js";
import type { Engine } from "../store/engine.js";
import { inspect, type Key } from "../plugin/wire.js";
import { Copy, pathOfTarget } from "../bridge/native.js";
import { type OptionParser, readRecord, readTarget } from "../store/options.js";
import { check } from "../store/check.js";
import { pruneOptions } from "../store/retention.js";
import { Store, engineOf, openInBackground } from "../store/store.js";
import { type Stored, binaryTags, storedAsText } from "../bridge/serializer.js";
import { parse, subjectOf } from "../bridge/wire.js";
import { type ChosenRun, choiceOptions, chosenRuns } from "./chosen-runs.js";
import { copyAnswers } from "./copy-answers.js";
import { Mark } from "./copy-mark.js";
import { ExportMark, refuseUnfinished } from "./export-mark.js";
import { shownNs, spaceOf } from "./context.js";
import { readRuns } from "./read-runs.js";
import type { RunRef, Space } from "../plugin/views.js";

/**
 * Options of {@link copyStore}. With `runs`, `space`, `since`, `onConflict` or `onDamage`, runs are copied one by one.
 */
export interface CopyOptions {
  /**
   * Copies only these runs: threads with all of their namespaces, sessions with their messages. The destination may
   * have other runs.
   */
  runs?: RunRef[];
  /** Copies only runs of this framework. The destination may have other runs. */
  space?: Space;
  /** Copies only runs that were active since this time, in ms since the epoch. The destination may have other runs. */
  since?: number;
  /**
   * What to do with a run that exists in the destination with different content. `"fail"` rejects with `CONFLICT`.
   * `"skip"` leaves it. `"replace"` removes it and copies the source's run. The destination may have other runs.
   * Default: `"fail"`.
   */
  onConflict?: "fail" | "skip" | "replace";
  /**
   * What to do with an unreadable run of the source. `"fail"` rejects with `CORRUPT`. `"skip"` leaves it out and lists
   * it in the result's `damaged`. The destination may have other runs. Default: `"fail"`.
   */
  onDamage?: "fail" | "skip";
  /**
   * Stops the copy between two pages. `copyStore` then rejects with the signal's reason. Copied data stays, and the
   * next call continues after it.
   */
  signal?: AbortSignal;
  /** Called after each page. */
  onProgress?: (progress: CopyProgress) => void;
}

/** The data that {@link copyStore} has copied and compared. */
export interface CopyResult {
  /** The number of runs, threads, sessions, stored values and namespaces. */
  lineages: number;
  /** The number of checkpoints. */
  checkpoints: number;
  /** The number of effects of runs: see `forkpoint/effects`. */
  effects: number;
  /** The number of pending writes. */
  writes: number;
  /** The number of messages, entries and events in logs. */
  records: number;
  /** The size of the copied data in bytes, before compression. */
  bytes: number;
  /** The number of runs of the destination that were left because of `onConflict: "skip"`. */
  skipped: number;
  /** The runs left out because of `onDamage: "skip"`, with the reasons. Missing without this option. */
  damaged?: Array<RunRef & { message: string }>;
}

/** The progress of {@link copyStore}. */
export interface CopyProgress extends CopyResult {
  /**
   * `"verifying"`: both stores are read and compared, and the counts restart at 0. A copy ends with this phase. It also
   * begins with this phase if the destination is not empty.
   */
  phase: "copying" | "verifying";
  /** The number of checkpoints that the source had when the call began. */
  ofCheckpoints: number;
  /** The number of messages and events that the source had when the call began. */
  ofRecords: number;
}

export type Counts = Omit<CopyResult, "skipped" | "damaged">;

/** The progress in the engine's form: see `engine/src/copy.rs`. */
interface Step extends Counts {
  verifying: boolean;
  done: boolean;
  /** True if the destination lacks data. The step that detects this changes nothing yet. */
  changed: boolean;
  /** The counts of the destination at the comparison. */
  there: Counts;
  ofCheckpoints: number;
  ofRecords: number;
}

/** A store of a copy. */
interface Side {
  store: Store;
  /** True if `copyStore` opened the store and must close it. */
  owned: boolean;
}

/** The options of the stores that `copyStore` opens. With this limit, every stored payload fits. */
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
  try {
    return (await copyCounting(from, to, options)).result;
  } catch (error) {
    if (isOwnError(error)) Error.captureStackTrace(error, copyStore);
    throw error;
  }
}

/** Copies like `copyStore`. Also returns how much of the result existed before. */
export async function copyCounting(
  from: string | URL | Store,
  to: string | URL | Store,
  options?: CopyOptions,
): Promise<{ result: CopyResult; there: Counts }> {
  const sides: Side[] = [];
  try {
    const read = readRecord(options, "options", copyOptions) as ReadOptions;
    read.signal?.throwIfAborted();
    // The program may change its URL while the source is opened.
    const target = readingArgument("to", () => (to instanceof URL ? new URL(to) : to));
    // Open the source first. If that fails, the destination is not created.
    const open = async (target: unknown, name: "from" | "to") => {
      const side = sideOf(target, name);
      sides.push(side);
      await engineOf(side.store).ready;
      return side.store;
    };
    const source = await open(from, "from");
    refuseUnfinished(source);
    const destination = await open(target, "to");
    const mark = await Mark.of(source, "source");
    const copying = new Copying(source, destination, read, await ExportMark.of(destination));
    const { runs, space, since, onConflict, onDamage } = read;
    const isWhole = [runs, space, since, onConflict, onDamage].every((option) => option === undefined);
    const copied = await (isWhole ? copying.copyAll() : copying.copyRuns());
    await mark.confirm();
    return copied;
  } finally {
    await Promise.all(sides.map(({ store, owned }) => (owned ? store.close() : undefined)));
  }
}

type ReadOptions = Omit<CopyOptions, "runs"> & { runs?: Key[] };

const nothing: Counts = { lineages: 0, checkpoints: 0, effects: 0, writes: 0, records: 0, bytes: 0 };

/** Adds or subtracts counts. */
function plus(a: Counts, b: Counts, sign: 1 | -1 = 1): Counts {
  return {
    lineages: a.lineages + sign * b.lineages,
    checkpoints: a.checkpoints + sign * b.checkpoints,
    effects: a.effects + sign * b.effects,
    writes: a.writes + sign * b.writes,
    records: a.records + sign * b.records,
    bytes: a.bytes + sign * b.bytes,
  };
}

/** The copy of some lineages, or of all. */
interface Part {
  copy: Copy;
  keys: readonly Key[] | undefined;
  /** The last step. */
  last: Step | undefined;
  /** The destination while it is compared. */
  compared: Mark | undefined;
}

/** A copy between two open stores. */
class Copying {
  readonly #from: Store;
  readonly #to: Store;
  readonly #options: ReadOptions;
  readonly #mark: ExportMark | undefined;
  /** The number of checkpoints of all chosen runs. */
  #ofCheckpoints: number | undefined;
  /** The sum of the counts of all parts. */
  #counts = nothing;
  /** The part of the counts that the destination had before. */
  #there = nothing;
  #skipped = 0;
  #damaged: NonNullable<CopyResult["damaged"]> | undefined;
  /** True if the entire source was verified. */
  #verified = false;

  constructor(from: Store, to: Store, options: ReadOptions, mark: ExportMark | undefined) {
    this.#from = from;
    this.#to = to;
    this.#options = options;
    this.#mark = mark;
    if (options.onDamage === "skip") this.#damaged = [];
  }

  async copyAll(): Promise<{ result: CopyResult; there: Counts }> {
    await this.#copy(this.#part(undefined));
    return this.#end();
  }

  /**
   * Copies the runs one by one. If a conflict is an error, all runs are compared before any change, so that a conflict
   * changes nothing.
   */
  async copyRuns(): Promise<{ result: CopyResult; there: Counts }> {
    const { onConflict = "fail" } = this.#options;
    const chosen = await chosenRuns({ engine: engineOf(this.#from) }, this.#options);
    this.#ofCheckpoints = chosen.reduce((sum, { checkpoints }) => sum + checkpoints, 0);
    const compared: Part[] = [];
    for (const run of chosen) {
      const message = this.#damaged === undefined ? undefined : await this.#damageOf(run);
      if (message !== undefined) {
        this.#damaged!.push({ ...refOf(run), message });
        continue;
      }
      const part = this.#part(run.keys);
      try {
        await this.#compare(part);
        if (onConflict === "fail") compared.push(part);
        else await this.#finish(part);
      } catch (error) {
        await this.#failed(run, part, error);
      }
    }
    for (const part of compared) await this.#finish(part);
    return this.#end();
  }

  /** Handles a run that cannot be copied. */
  async #failed(run: ChosenRun, { last }: Part, error: unknown): Promise<void> {
    if (!isOwnError(error) || last?.changed === true) throw error;
    if (last !== undefined) this.#counts = plus(this.#counts, last, -1);
    if (error.code === "CORRUPT" && this.#damaged !== undefined) {
      this.#damaged.push({ ...refOf(run), message: error.message });
      return;
    }
    if (error.code !== "CONFLICT") throw error;
    switch (this.#options.onConflict) {
      case "skip":
        this.#skipped += 1;
        return;
      case "replace":
        await this.#remove(run);
        return this.#copy(this.#part(run.keys));
      default: {
        const { space, run: id } = run.keys[0]!;
        const how = "skip it or replace it with onConflict, or remove it from the destination";
        throw new ForkpointError("CONFLICT", `run ${quote(id)} of ${space}: ${error.message}: ${how}`, {
          cause: error,
        });
      }
    }
  }

  #part(keys: readonly Key[] | undefined): Part {
    const [from, to] = [engineOf(this.#from), engineOf(this.#to)];
    const convert = to.keepsText ? (values: Stored[]) => values.map(storedAsText) : undefined;
    const copy = new Copy(from.native, to.native, convert, binaryTags, keys);
    return { copy, keys, last: undefined, compared: undefined };
  }

  async #copy(part: Part): Promise<void> {
    await this.#compare(part);
    await this.#finish(part);
  }

  /** Compares a part, and changes nothing. */
  async #compare(part: Part): Promise<void> {
    while (part.last?.done !== true && part.last?.changed !== true) await this.#step(part);
    this.#there = plus(this.#there, part.last.there);
  }

  /** Copies what the destination lacks of a compared part. */
  async #finish(part: Part): Promise<void> {
    if (part.last!.done) return;
    this.#mark?.begin();
    await copyAnswers(engineOf(this.#from), engineOf(this.#to), part.keys);
    while (!part.last!.done) await this.#step(part);
  }

  async #step(part: Part): Promise<void> {
    const { signal, onProgress } = this.#options;
    signal?.throwIfAborted();
    const before = part.last;
    const last = await step(part.copy, [engineOf(this.#from), engineOf(this.#to)]);
    part.last = last;
    // The comparison writes nothing, so the destination must not change before its end.
    if (!last.verifying) part.compared = undefined;
    else part.compared ??= await Mark.of(this.#to, "destination");
    this.#counts = plus(this.#counts, plus(last, before ?? nothing, -1));
    onProgress?.({
      phase: last.verifying ? "verifying" : "copying",
      ...this.#result,
      ofCheckpoints: this.#ofCheckpoints ?? last.ofCheckpoints,
      ofRecords: this.#counts.records - last.records + last.ofRecords,
    });
    if (last.done) await part.compared?.confirm();
  }

  get #result(): CopyResult {
    return { ...this.#counts, skipped: this.#skipped, ...(this.#damaged && { damaged: this.#damaged }) };
  }

  #end(): { result: CopyResult; there: Counts } {
    this.#mark?.end();
    return { result: this.#result, there: this.#there };
  }

  /** Reads all of a run of the source, and returns its damage. */
  async #damageOf({ keys }: ChosenRun): Promise<string | undefined> {
    let message: string | undefined;
    const onDamage = (error: Error) => void (message ??= error.message);
    await readRuns({ engine: engineOf(this.#from) }, keys, this.#options.signal, onDamage);
    return message;
  }

  /** Removes a run from the destination. First verifies all of the source, so that damaged data replaces nothing. */
  async #remove({ keys }: ChosenRun): Promise<void> {
    if (!this.#verified) {
      const { findings } = await check(engineOf(this.#from), { signal: this.#options.signal }, () => false);
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
  // Another user may own the source, so it is opened read-only.
  return { store: openInBackground(text, { ...options, readOnly: name === "from" }), owned: true };
}
