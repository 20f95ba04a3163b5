/** The class of inspectors that `openInspector` returns. */

import { ForkpointError, isOwnError } from "../bridge/errors.js";
import { migrate, type MigrateOptions, type MigrateResult } from "../store/migrate.js";
import { prune, pruneOptions, vacuum, type PruneOptions } from "../store/retention.js";
import type { PruneResult } from "../store/results.js";
import {
  backup,
  restore,
  type BackupOptions,
  type BackupResult,
  type RestoreOptions,
  type RestoreResult,
} from "../store/backup.js";
import { savedPerHour } from "./activity.js";
import type { ReadCourse } from "./steps.js";
import { findCheckpoint, listCheckpoints } from "./checkpoints.js";
import type { CopyOptions, CopyResult } from "./copy-runs.js";
import { copyStore } from "./copy-runs.js";
import { readCourse } from "./course.js";
import { type Context, readKey, readSpace } from "./context.js";
import { diffCheckpoints } from "./comparison.js";
import { readConversation } from "./conversation/conversation.js";
import { type UsageOptions, readUsage } from "./conversation/usage.js";
import { readDetail } from "./read-checkpoint.js";
import { forgetEffects, listEffects, readEffect, settleEffect } from "./effects.js";
import { type DrainReport, drainCheck } from "./drain.js";
import { fork, type ForkEdit } from "./fork.js";
import { setLabels } from "./labels.js";
import { answerQuestion, listQuestions } from "./questions/questions.js";
import type { Answer, AnsweredQuestion, Question } from "./questions/views.js";
import { remove } from "./remove.js";
import { search } from "./search.js";
import type { SearchHit, SearchOptions } from "./search-views.js";
import type { RunQuery } from "./run-filters.js";
import { findRun, listForks, listRuns } from "./runs.js";
import { stop } from "./stop.js";
import { infoOfStore, statsOf } from "./store-info.js";
import { countStranded } from "./stranded.js";
import { verify } from "./verify.js";
import { countVersions } from "./versions.js";
import { watch, type StoreEvent } from "./watch.js";
import { idOrNull } from "../store/ids.js";
import type { ProgramDescription } from "../store/description.js";
import { readRecord } from "../store/options.js";
import type { DeleteOptions } from "../store/removing.js";
import type { StopOptions } from "../store/stop.js";
import type { StopResult } from "../store/results.js";
import type {
  Change,
  CheckpointDetail,
  CheckpointInfo,
  CheckpointRef,
  EffectDetail,
  EffectInfo,
  EffectRef,
  InspectedStats,
  Page,
  RunInfo,
  RunRef,
  SavedPerHour,
  Space,
  StoreInfo,
  StrandedCount,
  VersionCount,
} from "../plugin/views.js";
import type { VerifyReport } from "../bridge/wire.js";
import type { Conversation, ConversationQuery } from "./conversation/message.js";
import type { RunUsage } from "./conversation/usage-views.js";
import type { Store } from "../store/store.js";

export class StoreInspector implements AsyncDisposable {
  readonly #context: Context;
  /** The store, if the inspector has opened it. */
  readonly #own: Store | undefined;
  #closing: Promise<void> | undefined;

  /** @internal */
  constructor(context: Context, own: Store | undefined) {
    this.#context = context;
    this.#own = own;
  }

  /** Describes the store. Counts its runs and checkpoints in indexes, like `runs()`. */
  info(): Promise<StoreInfo> {
    return this.#run((context) => infoOfStore(context));
  }

  /**
   * A page of runs. Runs are found, and checkpoints counted, in indexes. In a damaged file, a run may be missing and
   * `checkpoints` may be wrong; `verify()` detects that.
   */
  runs(query?: RunQuery): Promise<Page<RunInfo>> {
    return this.#run((context) => listRuns(context, query));
  }

  /** One run, or null. `began` is always set. */
  run(
    ref: RunRef,
    options?: { withWhy?: boolean; withQuestion?: boolean; withBytes?: boolean; withStranded?: boolean },
  ): Promise<RunInfo | null> {
    return this.#run((context) => findRun(context, readKey(ref), options));
  }

  /** A page of the checkpoints of a run. Default: the oldest first. `limit`: 100 unless given, at most 1,000. */
  checkpoints(
    ref: RunRef,
    query?: { limit?: number; cursor?: string | null; order?: "asc" | "desc" },
  ): Promise<Page<CheckpointInfo>> {
    return this.#run((context) => listCheckpoints(context, readKey(ref), query));
  }

  /** The runs that began from a checkpoint of this run. */
  forks(ref: RunRef): Promise<RunInfo[]> {
    return this.#run((context) => listForks(context, readKey(ref)));
  }

  /** The effects of this run, without their results, in the order of their beginning. See `forkpoint/effects`. */
  effects(ref: RunRef): Promise<EffectInfo[]> {
    return this.#run((context) => listEffects(context, readKey(ref)));
  }

  /** An effect with its result, or null. */
  effect(ref: EffectRef): Promise<EffectDetail | null> {
    return this.#run((context) => readEffect(context, ref));
  }

  /** Returns a checkpoint with its values: by id, by index in the run (negative: from the end), or the newest. */
  checkpoint(ref: RunRef & { id?: string | undefined; step?: number | undefined }): Promise<CheckpointDetail | null> {
    return this.#run(async (context) => {
      const key = readKey(ref);
      const { id, step } = ref as { id?: unknown; step?: number };
      const known = id === undefined ? undefined : idOrNull(id, "id");
      if (known === null) return null;
      const found = await findCheckpoint(context, key, { id: known, step });
      return found && readDetail(context, found.row, found.info);
    });
  }

  /**
   * The questions of a run: unanswered ones, and those answered with `answer()`. Without `id` and `step`: of the newest
   * checkpoint. A question that the program has answered itself is not listed.
   * @example
   * ```ts
   * for (const { text, tool, args, answered } of await inspector.questions({ space: "langgraph", run: "thread-1" })) {
   *   console.log(tool ?? text, args, answered?.by);
   * }
   * ```
   */
  questions(ref: RunRef & { id?: string | undefined; step?: number | undefined }): Promise<Question[]> {
    return this.#run((context) => listQuestions(context, ref));
  }

  /**
   * Returns a page of the messages in a state, of the newest checkpoint or as selected in `checkpoint()`. Messages of
   * all frameworks and providers have one form. A tool's result is joined to its call. Null: there is no such
   * checkpoint.
   * @throws ForkpointError `NOT_FOUND` if the state has no list of messages at `list`.
   * @example
   * ```ts
   * const { messages } = (await inspector.conversation({ space: "langgraph", run: "thread-1" }, { from: -2 }))!;
   * for (const { role, parts } of messages) console.log(role, parts);
   * ```
   */
  conversation(
    ref: RunRef & { id?: string | undefined; step?: number | undefined },
    query?: ConversationQuery,
  ): Promise<Conversation | null> {
    return this.#run((context) => readConversation(context, ref, query));
  }

  /**
   * Adds up the tokens of a run's messages, for the run and for each step. Each message counts once, even if many steps
   * and branches contain it. Costs need the option `prices` of the inspector. Reads the states of all steps. Null:
   * there is no such run.
   * @example
   * ```ts
   * const { total, steps } = (await inspector.usage({ space: "langgraph", run: "thread-1" }))!;
   * console.log(total?.total, steps.map(({ step, usage }) => [step, usage.total]));
   * ```
   */
  usage(ref: RunRef, options?: UsageOptions): Promise<RunUsage | null> {
    return this.#run((context) => readUsage(context, ref, options));
  }

  /**
   * The course of a run: its newest steps (`limit`: 20,000 unless given) with its subgraphs, effects, pauses and program. Null if
   * there is no such run. `waterfallOf` and `graphOf` draw it.
   * @example
   * ```ts
   * const course = await inspector.course({ space: "langgraph", run: "thread-1" });
   * if (course !== null) console.log(graphText(graphOf(course)).join("\n"));
   * ```
   */
  course(ref: RunRef, options?: { limit?: number }): Promise<ReadCourse | null> {
    return this.#run((context) => readCourse(context, readKey(ref), options));
  }

  /** The changes from one checkpoint to another. `from` null: from an empty state. `limit`: 10,000 unless given. */
  diff(
    from: CheckpointRef | null,
    to: CheckpointRef,
    options?: { parts?: Array<Change["part"]>; limit?: number },
  ): Promise<{ changes: Change[]; truncated: boolean }> {
    return this.#run((context) => diffCheckpoints(context, from, to, options));
  }

  /**
   * Yields an event for each save of any process, and for removals, until the signal aborts or the loop ends. `since`:
   * only saves after this seq. `last`: first yields this number of the latest checkpoints.
   */
  watch(options?: {
    space?: Space | undefined;
    run?: string | undefined;
    since?: number | undefined;
    last?: number | undefined;
    signal?: AbortSignal | undefined;
  }): AsyncIterable<StoreEvent> {
    this.#throwIfClosed();
    return watch(this.#context, options, () => this.#closing !== undefined);
  }

  /**
   * Searches the keys and values of states, pending writes and other fields in the newest checkpoint of each run, the
   * last active run first. Yields hits as it finds them, until the signal aborts or the loop ends. A key or a value is
   * one hit. A checkpoint has at most 1,000 hits. Bytes are not searched.
   * @throws TypeError or RangeError for an empty text or a wrong regular expression.
   * @example
   * ```ts
   * for await (const { run, step, path, snippet } of inspector.search("order-101", { ignoreCase: true, limit: 20 })) {
   *   console.log(run, step, formatPath(path), snippet.match);
   * }
   * ```
   */
  search(text: string, options?: SearchOptions): AsyncIterable<SearchHit> {
    this.#throwIfClosed();
    return search(this.#context, text, options, () => this.#closing !== undefined);
  }

  /** How much is stored. `largest`: how many of the largest runs to name (10 unless given). */
  stats(options?: { largest?: number }): Promise<InspectedStats> {
    return this.#run((context) => statsOf(context, options));
  }

  /**
   * Counts the open runs of each version of the programs, the most first, in frameworks whose checkpoints have a
   * version. Reads the newest checkpoints of at most 500 runs of each framework. `space`: only this framework.
   * @example
   * ```ts
   * for (const { program, version, runs } of await inspector.versions()) console.log(program, version?.version, runs);
   * ```
   */
  versions(options?: { space?: Space | undefined }): Promise<VersionCount[]> {
    return this.#run((context) => countVersions(context, options));
  }

  /**
   * Counts the open runs of each program that the version that started last cannot continue. `runs({ stranded: true })`
   * lists them. Also publishes the counts on the channel `forkpoint:stranded`, for the metric of `forkpoint/otel`.
   * `space`: only this framework.
   * @example
   * ```ts
   * for (const { program, runs } of await inspector.stranded()) if (runs > 0) console.error(`${program}: ${runs}`);
   * ```
   */
  stranded(options?: { space?: Space | undefined; signal?: AbortSignal | undefined }): Promise<StrandedCount[]> {
    return this.#run((context) => countStranded(context, options));
  }

  /** The number of saves in each of the last hours, the oldest first. `hours`: 24 unless given, at most 168. */
  activity(options?: { hours?: number }): Promise<SavedPerHour[]> {
    return this.#run((context) => savedPerHour(context, options));
  }

  /**
   * Verifies all stored data. `quick`: checks only the location and the pages of the database, in at most a second.
   * `runs`: reads and counts everything, but limits `findings` and `ok` to these runs, with all namespaces of a thread
   * and the current state of a session. `rows` and `after`: see {@link CheckOptions}.
   */
  verify(options?: {
    runs?: RunRef[] | undefined;
    quick?: boolean | undefined;
    signal?: AbortSignal | undefined;
    onProgress?: ((done: number, of: number, next: string | null) => void) | undefined;
    rows?: number | undefined;
    after?: string | undefined;
  }): Promise<VerifyReport> {
    return this.#run((context) => verify(context, options, () => this.#closing !== undefined));
  }

  /**
   * Lists the open runs that do not fit a new version of their program, before you deploy it. Reads the newest
   * checkpoint of each run of the framework. Ignores leases and running processes, and changes nothing.
   * @param description the result of `describe` from the framework's entry. It may come from a JSON file.
   * @example
   * ```ts
   * const { ok, runs } = await inspector.drainCheck(describe(graph));
   * for (const { run, differences } of runs) console.log(run, differences.join("; "));
   * ```
   */
  drainCheck(description: ProgramDescription, options?: { signal?: AbortSignal | undefined }): Promise<DrainReport> {
    return this.#run((context) => drainCheck(context, description, options));
  }

  /** Copies the database into a new file, online, and verifies it: see {@link Store.backup}. */
  backup(path: string | URL, options?: BackupOptions): Promise<BackupResult> {
    return this.#run(({ engine }) => backup(engine, path, options, () => this.#closing !== undefined));
  }

  /**
   * Forks a checkpoint: makes a new run that continues from it with a changed state. The old run does not change.
   * @throws ForkpointError `UNSUPPORTED` without `write`, like all methods below.
   */
  fork(ref: CheckpointRef, edit?: ForkEdit, options?: { dryRun?: boolean }): Promise<CheckpointRef> {
    return this.#write("fork", (context) => fork(context, ref, edit, options));
  }

  /**
   * Stores a human's answer to a question of a waiting run: `approve`, `reject` or a `value`. After all questions are
   * answered, the run is `"unfinished"`. Its program continues it with the answers, by its next `recover` or by
   * resuming it.
   * @returns the question with its answer. `stranded` says why the version of the program that started last does not
   *   continue the run. The answer is stored even so: a worker of the run's own version may take it.
   * @throws ForkpointError `NOT_FOUND` if the run has no question. `CONFLICT` if the question has an answer, or if a
   *   process holds the run's lease. `UNSUPPORTED` if only the program can answer: see {@link Question.canAnswer}.
   * @example await inspector.answer({ space: "langgraph", run: "thread-1" }, { approve: true, by: "Ana" });
   */
  answer(ref: RunRef, answer: Answer): Promise<AnsweredQuestion> {
    return this.#write("answer", (context) => answerQuestion(context, ref, answer));
  }

  /**
   * Changes the labels of a run, by which `runs()` finds it. Null removes a label. Other labels stay. A run has at most
   * 32 labels, with keys of up to 100 and values of up to 500 characters. A key contains no `=`.
   * @throws ForkpointError `NOT_FOUND` if there is no such run. `INVALID_ARGUMENT` for a wrong label or too many labels.
   * @example await inspector.setLabels({ space: "langgraph", run: "thread-1" }, { customer: "acme", plan: null });
   */
  setLabels(ref: RunRef, changes: Record<string, string | null>): Promise<void> {
    return this.#write("setLabels", (context) => setLabels(context, readKey(ref), changes));
  }

  /**
   * Stops a run that any process works on, and waits until it has ended. The run then has the status `"stopped"`, until
   * somebody continues it. Same as `stop()` of a store.
   * @throws ForkpointError `NOT_FOUND` if there is no such run.
   * @example
   * ```ts
   * const run = { space: "langgraph", run: "thread-1" };
   * const { outcome } = await inspector.stop(run, { by: "Ana", reason: "wrong customer" });
   * ```
   */
  stop(ref: RunRef, options?: StopOptions): Promise<StopResult> {
    return this.#write("stop", (context) => stop(context, readKey(ref), options));
  }

  /**
   * Copies all runs of another store into this one, like `forkpoint import`, and compares them. `onConflict` decides
   * about a run that this store has with different content: `"fail"` (the default), `"skip"` or `"replace"`.
   * @param from a path, a URL or an open store: see {@link copyStore}.
   * @throws ForkpointError `CONFLICT` for such a run. `CORRUPT` if the source is damaged. `NOT_FOUND` if it doesn't exist.
   * @example
   * ```ts
   * await using inspector = await openInspector("agent.db", { write: true });
   * const { lineages, skipped } = await inspector.importFrom("jsonl:runs", { onConflict: "skip" });
   * ```
   */
  importFrom(
    from: string | URL | Store,
    options?: Pick<CopyOptions, "onConflict" | "signal" | "onProgress">,
  ): Promise<CopyResult> {
    return this.#write("importFrom", ({ store }) => copyStore(from, store, { onConflict: "fail", ...options }));
  }

  /**
   * Removes a run, or some of its checkpoints.
   * @throws ForkpointError `CONFLICT` if a process holds the lease of a run to remove, unless `force` is true.
   * @example const { removed } = await inspector.remove({ space: "langgraph", run: "thread-1" });
   */
  remove(ref: RunRef, ids?: string[], options?: DeleteOptions): Promise<{ removed: number }> {
    return this.#write("remove", (context) => remove(context, readKey(ref), ids, options));
  }

  /**
   * Forgets an effect, so that the next call runs it again. Without `branch`: all effects of the run with this key.
   * @throws ForkpointError `NOT_FOUND` if there is none. `CONFLICT` if a process runs it, or holds the lease of the run.
   */
  forgetEffect(ref: EffectRef): Promise<{ forgotten: number }> {
    return this.#write("forgetEffect", (context) => forgetEffects(context, ref));
  }

  /**
   * Stores the result of an effect that may have happened or has failed, so that the next call returns it without
   * running. `result` is in the JSON form of values.
   * @throws ForkpointError `NOT_FOUND` if there is no such effect. `CONFLICT` if it has a result, or if a process runs it or
   *   holds the lease of the run.
   */
  settleEffect(ref: EffectRef, result: unknown): Promise<EffectInfo> {
    return this.#write("settleEffect", (context) => settleEffect(context, ref, result));
  }

  /** Removes old checkpoints: see {@link Store.prune}. `space`: only those of this framework. */
  prune(options: PruneOptions & { space?: Space | undefined }): Promise<PruneResult> {
    return this.#write("prune", (context) => {
      const { space, ...rules } = readRecord(options, "options", { ...pruneOptions, space: readSpace });
      return prune(context.engine, space, { ...rules }, () => this.#closing !== undefined);
    });
  }

  /** Replaces the content of the database with that of a backup: see {@link Store.restore}. */
  restore(path: string | URL, options?: RestoreOptions): Promise<RestoreResult> {
    return this.#write("restore", ({ engine }) => restore(engine, path, options, () => this.#closing !== undefined));
  }

  /** Upgrades a database of an older format: see {@link Store.migrate}. A dry run needs no `write`. */
  migrate(options?: MigrateOptions): Promise<MigrateResult> {
    const upgrade = ({ engine }: Context) => migrate(engine, options);
    return options?.dryRun === true ? this.#run(upgrade) : this.#write("migrate", upgrade);
  }

  /** Returns the space of removed checkpoints to the file system. */
  vacuum(): Promise<void> {
    return this.#write("vacuum", ({ engine }) => vacuum(engine));
  }

  /** Waits until the calls in progress end, then closes. */
  close(): Promise<void> {
    this.#closing ??= Promise.resolve(this.#own?.close());
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #throwIfClosed(): void {
    if (this.#closing !== undefined)
      throw new ForkpointError("CLOSED", "the inspector is closed: open a new one to continue");
  }

  /** Runs an operation. An error's stack includes the caller of the public method. */
  async #run<T>(work: (context: Context) => Promise<T>): Promise<T> {
    try {
      this.#throwIfClosed();
      // `close` of the store waits for operations in progress.
      return await this.#context.engine.activity.during(() => work(this.#context));
    } catch (error) {
      if (isOwnError(error)) Error.captureStackTrace(error, this.#run);
      throw error;
    }
  }

  #write<T>(what: string, work: (context: Context) => Promise<T>): Promise<T> {
    return this.#run((context) => {
      if (context.write) return work(context);
      throw new ForkpointError("UNSUPPORTED", `${what}() would change the store: open the inspector with write: true`);
    });
  }
}

/**
 * Inspects a store. Get an inspector from {@link openInspector}.
 * @example
 * ```ts
 * import { openInspector } from "forkpoint/inspect";
 *
 * await using inspector = await openInspector("agent.db");
 * for (const { run, active } of (await inspector.runs()).items) console.log(run, new Date(active));
 * ```
 */
export interface Inspector extends StoreInspector {}
