// AgentOS's own store.
import { InMemoryCheckpointStore } from "@framers/agentos/orchestration/checkpoint";
import { readFileSync } from "node:fs";

const inMemory = "it keeps everything in the memory of one process";

export const name = "InMemoryCheckpointStore";
export const { version } = JSON.parse(
  readFileSync(new URL("../node_modules/@framers/agentos/package.json", import.meta.url), "utf8"),
);
export const skip = { restart: inMemory, race: inMemory, kill: inMemory, growth: inMemory };

export const open = () => new InMemoryCheckpointStore();
/** A store in memory is a new one each time. */
export const wipe = () => {};
