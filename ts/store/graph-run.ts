/** The store's data on a run of a graph. It travels in the config that the graph passes to its nodes. */

import type { Exact } from "../bridge/wire.js";
import type { RunEffects } from "./run-effects.js";

export interface GraphRun {
  /** The thread of the run. If a node calls a graph of another thread, that graph's config has this run too. */
  thread: string;
  /** True if the run began at the latest checkpoint. The caller then asked for no branch. */
  follows: boolean;
  /** True if the thread has stored a checkpoint of the graph itself. */
  stored: boolean;
  /** The first save of the run, if the thread was empty before. */
  storing?: Promise<unknown> | undefined;
  /** The incarnation of the thread that the run belongs to. Undefined: unknown. */
  incarnation?: Exact | undefined;
  /** The effects of the run before its first save, with the durability "exit". */
  effects?: RunEffects | undefined;
  /** The errors of saves that failed during the run, by their namespace. */
  readonly failed: Map<string, unknown>;
  /** Resolves when the run's answers are stored. Rejects if other answers were stored first. */
  settled?: () => Promise<void> | undefined;
}

/** A symbol appears neither in JSON nor in a list of keys. */
const RUN = Symbol.for("forkpoint.run");

export function setRun(configurable: object, run: GraphRun): void {
  Reflect.set(configurable, RUN, run);
}

/** Returns the run of the config's thread. Returns undefined outside of a run. */
export function runIn(configurable: unknown): GraphRun | undefined {
  const { [RUN]: run, thread_id: thread } = (configurable ?? {}) as { [RUN]?: GraphRun; thread_id?: unknown };
  return run?.thread === thread ? run : undefined;
}
