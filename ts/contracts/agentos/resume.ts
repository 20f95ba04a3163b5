/** Resumes a run, and finds out which nodes completed. AgentOS saves no checkpoint that says it. */

import { type CurrentRun, type RunEvent, eventsInRun, inRun } from "./current-run.js";
import type { RecoverableGraph } from "./graph.js";

/** The part of AgentOS that reports what a resume does. `graph.resume()` returns only the last event's output. */
interface Runtime {
  streamResume(compiled: unknown, runId: string): AsyncIterable<RunEvent & { finalOutput?: unknown }>;
}

export interface Resumed {
  /** What `graph.resume()` returns. */
  output: unknown;
  /** The nodes that completed, in order. Undefined: the graph does not report them. */
  completed: string[] | undefined;
}

export async function resumeRun(graph: RecoverableGraph, run: CurrentRun): Promise<Resumed> {
  const { runId } = run;
  const runtime = runtimeOf(graph);
  if (runtime === undefined) return { output: await inRun(run, () => graph.resume(runId)), completed: undefined };
  let output: unknown;
  const completed: string[] = [];
  const events = runtime.streamResume(graph.toIR(), runId);
  for await (const { type, nodeId, finalOutput } of eventsInRun(events, () => run)) {
    if (type === "node_end" && nodeId !== undefined) completed.push(nodeId);
    if (type === "run_end") output = finalOutput;
  }
  return { output, completed };
}

/** Returns the runtime of an `AgentGraph` or a `workflow()`. A graph with a `resume()` of its own is resumed with that. */
function runtimeOf(graph: RecoverableGraph): Runtime | undefined {
  if (Object.hasOwn(graph, "resume")) return undefined;
  const { runtime } = graph as unknown as { runtime?: Partial<Runtime> };
  return typeof runtime?.streamResume === "function" ? (runtime as Runtime) : undefined;
}
