// Which runs can be forked, and what to do instead.

const instead: Record<string, string> = {
  storage: "Stored values can't be forked",
  "claude-agent-sdk": "Fork sessions with forkSession() of the SDK",
  ai: "Fork chats with fork() of ForkpointChats",
  "ai-streams": "Fork the chat of the stream",
  "langgraph-store": "Put items into another namespace",
  "langgraph-cache": "Cached results can't be forked",
  "mastra-threads": "Copy threads with copyThread() of the memory",
  "openai-agents": "Fork sessions with fork() of a ForkpointSession",
  "openai-agents-states": "Save the state as another run",
};

/** Returns why the runs of a space can't be forked. Null: they can. */
export const whyNoFork = (space: string): string | null => (Object.hasOwn(instead, space) ? instead[space]! : null);
