/** The registry of frameworks: their names and traits. */

import type { Traits } from "../plugin/traits.js";
import { agentium, storage } from "./agentium/traits.js";
import { agentos } from "./agentos/traits.js";
import { ai, streams } from "./ai/traits.js";
import { claudeAgentSdk } from "./claude-agent-sdk/traits.js";
import { helix } from "./helix/traits.js";
import * as langgraph from "./langgraph/traits.js";
import * as mastra from "./mastra/traits.js";
import * as mcp from "./mcp/traits.js";
import * as openai from "./openai-agents/traits.js";
import { tinyagents } from "./tinyagents/traits.js";

/** The name of a framework. */
export type KnownSpace =
  | "agentos"
  | "agentium"
  | "storage"
  | "langgraph"
  | "langgraph-store"
  | "langgraph-cache"
  | "tinyagents"
  | "helix"
  | "ai"
  | "ai-streams"
  | "claude-agent-sdk"
  | "mastra"
  | "mastra-threads"
  | "mastra-resources"
  | "openai-agents"
  | "openai-agents-states"
  | "mcp"
  | "mcp-tasks"
  | "mcp-queues";

/** The name of a framework whose checkpoints record the version of the program that made them. */
export type ProgramSpace = "agentos" | "agentium" | "langgraph" | "tinyagents";

/** The traits of each framework, by its name in references, listings and the command line. In display order. */
const TRAITS: {
  readonly [S in KnownSpace]: S extends ProgramSpace ? Traits & { programs: "mark" | "shape" } : Traits;
} = {
  agentos,
  agentium,
  storage,
  langgraph: langgraph.langgraph,
  "langgraph-store": langgraph.store,
  "langgraph-cache": langgraph.cache,
  tinyagents,
  helix,
  ai,
  "ai-streams": streams,
  "claude-agent-sdk": claudeAgentSdk,
  mastra: mastra.mastra,
  "mastra-threads": mastra.threads,
  "mastra-resources": mastra.resources,
  "openai-agents": openai.sessions,
  "openai-agents-states": openai.states,
  mcp: mcp.events,
  "mcp-tasks": mcp.tasks,
  "mcp-queues": mcp.queues,
};

/** The frameworks, in display order. */
export const SPACES = Object.keys(TRAITS) as KnownSpace[];

const NONE: Traits = {};

/** Returns the traits of a framework. An unknown framework has none. */
export const traitsOf = (space: string): Traits => (Object.hasOwn(TRAITS, space) ? TRAITS[space as KnownSpace] : NONE);

/** Returns the frameworks whose traits match, in display order. */
export const spacesWith = (matches: (traits: Traits) => unknown): KnownSpace[] =>
  SPACES.filter((space) => matches(TRAITS[space]));

/** The frameworks whose checkpoints record the version of the program that made them. */
export const WITH_PROGRAMS = spacesWith(({ programs }) => programs) as ProgramSpace[];
