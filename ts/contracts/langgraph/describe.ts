/** `describe` for LangGraph. describe-graph.ts does the work, and is loaded with the first call. */

import type { DescribeOptions, ProgramDescription } from "../../store/description.js";
import type { RecoverableThreads } from "./mark.js";
import type { RecoverableAgent } from "./recover-threads.js";

const later = (): typeof import("./later.js") => require("./later.js");

/**
 * Describes a version of a compiled graph or an agent, as JSON. `forkpoint drain-check` lists the open threads of a
 * database that do not fit it. The options `program` and `version` default to those of the graph's `ForkpointSaver`.
 * @example console.log(JSON.stringify(describe(graph)));
 */
export function describe(graph: RecoverableThreads | RecoverableAgent, options?: DescribeOptions): ProgramDescription {
  return later().describe(graph, options);
}
