/**
 * Decides which saves must follow the latest checkpoint of their thread, and ends a run after a failed save.
 *
 * A run that begins at the latest checkpoint makes no branch: each save follows the run's own last save. The save is
 * refused if another run, an `updateState` or a tool has saved in between. A caller that names an older checkpoint asks
 * for a branch.
 */

import type { Config, Metadata, PendingWrite } from "@langchain/langgraph-checkpoint";
import { ForkpointError, isOvertaken, quote, readingArgument } from "../../bridge/errors.js";
import type { NativeStore } from "../../bridge/native.js";
import type { Exact } from "../../bridge/wire.js";
import { type GraphRun, runIn, setRun } from "../../store/graph-run.js";
import type { Seen } from "../../store/seen.js";
import { INTERRUPT } from "./answer-records.js";
import type { CheckpointRef } from "./config.js";
import type { Resuming, Taken } from "./resuming.js";
import { beginsRun, isRun } from "./run-config.js";
import type { Found } from "./wire.js";
import type { PutPlace } from "./writing.js";

/**
 * Called when LangGraph reads a thread. If the graph's run begins with this read, notes the run in LangGraph's own copy
 * of the config. `found` is the checkpoint at which the run begins.
 */
export function noteBeginning(config: Config, follows: boolean, found: Pick<Found, "incarnation"> | null): void {
  const thread = beginsRun(config);
  if (thread === undefined) return;
  const run = { thread, follows, stored: found !== null, incarnation: found?.incarnation, failed: new Map() };
  readingArgument("config", () => setRun(config.configurable!, run));
}

/** The answers of runs that have begun at a checkpoint with questions. */
const answersOf = new WeakMap<GraphRun, Resuming>();

/** Returns the answers that the run of this config knows. */
export function answersIn(config: Config): Resuming | undefined {
  return readingArgument("config", () => {
    const run = isRun(config) ? runIn(config.configurable) : undefined;
    return run && answersOf.get(run);
  });
}

/**
 * Removes the answer that the run was resumed with from its writes, if there is one.
 *
 * @throws ForkpointError `CONFLICT` if another answer is stored.
 */
export function takeAnswer(
  config: Config,
  writes: readonly PendingWrite[],
  task: string,
): { answers: Resuming | undefined; taken: Taken | undefined } {
  try {
    const answers = answersIn(config);
    const taken = answers?.isHeard === true ? undefined : answers?.take(namespaceIn(config), writes, task);
    return { answers, taken };
  } catch (error) {
    if (isOvertaken(error)) throw error;
    // The call refuses an unreadable config.
    return { answers: undefined, taken: undefined };
  }
}

/** Stores something of a run after the run's answers. Stores nothing if other answers were stored first. */
export function afterAnswers<T>(config: Config, store: () => Promise<T>): Promise<T> {
  const settled = answersIn(config)?.settled();
  return settled === undefined ? store() : settled.then(store);
}

/**
 * Stores something of a run, unless the run was deleted before its first save: then its effects are gone. `store` gets the
 * incarnation of the effects that the save expects.
 */
export function unlessDeleted<T>(
  config: Config,
  native: NativeStore,
  store: (effects?: Exact) => Promise<T>,
): Promise<T> {
  const run = isRun(config) ? runIn(config.configurable) : undefined;
  if (run?.effects === undefined || run.effects.isEmpty || run.stored) return store();
  const { incarnation } = run.effects;
  if (incarnation !== undefined) return store(incarnation);
  return run.effects.areStored(native).then((areStored) => {
    if (areStored) return store();
    const message = `thread ${quote(run.thread)} was deleted while it ran, and may have begun again`;
    throw new ForkpointError("CONFLICT", message);
  });
}

/** Notes the answers of the run that begins at the latest checkpoint. `read` reads them. */
export async function noteAnswers(config: Config, found: Found, read: () => Promise<Resuming>): Promise<void> {
  const run = isRun(config) && namespaceIn(config) === "" ? runIn(config.configurable) : undefined;
  if (run?.follows !== true || answersOf.has(run) || !asks(found)) return;
  const answers = await read();
  answersOf.set(run, answers);
  // An effect waits until the answers of its run are stored.
  run.settled = () => answers.settled();
}

/** True if a task of the checkpoint asks. */
function asks({ writes }: Pick<Found, "writes">): boolean {
  return writes.some(({ claimedBy, part }) => !claimedBy && part.name === INTERRUPT.channel);
}

/** Notes that a run stores its first checkpoint. With the durability "async", its nodes run meanwhile. */
export function noteStoring(config: Config, of: CheckpointRef, put: Promise<unknown>): void {
  const run = of.namespace === "" ? runIn(config.configurable) : undefined;
  if (run !== undefined && !run.stored) run.storing ??= put;
}

/** Notes that a checkpoint was stored. */
export function noteStored(config: Config, seen: Seen, of: CheckpointRef): void {
  noteSeen(seen, of);
  const run = isRun(config) && of.namespace === "" ? runIn(config.configurable) : undefined;
  if (run !== undefined) run.stored = true;
}

/** Returns the incarnation that a save of a run expects, and the callback for a new thread's incarnation. */
export function incarnationOf(
  config: Config,
  namespace: string,
  follows: boolean,
): Pick<PutPlace, "incarnation" | "learn"> {
  const run = isRun(config) ? runIn(config.configurable) : undefined;
  if (run === undefined) return {};
  // A save that follows the run's own last save names its checkpoint, which exists in only one incarnation.
  if (run.incarnation !== undefined) return follows ? {} : { incarnation: run.incarnation };
  return namespace === "" ? { learn: (incarnation) => void (run.incarnation = incarnation ?? undefined) } : {};
}

/** Notes that a checkpoint is stored, because it was saved or read. */
export function noteSeen(seen: Seen, of: CheckpointRef): void {
  seen.note(nameOf(of));
}

const nameOf = ({ threadId, namespace, id }: CheckpointRef): string => `${threadId}\0${namespace}\0${id}`;

/** True if the saver has stored or read the checkpoint. */
export const isSeen = (seen: Seen, of: CheckpointRef): boolean => seen.has(nameOf(of));

/**
 * The ids of checkpoints that were read as the latest ones, by the object `parents` of their metadata. `updateState`
 * passes this object on with its own checkpoint. It tells the saver what `updateState` has read, and that its caller
 * named no checkpoint.
 */
const readAsLatest = new WeakMap<object, string>();

/** Remembers that a checkpoint was read as the latest one. */
export function noteLatest(id: string, metadata: Metadata | undefined): void {
  const parents: unknown = metadata?.["parents"];
  if (typeof parents === "object" && parents !== null) readAsLatest.set(parents, id);
}

/** The sources in the metadata of `updateState`'s checkpoints. */
const UPDATES: ReadonlySet<unknown> = new Set(["update", "input"]);

/** True if the save must follow the latest checkpoint, because the caller asked for no branch. */
export function followsLatest(config: Config, seen: Seen, parent: string | undefined, metadata: Metadata): boolean {
  return readingArgument("config", () => {
    if (isRun(config)) return runIn(config.configurable)?.follows === true && followsInside(config);
    const { parents, source, step } = (metadata ?? {}) as Record<string, unknown>;
    if (typeof parents !== "object" || parents === null || !UPDATES.has(source)) return false;
    // `updateState` begins an empty thread at this step.
    if (parent === undefined) return step === 0 && seen.has(emptyName(config.configurable?.["thread_id"]));
    // `updateState` with the node "__copy__" asks for a branch: it saves beside the checkpoint that it has read.
    return readAsLatest.get(parents) === parent;
  });
}

/** Notes that a read outside of a run found an empty thread. It may be the read of an `updateState`. */
export function noteEmpty(config: Config, seen: Seen, threadId: string): void {
  if (!isRun(config)) seen.note(emptyName(threadId));
}

/** A name that no checkpoint has, because a namespace contains no NUL. */
const emptyName = (threadId: unknown): string => `${String(threadId)}\0\0\0`;

/** True if the saver has read the thread of a save. Such a save must not recreate a deleted thread. */
export function continues(config: Config, seen: Seen, parent: CheckpointRef | undefined, metadata: Metadata): boolean {
  if (parent === undefined || !seen.has(nameOf(parent))) return false;
  return isRun(config) || readingArgument("metadata", () => UPDATES.has((metadata as { source?: unknown })?.source));
}

/**
 * False for a subgraph that begins at an older checkpoint, or that tasks of one run share. In these cases only the
 * graph's checkpoints tell two runs apart.
 */
function followsInside(config: Config): boolean {
  const namespace = namespaceIn(config);
  if (namespace === "") return true;
  // In a replay, a subgraph begins at the checkpoint that it had then.
  if (config.configurable?.["__pregel_replay_state"] !== undefined) return false;
  // The namespace of a subgraph with its own memory has no task.
  return namespace.slice(namespace.lastIndexOf("|") + 1).includes(":");
}

const namespaceIn = (config: Config): string => String((config.configurable?.["checkpoint_ns"] as unknown) ?? "");

/**
 * Notes that a save of a run has failed. With the durability `"async"`, LangGraph reports a failed save only when the
 * run ends (langgraphjs#2838). Until then the run would work in vain, and Node would end the process because of an
 * unhandled rejection. With `ends`, and after a conflict, the run stops at its next write. If a subgraph's save fails,
 * the node that called the subgraph decides.
 */
export function noteFailed(config: Config, error: unknown, ends: boolean): void {
  try {
    if (!isRun(config)) return;
    keepAlive(error);
    if (ends || isOvertaken(error)) runIn(config.configurable)?.failed.set(namespaceIn(config), error);
  } catch {
    // The call refuses an unreadable config.
  }
}

/** Throws if a save of the run has failed in this namespace. LangGraph then ends the run with this error. */
export function throwIfFailed(config: Config): void {
  let failed: unknown;
  try {
    failed = runIn(config.configurable)?.failed.get(namespaceIn(config));
  } catch {
    // The call refuses an unreadable config.
  }
  if (failed !== undefined) throw failed;
}

/** The key of the state that several copies of this package share in a process. */
const LISTENER = Symbol.for("forkpoint.unhandled");
const shared = globalThis as { [LISTENER]?: WeakSet<object> };

/**
 * Keeps the process alive when a save fails before LangGraph awaits it. LangGraph awaits each save at the end of the
 * run, and rejects with its error. Other unhandled rejections still end the process.
 */
function keepAlive(error: unknown): void {
  if (typeof error !== "object" || error === null) return;
  const known = shared[LISTENER];
  // The errors of saves that LangGraph awaits at the end of the run.
  const awaited = known ?? new WeakSet<object>();
  awaited.add(error);
  if (known !== undefined) return;
  shared[LISTENER] = awaited;
  process.on("unhandledRejection", (reason: unknown) => {
    if (typeof reason === "object" && reason !== null && awaited.has(reason)) return;
    // If the program has no listener, Node would throw the reason.
    if (process.listenerCount("unhandledRejection") === 1 && throwsUnhandled()) throw reason;
  });
}

/** False if an option of Node keeps the process alive after an unhandled rejection. */
function throwsUnhandled(): boolean {
  const options = [...process.execArgv, ...(process.env["NODE_OPTIONS"] ?? "").split(" ")];
  const mode = options.findLast((option) => option.startsWith("--unhandled-rejections="))?.split("=")[1];
  return mode === undefined || mode === "throw" || mode === "strict";
}
