/** Finds the run that a tool is called in, because AgentOS does not tell a tool its run. */

import { AsyncLocalStorage } from "node:async_hooks";
import { ForkpointError } from "../../bridge/errors.js";
import type { Exact } from "../../bridge/wire.js";
import type { StoreHandle } from "../../store/handle.js";
import type { HeldLease } from "../../store/lease.js";
import { type ContextOnce, onceOf } from "../shared/once.js";
import type { Graph } from "./graph.js";
import { agentos } from "./wire.js";

/** A run that this process works on. */
export interface CurrentRun {
  runId: string;
  handle: StoreHandle;
  compiled: Graph;
  /** The incarnation that the run belongs to. Undefined: it is not known yet. */
  incarnation?: Exact | undefined;
  /** The lease that the writes of the run carry. Undefined: the lease of the handle. */
  lease?: HeldLease;
  /** The node that runs. Undefined: it is not known, or several run at the same time. */
  node?: string | undefined;
}

/** The part of an event of AgentOS that says where a run is. */
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

/** Passes on the events of a run. What the run calls is called in it. `begin` gets the first event. */
export async function* eventsInRun<E extends RunEvent>(
  events: AsyncIterable<E>,
  begin: (start: E) => CurrentRun | Promise<CurrentRun>,
): AsyncGenerator<E> {
  const iterator = events[Symbol.asyncIterator]();
  let run: CurrentRun | undefined;
  // The code of a generator runs in the context of the call of next().
  const within = <T>(work: () => T): T => (run === undefined ? work() : inRun(run, work));
  try {
    for (;;) {
      const { value, done } = await within(() => iterator.next());
      if (done === true) return;
      const { type, nodeId } = value;
      if (type === "run_start") run ??= await begin(value);
      // Nodes that run at the same time report their start when all have ended.
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
