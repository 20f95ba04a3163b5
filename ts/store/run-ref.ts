/** References to runs, as users give them. */

import { quote, typeError } from "../bridge/errors.js";
import type { RunKey } from "../bridge/native.js";
import { requireId, requireIds } from "./ids.js";
import { anything, readRecord, shown } from "./options.js";

/**
 * A run, thread or session of a framework.
 * @example const run: RunRef = { space: "langgraph", run: "thread-1" };
 */
export interface RunRef {
  /** The framework: `"agentos"`, `"agentium"`, `"langgraph"`, `"langgraph-store"`, `"helix"`, `"tinyagents"`, `"ai"`, `"ai-streams"`,
   * `"claude-agent-sdk"`, `"mastra"`, `"mastra-threads"`, `"openai-agents"` or `"openai-agents-states"`. */
  space: string;
  /** The id of the run, thread or session. */
  run: string;
  /**
   * The namespace in the thread: a text for LangGraph, a list of names for TinyAgents. Default: the thread itself. For the Claude
   * Agent SDK, the project of the session. For Mastra, the name of the workflow. Other frameworks have no namespaces.
   */
  ns?: string | readonly string[] | undefined;
}

/** The contracts whose runs can be leased, each with the type of its namespaces. */
const spaces: Record<string, "none" | "text" | "list"> = {
  agentos: "none",
  agentium: "none",
  ai: "none",
  "ai-streams": "none",
  helix: "none",
  langgraph: "text",
  "langgraph-store": "none",
  tinyagents: "list",
  "claude-agent-sdk": "text",
  mastra: "text",
  "mastra-threads": "none",
  "openai-agents": "none",
  "openai-agents-states": "none",
};

/** Checks a reference to a run. If `only` names a contract, the run must be one of this contract. */
export function readRun(ref: unknown, only?: string): RunKey {
  if (ref === undefined) throw typeError('run must be an object such as { space: "agentos", run: "run-1" }');
  const { space, run, ns } = readRecord(ref, "run", { space: anything, run: anything, ns: anything });
  const known = only === undefined ? Object.keys(spaces) : [only];
  if (typeof space !== "string" || !known.includes(space)) {
    throw typeError(`run.space must be ${known.map(quote).join(" or ")}, but is ${shown(space)}`);
  }
  const id = requireId(run, "run.run");
  if (id === "") throw typeError("run.run is empty: pass the id of a run");
  return { space, run: id, ns: namespaceOf(space, ns) };
}

function namespaceOf(space: string, ns: unknown): string {
  if (ns === undefined) return "";
  if (spaces[space] === "none") throw typeError(`run.ns must be left out, because ${space} has no namespaces`);
  if (spaces[space] === "text") return requireId(ns, "run.ns");
  const names = requireIds(ns, "run.ns");
  return names.length === 0 ? "" : JSON.stringify(names);
}
