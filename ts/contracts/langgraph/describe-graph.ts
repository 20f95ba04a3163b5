/** Describes graphs of LangGraph. */

import { show, typeError } from "../../bridge/errors.js";
import { readRecord } from "../../store/options.js";
import {
  type DescribeOptions,
  type ProgramDescription,
  descriptionOf,
  describeOptions,
} from "../../store/description.js";
import { type RecoverableThreads, nameOf } from "./mark.js";
import type { RecoverableAgent } from "./recover-threads.js";
import { shapeOfGraph } from "./shape.js";
import { langgraph } from "./wire.js";

export function describe(graph: RecoverableThreads | RecoverableAgent, options?: DescribeOptions): ProgramDescription {
  const given = readRecord(options, "options", describeOptions);
  const outer = graph as Partial<RecoverableThreads & RecoverableAgent> | null | undefined;
  const inner = typeof outer?.nodes === "object" ? (outer as RecoverableThreads) : outer?.graph;
  if (typeof inner?.nodes !== "object") {
    throw typeError(`graph must be a compiled graph of LangGraph or an agent of LangChain, but is ${show(graph)}`);
  }
  const saver = (inner.checkpointer ?? {}) as { program?: unknown; version?: unknown };
  const own = (name: "program" | "version") => (typeof saver[name] === "string" ? saver[name] : undefined);
  const program = given.program ?? own("program") ?? nameOf(inner);
  return descriptionOf(langgraph.name as "langgraph", {
    ...shapeOfGraph(inner, given.version ?? own("version")),
    program,
  });
}
