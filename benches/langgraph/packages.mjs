// Exports LangGraph and the compared savers. This module registers resolve.mjs first, because resolve.mjs finds the
// packages.
import { register } from "node:module";

const homes = {
  "@langchain/langgraph": "langgraph",
  "@langchain/langgraph-checkpoint": "langgraph",
  "@langchain/langgraph-checkpoint-sqlite": "peers",
};
register(new URL("../lib/resolve.mjs", import.meta.url), { data: homes });

export const { Annotation, DeltaChannel, END, Send, START, StateGraph } = await import("@langchain/langgraph");
export const { InMemoryCache, InMemoryStore, MemorySaver, uuid6 } = await import("@langchain/langgraph-checkpoint");
export const { SqliteSaver } = await import("@langchain/langgraph-checkpoint-sqlite");
export const { ForkpointCache, ForkpointSaver, ForkpointStore } =
  await import("../../dist/contracts/langgraph/index.mjs");
