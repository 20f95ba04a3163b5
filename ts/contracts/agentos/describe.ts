/** `describe` for AgentOS. describe-graph.ts does the work, and is loaded with the first call. */

import type { DescribeOptions, ProgramDescription } from "../../store/description.js";
import type { RecoverableGraph } from "./graph.js";

const later = (): typeof import("./later.js") => require("./later.js");

/**
 * Describes a version of a compiled graph, as JSON. `forkpoint drain-check` lists the open runs that do not fit it.
 * @example console.log(JSON.stringify(describe(graph, { program: "bookings" })));
 */
export function describe(graph: RecoverableGraph, options?: DescribeOptions): ProgramDescription {
  return later().describe(graph, options);
}
