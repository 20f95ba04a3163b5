// Exports the compared savers and the client. This module registers resolve.mjs first, because resolve.mjs finds the
// packages.
import { register } from "node:module";

const names = ["@langchain/langgraph-checkpoint", "@langchain/langgraph-checkpoint-postgres", "pg"];
const homes = Object.fromEntries(names.map((name) => [name, "postgres"]));
register(new URL("../lib/resolve.mjs", import.meta.url), { data: homes });

export const { uuid6 } = await import("@langchain/langgraph-checkpoint");
export const { PostgresSaver } = await import("@langchain/langgraph-checkpoint-postgres");
export const { Pool } = (await import("pg")).default;
export const { ForkpointSaver } = await import("../../dist/contracts/langgraph/index.mjs");
