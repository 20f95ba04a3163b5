/**
 * Notices that a resumed run runs nothing, because the graph has none of the nodes that are next. LangGraph itself then
 * resolves, and takes the answer.
 *
 * A run without an answer, `invoke(null)`, is only refused with the durability "exit". With the others, LangGraph calls the
 * saver no more after it has read the thread, and the saver cannot tell such a run from one with a new input.
 *
 * LangGraph tells a saver neither the nodes of a graph nor the tasks that it prepares. But it copies the metadata of the
 * run into the config of each task. A getter in the metadata, under a symbol, notices the copy.
 */

import type { Config, PendingWrite } from "@langchain/langgraph-checkpoint";
import { ForkpointError, quote, readingArgument } from "../../bridge/errors.js";
import { type GraphRun, runIn } from "../../store/graph-run.js";
import { NO_TASK, RESUME } from "./answer-records.js";
import { throwIfFailed } from "./following.js";
import { isRun, storesAtExit } from "./run-config.js";

/** A run that begins at a checkpoint with nodes to run. */
interface Watched {
  next: string[];
  /** True as soon as LangGraph has prepared a task. */
  prepared: boolean;
  /** Called when LangGraph has prepared a task. */
  begin: (() => void) | undefined;
  /** Resolves when LangGraph has prepared a task. Rejects if it prepares none. */
  tasks: Promise<void> | undefined;
}

const watched = new WeakMap<GraphRun, Watched>();

/** The runs that have this metadata. A run that names its checkpoint reads its thread twice. */
const ofMetadata = new WeakMap<object, Watched[]>();

/** The errors of runs that ran nothing. Such a run has ended. */
const ended = new WeakSet<object>();

/** A symbol appears neither in JSON nor in a list of keys. */
const SIGHT = Symbol.for("forkpoint.prepared");

/** True if a task has run unnoticed. This version of LangGraph then copies no metadata, and nothing can be noticed. */
let blind = false;

/**
 * LangGraph prepares the tasks in the turn of the event loop in which it stores the answer. If it prepares none, it only
 * waits for the saver, so the wait delays nothing.
 */
const PATIENCE = { turns: 10, turnMs: 10 };

/** Begins to watch a run. `next` are the nodes of the tasks at the checkpoint where it begins. Null: unknown. */
export function watchTasks(config: Config, next: string[] | null): void {
  const [run, metadata] = readingArgument("config", () => [
    runIn(config.configurable),
    (config as { metadata?: object }).metadata,
  ]);
  if (run === undefined || watched.has(run) || next === null || next.length === 0 || blind) return;
  if (typeof metadata !== "object" || metadata === null || !Object.isExtensible(metadata)) return;
  const watch: Watched = { next: [...new Set(next)], prepared: false, begin: undefined, tasks: undefined };
  watched.set(run, watch);
  const all = ofMetadata.get(metadata) ?? [];
  if (all.push(watch) > 1) return;
  ofMetadata.set(metadata, all);
  const get = () => {
    for (const each of all) {
      each.prepared = true;
      each.begin?.();
    }
    return true;
  };
  Object.defineProperty(metadata, SIGHT, { get, enumerable: true, configurable: true });
}

/**
 * Returns a promise for the writes that resume a run. It resolves when LangGraph has prepared a task, and rejects if the
 * graph has none of the next nodes. Undefined: these writes need not wait.
 *
 * @throws ForkpointError `CONFLICT` for a write at the end of a run that has run nothing.
 */
export function tasksBehind(config: Config, writes: readonly PendingWrite[], task: string): Promise<void> | undefined {
  const watch = watchIn(config);
  if (watch === undefined || watch.prepared || blind) return undefined;
  throwAtExit(config, watch);
  const channels = channelsOf(writes);
  if (watch.tasks !== undefined && task !== NO_TASK && channels.some((channel) => channel !== RESUME.channel)) {
    // This is the result of a task whose beginning was not noticed.
    blind = true;
    watch.begin?.();
  }
  return channels.includes(RESUME.channel) ? firstTask(watch, threadIn(config)) : undefined;
}

/** Like {@link tasksBehind}, for an answer that LangGraph does not hand over. */
export function tasksBehindAnswer(config: Config): Promise<void> | undefined {
  const watch = watchIn(config);
  return watch === undefined || watch.prepared || blind ? undefined : firstTask(watch, threadIn(config));
}

/** Throws for a checkpoint at the end of a run that has run nothing. */
export function throwIfNothingRan(config: Config): void {
  const watch = watchIn(config);
  if (watch !== undefined && !watch.prepared && !blind) throwAtExit(config, watch);
}

export const hasRunNothing = (error: unknown): boolean =>
  typeof error === "object" && error !== null && ended.has(error);

/** The error for a thread whose next nodes are not in the graph. */
export function nothingRan(threadId: string, next: readonly string[]): ForkpointError {
  const nodes = next.map((node) => `\`${node}\``).join(", ");
  const error = new ForkpointError(
    "CONFLICT",
    `thread ${quote(threadId)} cannot be resumed, because the graph has run none of the nodes that are next (${nodes}): ` +
      "fork the thread, or use a graph that has these nodes",
  );
  ended.add(error);
  return error;
}

function watchIn(config: Config): Watched | undefined {
  try {
    const { checkpoint_ns: namespace } = config.configurable ?? {};
    const run = isRun(config) && (namespace ?? "") === "" ? runIn(config.configurable) : undefined;
    return run && watched.get(run);
  } catch {
    // The call refuses an unreadable config.
    return undefined;
  }
}

function channelsOf(writes: readonly PendingWrite[]): unknown[] {
  try {
    return writes.map(([channel]) => channel);
  } catch {
    // The call refuses unreadable writes.
    return [];
  }
}

const threadIn = (config: Config): string => String(config.configurable?.["thread_id"]);

/** With the durability "exit", LangGraph stores everything when the tasks have ended. */
function throwAtExit(config: Config, { next }: Watched): void {
  if (!storesAtExit(config)) return;
  // The run may have been refused.
  throwIfFailed(config);
  throw nothingRan(threadIn(config), next);
}

function firstTask(watch: Watched, threadId: string): Promise<void> {
  watch.tasks ??= new Promise<void>((resolve, reject) => {
    let timer: NodeJS.Timeout;
    const turn = (left: number) => {
      timer = setTimeout(() => (left > 1 ? turn(left - 1) : end()), PATIENCE.turnMs);
    };
    const end = () => (blind ? resolve() : reject(nothingRan(threadId, watch.next)));
    watch.begin = () => {
      clearTimeout(timer);
      resolve();
    };
    turn(PATIENCE.turns);
  });
  // The write that waits for it reports the error.
  watch.tasks.catch(() => {});
  return watch.tasks;
}
