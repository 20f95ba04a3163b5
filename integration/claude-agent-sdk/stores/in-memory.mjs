// The SDK's own store, for tests and development.
import { InMemorySessionStore } from "@anthropic-ai/claude-agent-sdk";
import { readFileSync } from "node:fs";

const inMemory = "it keeps everything in the memory of one process";

export const name = "InMemorySessionStore";
export const { version } = JSON.parse(
  readFileSync(new URL("../node_modules/@anthropic-ai/claude-agent-sdk/package.json", import.meta.url), "utf8"),
);
export const skip = { restart: inMemory, race: inMemory, kill: inMemory, growth: inMemory };

export const open = () => new InMemorySessionStore();
/** A store in memory is a new one each time. */
export const wipe = () => {};
