/**
 * Measures stores for agents: one suite for each contract.
 *
 * @example
 * ```ts
 * import { langgraph } from "forkpoint-conformance";
 *
 * const suite = langgraph({ module: "./store.mjs", target: "{dir}/agent.db" });
 * const report = await suite.run({ groups: ["contract", "kill"] });
 * ```
 */
import agentos from "./contracts/agentos/index.js";
import claudeAgentSdk from "./contracts/claude-agent-sdk/index.js";
import langgraph from "./contracts/langgraph/index.js";
import langgraphStore from "./contracts/langgraph-store/index.js";
import mastra from "./contracts/mastra/index.js";
import mcp from "./contracts/mcp/index.js";
import openaiAgents from "./contracts/openai-agents/index.js";

export { agentos, claudeAgentSdk, langgraph, langgraphStore, mastra, mcp, openaiAgents };

/** All contracts, by the names that the command line takes. */
export const contracts = {
  langgraph,
  "langgraph-store": langgraphStore,
  "claude-agent-sdk": claudeAgentSdk,
  "openai-agents": openaiAgents,
  agentos,
  mastra,
  mcp,
} as const;

export { compare, counts, markdown } from "./suite/report.js";
export { groups } from "./suite/types.js";
export type { Contract, Given, RunOptions, Runner, Suite, Wanted } from "./suite/suite.js";
export type {
  Child,
  Expectation,
  Figure,
  Group,
  Level,
  Place,
  Report,
  Result,
  Source,
  Status,
  StoreModule,
  Trial,
  Upstream,
} from "./suite/types.js";
