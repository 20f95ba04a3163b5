// The SDK's own `MemorySession`, for forkpoint-conformance. The store is a map of its sessions.
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { MemorySession } from "@openai/agents";

const inMemory = "it keeps everything in the memory of one process";

export const name = "MemorySession";
export const { version } = JSON.parse(
  readFileSync(new URL("../package.json", import.meta.resolve("@openai/agents")), "utf8"),
);
export const skip = { restart: inMemory, race: inMemory, kill: inMemory, growth: inMemory };

export function open() {
  const sessions = new Map();
  return {
    session(sessionId = randomUUID()) {
      if (!sessions.has(sessionId)) sessions.set(sessionId, new MemorySession({ sessionId }));
      return sessions.get(sessionId);
    },
  };
}
/** A store in memory is a new one each time. */
export const wipe = () => {};
