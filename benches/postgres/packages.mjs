// Exports the compared savers and the client. This module registers resolve.mjs first, because resolve.mjs finds the
// packages.
import { register } from "node:module";

// LangGraph's base class comes from the folder that ../langgraph/packages.mjs takes it from: a benchmark may load both.
const homes = {
  "@langchain/langgraph-checkpoint": "langgraph",
  "@langchain/langgraph-checkpoint-postgres": "postgres",
  pg: "postgres",
};
register(new URL("../lib/resolve.mjs", import.meta.url), { data: homes });

export const { uuid6 } = await import("@langchain/langgraph-checkpoint");
export const { PostgresSaver } = await import("@langchain/langgraph-checkpoint-postgres");
export const { Pool } = (await import("pg")).default;
export const { ForkpointSaver } = await import("../../dist/contracts/langgraph/index.mjs");
