/** What a store knows of a run of a graph, and passes on with the config that the graph gives to its nodes. */

export interface GraphRun {
  /** True if the run began at the latest checkpoint, so that its caller asked for no branch. */
  follows: boolean;
  /** True if the thread has stored a checkpoint. */
  stored: boolean;
  /** The error of a save that failed while the run went on. */
  failed?: unknown;
}

/** A symbol is in no JSON and no listing of keys. */
const RUN = Symbol.for("forkpoint.run");

export function setRun(configurable: object, run: GraphRun): void {
  Reflect.set(configurable, RUN, run);
}

/** Returns undefined outside of a run. */
export function runIn(configurable: unknown): GraphRun | undefined {
  return (configurable as { [RUN]?: GraphRun } | null | undefined)?.[RUN];
}
