/** `describe` for TinyAgents. */

import { show, typeError } from "../../bridge/errors.js";
import { type ProgramDescription, descriptionOf } from "../../store/description.js";
import type { Graph } from "./graph/graph.js";
import { partsOf } from "./graph/subgraph.js";
import { tinyagents } from "./wire.js";

/**
 * Describes a version of a graph, as JSON. `forkpoint drain-check` lists the open threads that do not fit it.
 * @example console.log(JSON.stringify(describe(graph)));
 */
export function describe(graph: Graph<any, any, any>): ProgramDescription {
  const shape = partsOf.get(graph)?.shape;
  if (shape === undefined) throw typeError(`graph must be a Graph of forkpoint, but is ${show(graph)}`);
  return descriptionOf(tinyagents.name as "tinyagents", shape);
}
