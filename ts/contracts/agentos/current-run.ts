/** Finds the run of a tool call, because AgentOS does not pass the run to a tool. */

import { AsyncLocalStorage } from "node:async_hooks";
import { ForkpointError } from "../../bridge/errors.js";
import type { Exact } from "../../bridge/wire.js";
import type { StoreHandle } from "../../store/handle.js";
import type { HeldLease } from "../../store/lease.js";
import { type ContextOnce, onceOf } from "../shared/once.js";
import type { Graph } from "./graph.js";
import { agentos } from "./wire.js";

/** A run that is in progress in this process. */
export interface CurrentRun {
  runId: string;
  handle: StoreHandle;
  compiled: Graph;
  /** The incarnation of the run. Undefined: not known yet. */
  incarnation?: Exact | undefined;
  /** The lease for the writes of the run. Undefined: the lease of the handle. */
  lease?: HeldLease;
  /** The running node. Undefined: unknown, or several are running. */
  node?: string | undefined;
}

/** The fields of AgentOS' events that identify a run and its node. */
export interface RunEvent {
  type: string;
  runId?: string;
  graphId?: string;
  nodeId?: string;
}

const current = new AsyncLocalStorage<CurrentRun>();

/** Calls a function in a run. */
export function inRun<T>(run: CurrentRun, work: () => T): T {
  return current.run(run, work);
}

/** Passes on the events of a run, and calls the run's code inside it. `begin` gets the first event. */
export async function* eventsInRun<E extends RunEvent>(
  events: AsyncIterable<E>,
  begin: (start: E) => CurrentRun | Promise<CurrentRun>,
): AsyncGenerator<E> {
  const iterator = events[Symbol.asyncIterator]();
  let run: CurrentRun | undefined;
  // A generator's code runs in the context of the caller of next().
  const within = <T>(work: () => T): T => (run === undefined ? work() : inRun(run, work));
  try {
    for (;;) {
      const { value, done } = await within(() => iterator.next());
      if (done === true) return;
      const { type, nodeId } = value;
      if (type === "run_start") run ??= await begin(value);
      // Parallel nodes report their start only when all have ended.
      if (run !== undefined && (type === "node_start" || type === "node_end"))
        run.node = type === "node_start" ? nodeId : undefined;
      yield value;
    }
  } finally {
    await within(async () => iterator.return?.());
  }
}

/** See effects.ts. */
export const once: ContextOnce = async (key, effect, options) => {
  const run = current.getStore();
  if (run === undefined) throw outside();
  const { runId, handle, compiled, node, lease } = run;
  run.incarnation ??= handle.seen.incarnation(runId);
  const { incarnation } = run;
  const effects = {
    handle,
    store: "CheckpointStore",
    place: () => ({ of: { space: agentos.name, run: runId, ns: "" }, stored: incarnation !== undefined, incarnation }),
    lease: () => lease,
  };
  return onceOf(effects, { effectClass: compiled.isExternal(node) ? "external" : "write" })(key, effect, options);
};

function outside(): ForkpointError {
  const message =
    "once was called outside a run: call it in a tool or an extension of a node, and start the run on the graph that " +
    "withEffects(graph, store) returns. To name the run yourself, use effects(store) of forkpoint/effects";
  return new ForkpointError("UNSUPPORTED", message);
}
