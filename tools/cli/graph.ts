/** Prints the graph of a run, as text or as Mermaid. */

import { safeText } from "../../ts/bridge/json-form/json-text.js";
import type { Context } from "./context.js";
import { UsageError } from "./errors.js";
import type { RunRef } from "../../ts/plugin/views.js";
import type { Inspector } from "../../ts/inspect/inspector.js";

export interface GraphOptions {
  graph?: boolean;
  mermaid?: boolean;
}

/** Prints the graph of a run: one line for each edge, then the position of the run. */
export async function printGraph(
  { output }: Context,
  inspector: Inspector,
  ref: RunRef,
  { mermaid = false }: GraphOptions,
): Promise<void> {
  const course = await inspector.course(ref);
  if (course === null) throw new UsageError("the run has just been removed");
  // This loads the addon, which is already loaded.
  const { graphMermaid, graphOf, graphText } = await import("../../ts/inspect/graph.js");
  const graph = graphOf(course);
  output.answer(graph, () => (mermaid ? graphMermaid(graph) : graphText(graph)).map(safeText));
  if (graph.nodes.length === 0) output.hint("the nodes of this run aren't known");
}
