/** Resumes a run, and reports the completed nodes. AgentOS stores them in no checkpoint. */

import { type CurrentRun, type RunEvent, eventsInRun, inRun } from "./current-run.js";
import type { RecoverableGraph } from "./graph.js";

/** The part of AgentOS that reports the events of a resume. `graph.resume()` only returns the last event's output. */
interface Runtime {
  streamResume(compiled: unknown, runId: string): AsyncIterable<RunEvent & { finalOutput?: unknown }>;
}

export interface Resumed {
  /** The result of `graph.resume()`. */
  output: unknown;
  /** The completed nodes, in order. Undefined: the graph does not report them. */
  completed: string[] | undefined;
}

/** AgentOS takes no signal. A run that is stopped ends before its next node. */
export async function resumeRun(graph: RecoverableGraph, run: CurrentRun, signal: AbortSignal): Promise<Resumed> {
  const { runId } = run;
  const runtime = runtimeOf(graph);
  if (runtime === undefined) return { output: await inRun(run, () => graph.resume(runId)), completed: undefined };
  let output: unknown;
  const completed: string[] = [];
  const events = runtime.streamResume(graph.toIR(), runId);
  for await (const { type, nodeId, finalOutput } of eventsInRun(events, () => run)) {
    if (type === "node_end" && nodeId !== undefined) completed.push(nodeId);
    if (type === "run_end") output = finalOutput;
    if (type === "node_start") signal.throwIfAborted();
  }
  return { output, completed };
}

/** Returns the runtime of an `AgentGraph` or a `workflow()`. A graph with its own `resume()` is resumed with it. */
function runtimeOf(graph: RecoverableGraph): Runtime | undefined {
  if (Object.hasOwn(graph, "resume")) return undefined;
  const { runtime } = graph as unknown as { runtime?: Partial<Runtime> };
  return typeof runtime?.streamResume === "function" ? (runtime as Runtime) : undefined;
}
