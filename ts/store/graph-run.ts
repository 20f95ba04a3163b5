/** What a store knows of a run of a graph, and passes on with the config that the graph gives to its nodes. */

import type { Exact } from "../bridge/wire.js";

export interface GraphRun {
  /** A node may call a graph of another thread, whose config then has this run too. */
  thread: string;
  /** True if the run began at the latest checkpoint, so that its caller asked for no branch. */
  follows: boolean;
  /** True if the thread has stored a checkpoint of the graph itself. */
  stored: boolean;
  /** The first save of the run. The thread had nothing before. */
  storing?: Promise<unknown> | undefined;
  /** The incarnation of the thread that the run belongs to. Undefined: it is not known. */
  incarnation?: Exact | undefined;
  /** The errors of saves that failed while the run went on, by their namespace. */
  readonly failed: Map<string, unknown>;
  /** Resolves when the answers that the run was resumed with are stored. Rejects if other answers were stored first. */
  settled?: () => Promise<void> | undefined;
}

/** A symbol is in no JSON and no listing of keys. */
const RUN = Symbol.for("forkpoint.run");

export function setRun(configurable: object, run: GraphRun): void {
  Reflect.set(configurable, RUN, run);
}

/** Returns the run of the config's thread. Returns undefined outside of a run. */
export function runIn(configurable: unknown): GraphRun | undefined {
  const { [RUN]: run, thread_id: thread } = (configurable ?? {}) as { [RUN]?: GraphRun; thread_id?: unknown };
  return run?.thread === thread ? run : undefined;
}
