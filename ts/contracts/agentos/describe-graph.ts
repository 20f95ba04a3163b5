/** Describes graphs of AgentOS. */

import { readRecord } from "../../store/options.js";
import {
  type DescribeOptions,
  type ProgramDescription,
  descriptionOf,
  describeOptions,
} from "../../store/description.js";
import { Graph, type RecoverableGraph, programOf } from "./graph.js";
import { agentos } from "./wire.js";

export function describe(graph: RecoverableGraph, options?: DescribeOptions): ProgramDescription {
  const { program, version } = readRecord(options, "options", describeOptions);
  const compiled = new Graph(graph);
  const shape = { ...compiled.shape(version), program: program ?? programOf(compiled.id) };
  return descriptionOf(agentos.name as "agentos", shape);
}
