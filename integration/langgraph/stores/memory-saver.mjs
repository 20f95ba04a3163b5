// LangGraph's `MemorySaver`, which every quickstart uses.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { MemorySaver } from "@langchain/langgraph-checkpoint";

const main = createRequire(import.meta.url).resolve("@langchain/langgraph-checkpoint");

export const name = "MemorySaver";
export const { version } = JSON.parse(readFileSync(join(dirname(main), "../package.json"), "utf8"));
const inMemory = "it keeps everything in memory";
export const skip = { restart: inMemory, race: inMemory, kill: inMemory, growth: inMemory };
export const open = () => new MemorySaver();
