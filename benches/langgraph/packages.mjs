// Exports LangGraph and the compared savers. This module registers resolve.mjs first, because resolve.mjs finds the
// packages.
import { register } from "node:module";

register(new URL("resolve.mjs", import.meta.url));

export const { Annotation, DeltaChannel, END, START, StateGraph } = await import("@langchain/langgraph");
export const { MemorySaver } = await import("@langchain/langgraph-checkpoint");
export const { SqliteSaver } = await import("@langchain/langgraph-checkpoint-sqlite");
export const { ForkpointSaver } = await import("../../dist/langgraph.mjs");
