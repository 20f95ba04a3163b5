/**
 * Which saves must follow the latest checkpoint of their thread, and what happens to a run after a save that failed.
 *
 * A run that begins at the latest checkpoint makes no branch: each of its saves follows its own last save. If another run,
 * an `updateState` or a tool has saved meanwhile, the save is refused. A caller that names an older checkpoint asks for a
 * branch.
 */

import type { Config, Metadata } from "@langchain/langgraph-checkpoint";
import { readingArgument } from "../../bridge/errors.js";
import { runIn, setRun } from "../../store/graph-run.js";
import { isRun } from "./thread-leases.js";

/** Called when LangGraph reads a thread. If a run begins with it, the run is noted in LangGraph's own copy of the config. */
export function noteBeginning(config: Config, isLatest: boolean, stored: boolean): void {
  readingArgument("config", () => {
    const { configurable } = config as { configurable?: Record<string, unknown> };
    if (configurable === undefined || !isRun(config)) return;
    // A subgraph reads its own namespace, in the run of the graph.
    const isInner = (configurable["checkpoint_ns"] ?? "") !== "" || configurable["__pregel_task_id"] !== undefined;
    if (isInner && runIn(configurable) !== undefined) return;
    setRun(configurable, { follows: isLatest, stored });
  });
}

/**
 * The ids of the checkpoints that were read as the latest ones, by the value `parents` of their metadata. `updateState` reads a checkpoint and
 * passes this object on with its own, so the saver knows what `updateState` has read, and that its caller named no
 * checkpoint.
 */
const readAsLatest = new WeakMap<object, string>();

/** Remembers that a checkpoint was read as the latest one. */
export function noteLatest(id: string, metadata: Metadata | undefined): void {
  const parents: unknown = metadata?.["parents"];
  if (typeof parents === "object" && parents !== null) readAsLatest.set(parents, id);
}

/** Notes that a checkpoint of a run was stored. */
export function noteStored(config: Config): void {
  const run = isRun(config) ? runIn(config.configurable) : undefined;
  if (run !== undefined) run.stored = true;
}

/** True if the save must follow the latest checkpoint, because nobody asked for a branch. */
export function followsLatest(config: Config, parent: string | undefined, metadata: Metadata): boolean {
  return readingArgument("config", () => {
    if (isRun(config)) return runIn(config.configurable)?.follows === true;
    const parents: unknown = metadata?.["parents"];
    // `updateState` with the node "__copy__" saves beside the checkpoint that it has read, because its caller asks for that.
    return (
      typeof parents === "object" && parents !== null && parent !== undefined && readAsLatest.get(parents) === parent
    );
  });
}

/**
 * Notes that a save of a run has failed. With the durability `"async"`, LangGraph looks at a save only when the run ends
 * (langgraphjs#2838). So the run would work on, for nothing, and Node would end the process because of an unhandled
 * rejection. With `ends`, the run stops with its next write.
 */
export function noteFailed(config: Config, error: unknown, ends: boolean): void {
  if (!isRun(config)) return;
  const run = runIn(config.configurable);
  if (run !== undefined && ends) run.failed = error;
  keepAlive(error);
}

/** Throws at once if a save of the run has failed. LangGraph then ends the run with this error. */
export function throwIfFailed(config: Config): void {
  let failed: unknown;
  try {
    failed = runIn(config.configurable)?.failed;
  } catch {
    // The call refuses a config that cannot be read.
  }
  if (failed !== undefined) throw failed;
}

/** The errors of saves that LangGraph looks at when the run ends. */
const awaited = new WeakSet<object>();

let listens = false;

/**
 * Keeps the process alive when a save of a run fails before LangGraph looks at it. LangGraph looks at each save when the run
 * ends, and rejects with the same error. Other unhandled rejections end the process as before.
 */
function keepAlive(error: unknown): void {
  if (typeof error !== "object" || error === null) return;
  awaited.add(error);
  if (listens) return;
  listens = true;
  process.on("unhandledRejection", (reason: unknown) => {
    if (typeof reason === "object" && reason !== null && awaited.has(reason)) return;
    // Without a listener of the program, Node would throw the reason.
    if (process.listenerCount("unhandledRejection") === 1) throw reason;
  });
}
