/** Removes, prunes and copies threads. */

import type { Engine } from "../../store/engine.js";
import { ForkpointError, quote, show, typeError } from "../../bridge/errors.js";
import { idOrNull, requireId, requireIds } from "../../store/ids.js";
import type { NativeStore } from "../../bridge/native.js";
import { atMost, flag, readRecord } from "../../store/options.js";
import { type DeleteOptions, deleteOptions, removing } from "../../store/removing.js";
import { betweenSteps, pruneOptions, stepOptions, throwIfStopped } from "../../store/retention.js";
import { isWaiting } from "../shared/waiting.js";
import { copyEffects } from "../../store/effect-copies.js";
import { decodeMark, encodeMark } from "../../store/mark.js";
import { ANSWERS, NO_TASK, RESUME } from "./answer-records.js";
import { headers, metadataOf } from "./list-checkpoints.js";
import { type SaverContext, find, refOf } from "./tuples.js";
import { type FoundWrite, type Header, langgraph } from "./wire.js";
import { type Pieces, copyWrites, putCheckpoint } from "./writing.js";

/**
 * What `prune` removes from each namespace of a thread.
 *
 * - `"keep_latest"`: all but the latest checkpoint.
 * - `"delete"`: everything.
 * - An object: every checkpoint that at least one of the object's rules selects. A rule that is null or left out
 *   removes nothing.
 *
 * An older checkpoint also stays if a delta channel of a kept checkpoint needs its writes.
 */
export type PruneStrategy =
  | "keep_latest"
  | "delete"
  | {
      /** The number of checkpoints of each namespace to keep: those saved last. 0 and Infinity mean no limit. */
      keepLastN?: number | null;
      /** Removes the checkpoints that were saved before this time: a Date, or ms since the epoch. */
      olderThan?: Date | number | null;
      /** If true, `olderThan` also removes the newest checkpoint of a thread that waits for an answer. Default: false. */
      waiting?: boolean;
    };

/** Options of `prune()` and `deleteForRuns()`. */
export interface SaverPruneOptions extends DeleteOptions {
  /** If true, removes nothing and returns what would be removed. Default: false. */
  dryRun?: boolean;
  /**
   * Stops the removal between two transactions. The promise then rejects with the signal's reason. Checkpoints that were
   * already removed stay removed.
   */
  signal?: AbortSignal;
  /**
   * Called after each transaction with what was removed so far. If this function throws, the removal stops with that error.
   */
  onProgress?: (progress: SaverPruneResult) => void;
}

/** What was removed. With `dryRun`: what would be removed. */
export interface SaverPruneResult {
  /** How many checkpoints were removed. */
  removed: number;
  /** How many namespaces of threads became empty. */
  namespaces: number;
}

/** The maximum number of checkpoints that one transaction removes. */
const BATCH = 500;

export async function remove({ native }: Pick<Engine, "native">, threadId: unknown, force: boolean): Promise<void> {
  const thread = idOrNull(threadId, "threadId");
  if (thread === null) return;
  const of = { space: langgraph.name, run: thread, ns: "" };
  await langgraph.call(removing(native, of, force), "deleteThread", { threadId: thread });
}

/** `close` waits for at most one transaction. */
export async function prune(
  context: SaverContext,
  threadIds: unknown,
  strategy: unknown,
  options: unknown,
  closing: () => boolean,
): Promise<SaverPruneResult> {
  const keeps = readStrategy(strategy);
  const { done, step, throwIfAsked, force } = readSteps(options, closing);
  // Visit each thread once. A dry run would otherwise count a repeated thread twice.
  for (const threadId of new Set(requireIds(threadIds, "threadIds"))) {
    throwIfAsked();
    if (strategy === "delete") await removeWhole(context, threadId, force, step);
    else await keepOnly(context, threadId, keeps, force, step);
  }
  return done;
}

/**
 * Reads `dryRun`, `signal` and `onProgress`. `step` runs the work of each transaction under these options, and adds the
 * removed checkpoints to `done`. `throwIfAsked` throws if the signal or `close` stops the removal.
 */
function readSteps(
  options: unknown,
  closing: () => boolean,
): { done: SaverPruneResult; step: Step; throwIfAsked: () => void; force: boolean } {
  const {
    dryRun = false,
    force = false,
    signal,
    onProgress,
  } = readRecord(options, "options", { dryRun: flag, ...deleteOptions, ...stepOptions }) as SaverPruneOptions;
  const throwIfAsked = () => throwIfStopped(signal, closing);
  throwIfAsked();
  const done: SaverPruneResult = { removed: 0, namespaces: 0 };
  let first = true;
  const step: Step = async ({ removed, namespaces }, work) => {
    if (!first) await betweenSteps(signal, closing);
    first = false;
    if (!dryRun) await work();
    done.removed += removed;
    done.namespaces += namespaces;
    onProgress?.({ ...done });
  };
  return { done, step, throwIfAsked, force };
}

/** Runs the work of one transaction. `pruned` counts the checkpoints and namespaces that it removes. */
type Step = (pruned: SaverPruneResult, work: () => Promise<unknown>) => Promise<void>;

/** Removes a thread in one transaction, including writes to checkpoints that were never stored. */
async function removeWhole(context: SaverContext, threadId: string, force: boolean, step: Step): Promise<void> {
  let removed = 0;
  const namespaces = new Set<string>();
  for await (const { namespace } of headers(context, threadId)) {
    removed += 1;
    namespaces.add(namespace);
  }
  await step({ removed, namespaces: namespaces.size }, () => remove(context, threadId, force));
}

/** Removes the checkpoints whose metadata contains one of these `run_id`s. */
export async function removeRuns(
  context: SaverContext,
  runIds: unknown,
  options: unknown,
  closing: () => boolean,
): Promise<SaverPruneResult> {
  const runs = new Set(requireIds(runIds, "runIds"));
  const { done, step, throwIfAsked, force } = readSteps(options, closing);
  const threads = new Map<string, Set<string>>();
  for await (const header of headers(context, undefined)) {
    throwIfAsked();
    const { threadId: thread, namespace, id } = header;
    const runId = (await metadataOf(context.serde, header))?.["run_id"];
    if (typeof runId !== "string" || !runs.has(runId)) continue;
    const gone = threads.get(thread) ?? new Set();
    threads.set(thread, gone.add(JSON.stringify([namespace, id])));
  }
  for (const [thread, gone] of threads) {
    const keeps = ({ namespace, id }: Header) => !gone.has(JSON.stringify([namespace, id]));
    await keepOnly(context, thread, keeps, force, step);
  }
  return done;
}

/**
 * Removes the checkpoints that `keeps` rejects from each namespace of a thread. A checkpoint that a kept one depends on
 * stays.
 */
async function keepOnly(
  context: SaverContext,
  threadId: string,
  keeps: Keeps,
  force: boolean,
  step: Step,
): Promise<void> {
  const namespaces = new Map<string, Header[]>();
  for await (const header of headers(context, threadId)) {
    const known = namespaces.get(header.namespace) ?? [];
    namespaces.set(header.namespace, known);
    known.push(header);
  }
  const of = { space: langgraph.name, run: threadId, ns: "" };
  const waits = keeps.leavesWaiting === true && (await isWaiting(context.native, of));
  for (const newestFirst of namespaces.values()) {
    const stays = (header: Header, at: number) => keeps(header, at) || (waits && at === 0);
    const kept = new Set(newestFirst.filter(stays).map(({ id }) => id));
    keepWhatIsNeeded(newestFirst, kept);
    const gone = newestFirst.filter(({ id }) => !kept.has(id));
    // A removal that keeps no checkpoint of the namespace must check the lease of the thread.
    const native = kept.size === 0 ? removing(context.native, of, force) : context.native;
    await removeAll(native, gone, withoutChildren(newestFirst, kept), kept.size === 0, step);
  }
}

export async function copy(context: SaverContext, source: unknown, target: unknown): Promise<void> {
  const [from, to] = [requireId(source, "sourceThreadId"), requireId(target, "targetThreadId")];
  const { native } = context;
  for await (const _ of headers(context, to)) {
    throw new ForkpointError(
      "CONFLICT",
      `thread ${quote(to)} already exists: copy to a new thread, or delete this one first`,
    );
  }
  const found: Header[] = [];
  for await (const header of headers(context, from)) found.push(header);
  if (found.length === 0) throw new ForkpointError("NOT_FOUND", `thread ${quote(from)} not found: nothing to copy`);
  try {
    // Copy the oldest checkpoint first, so that each checkpoint is stored as a delta of the previous one.
    for (const header of found.toReversed()) {
      const { namespace, id, parent, metadata, dependsOnParent, status } = header;
      // The copy has no running process and no import.
      const mark = encodeMark({ ...decodeMark(header.mark), by: undefined, imported: undefined });
      const tuple = await find(context, from, namespace, id);
      if (tuple === null) continue;
      const pieces: Pieces = { parts: tuple.parts, inherit: [], like: [], metadata, mark, dependsOnParent, status };
      const place = { root: header.key };
      await putCheckpoint(native, { threadId: to, namespace, id }, parent ?? undefined, pieces, place, "copy");
    }
    // Copy the writes last, because putting a child claims all writes that its parent has at that time.
    for (const header of found) {
      const { namespace, id } = header;
      const tuple = await find(context, from, namespace, id);
      await copyWrites(native, { threadId: to, namespace, id }, withoutAnswers(tuple?.writes ?? []));
    }
    for (const ns of new Set(found.map(({ namespace }) => namespace))) {
      const of = { space: langgraph.name, run: from, ns };
      await copyEffects(native, of, { ...of, run: to }, { keepsIds: true });
    }
  } catch (error) {
    await remove(context, to, true);
    throw error;
  }
}

/** Leaves out the answers that no checkpoint has claimed: an answer belongs to the thread that asked. */
function withoutAnswers(writes: FoundWrite[]): FoundWrite[] {
  const stopped = new Set(writes.filter(({ part }) => part.name !== RESUME.channel).map(({ task }) => task));
  const isUnclaimedAnswer = ({ task, claimedBy, part }: FoundWrite) =>
    !claimedBy &&
    (part.name === ANSWERS.channel || (part.name === RESUME.channel && (task === NO_TASK || !stopped.has(task))));
  return writes.filter((write) => !isUnclaimedAnswer(write));
}

/** Adds to `kept` the ancestors that the kept checkpoints depend on. */
function keepWhatIsNeeded(newestFirst: Header[], kept: Set<string>): void {
  const known = new Map(newestFirst.map((header) => [header.id, header]));
  for (const header of newestFirst) {
    if (!kept.has(header.id)) continue;
    let needing: Header | undefined = header;
    while (needing?.dependsOnParent && needing.parent && !kept.has(needing.parent)) {
      kept.add(needing.parent);
      needing = known.get(needing.parent);
    }
  }
}

/** Returns the kept checkpoints that lose all their children. Their writes become pending again. */
function withoutChildren(newestFirst: Header[], kept: Set<string>): Header[] {
  const [going, staying] = [new Set<string>(), new Set<string>()];
  for (const { id, parent } of newestFirst) if (parent) (kept.has(id) ? staying : going).add(parent);
  return newestFirst.filter(({ id }) => kept.has(id) && going.has(id) && !staying.has(id));
}

/**
 * Removes checkpoints of a namespace in transactions of `BATCH`, so that a save waits for at most one transaction. The
 * transaction that removes the last child of a kept checkpoint also makes its writes pending again. A removal that
 * stops early therefore loses no pending write. `whole` is true if nothing remains in the namespace.
 */
async function removeAll(
  native: NativeStore,
  gone: Header[],
  childless: Header[],
  whole: boolean,
  step: Step,
): Promise<void> {
  const lastChild = new Map<string | null, number>();
  for (const [at, { parent }] of gone.entries()) lastChild.set(parent, at);
  for (let from = 0; from < gone.length; from += BATCH) {
    const batch = gone.slice(from, from + BATCH);
    const reopened = childless.filter(({ id }) => Math.floor(lastChild.get(id)! / BATCH) * BATCH === from);
    const namespaces = whole && from + BATCH >= gone.length ? 1 : 0;
    await step({ removed: batch.length, namespaces }, () =>
      langgraph.call(native, "delete", { remove: batch.map(refOf), reopen: reopened.map(refOf) }),
    );
  }
}

/** A test for checkpoints to keep. `at` is the number of newer checkpoints in the namespace. */
interface Keeps {
  (header: Header, at: number): boolean;
  /** True if the newest checkpoints of a thread that waits for an answer stay in any case. */
  leavesWaiting?: boolean;
}

/** Turns a strategy into a test for checkpoints to keep. */
function readStrategy(strategy: unknown): Keeps {
  if (strategy === "delete") return () => false;
  if (strategy === "keep_latest") return (_, at) => at === 0;
  if (typeof strategy !== "object" || strategy === null) {
    throw typeError(`strategy must be "keep_latest", "delete" or an object, but is ${show(strategy)}`);
  }
  const { keepLastN, olderThan, waiting = false } = readRecord(strategy, "strategy", strategyOptions);
  const keeps = (header: Header, at: number) =>
    at < (keepLastN ?? Infinity) && header.savedAt >= (olderThan ?? -Infinity);
  return Object.assign(keeps, { leavesWaiting: typeof olderThan === "number" && !waiting });
}

const strategyOptions = {
  keepLastN: atMost("checkpoints"),
  olderThan: pruneOptions.olderThan,
  waiting: pruneOptions.waiting,
};
