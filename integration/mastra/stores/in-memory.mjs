// Mastra's `InMemoryStore`, for forkpoint-conformance.
import { createRequire } from "node:module";
import { InMemoryStore } from "@mastra/core/storage";

const reason = "InMemoryStore is in the memory of one process";
const noPrune = "InMemoryStore has no retention";

export const name = "InMemoryStore";
export const { version } = createRequire(import.meta.url)("@mastra/core/package.json");
export const skip = {
  restart: reason,
  kill: reason,
  race: reason,
  growth: reason,
  "mastra/prune": noPrune,
  "mastra/prune-in-parts": noPrune,
};

export async function open() {
  return await new InMemoryStore().getStore("workflows");
}
