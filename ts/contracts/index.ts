/** The registry of plug-ins, one for each framework. */

import type { Plugin } from "../plugin/plugin.js";
import { agentium, storage } from "./agentium/plugin.js";
import { plugin as agentos } from "./agentos/plugin.js";
import * as ai from "./ai/plugin.js";
import { plugin as claudeAgentSdk } from "./claude-agent-sdk/plugin.js";
import { plugin as helix } from "./helix/plugin.js";
import * as langgraph from "./langgraph/plugin.js";
import * as mastra from "./mastra/plugin.js";
import * as openai from "./openai-agents/plugin.js";
import type { KnownSpace } from "./registry.js";
import { plugin as tinyagents } from "./tinyagents/plugin.js";

const PLUGINS: Readonly<Record<KnownSpace, Plugin>> = {
  agentos,
  agentium,
  storage,
  langgraph: langgraph.threads,
  "langgraph-store": langgraph.store,
  "langgraph-cache": langgraph.cache,
  tinyagents,
  helix,
  ai: ai.chats,
  "ai-streams": ai.streams,
  "claude-agent-sdk": claudeAgentSdk,
  mastra: mastra.workflows,
  "mastra-threads": mastra.threads,
  "mastra-resources": mastra.resources,
  "openai-agents": openai.sessions,
  "openai-agents-states": openai.states,
  mcp: {},
  "mcp-tasks": {},
  "mcp-queues": {},
};

const NONE: Plugin = {};

/** Returns the plug-in of a framework. An unknown framework has an empty one. */
export const pluginOf = (space: string): Plugin =>
  Object.hasOwn(PLUGINS, space) ? PLUGINS[space as KnownSpace] : NONE;
