// LangGraph's `InMemoryStore`, which its quickstarts use.
import { readFileSync } from "node:fs";
import { InMemoryStore } from "@langchain/langgraph-checkpoint";

const inMemory = "it keeps everything in the memory of one process";

export const name = "InMemoryStore";
export const { version } = JSON.parse(
  readFileSync(new URL("../node_modules/@langchain/langgraph-checkpoint/package.json", import.meta.url), "utf8"),
);
export const skip = { restart: inMemory, race: inMemory, kill: inMemory, growth: inMemory };

export const open = () => new InMemoryStore();
