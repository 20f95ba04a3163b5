/** The frameworks whose runs the inspector shows. */

/** The public names of the contracts, in display order. */
export const SPACES = [
  "agentos",
  "agentium",
  "storage",
  "langgraph",
  "tinyagents",
  "helix",
  "claude-agent-sdk",
  "mastra",
  "mastra-threads",
  "openai-agents",
  "openai-agents-states",
] as const;
