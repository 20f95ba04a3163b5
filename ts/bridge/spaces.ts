/** The frameworks, by the names that the inspector and the command line use, in display order. */

export const SPACES = [
  "agentos",
  "agentium",
  "storage",
  "langgraph",
  "langgraph-store",
  "langgraph-cache",
  "tinyagents",
  "helix",
  "ai",
  "ai-streams",
  "claude-agent-sdk",
  "mastra",
  "mastra-threads",
  "openai-agents",
  "openai-agents-states",
] as const;
