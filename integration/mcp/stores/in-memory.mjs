// The SDK's own `InMemoryEventStore`, an example, and `InMemoryTaskStore`, for forkpoint-conformance. The examples of servers use one
// event store for all sessions.
import { readFileSync } from "node:fs";
import { InMemoryEventStore } from "@modelcontextprotocol/sdk/examples/shared/inMemoryEventStore.js";
import { InMemoryTaskStore } from "@modelcontextprotocol/sdk/experimental/tasks";

const inMemory = "it keeps everything in the memory of one process";

export const name = "InMemoryEventStore, InMemoryTaskStore";
const sdk = import.meta.resolve("@modelcontextprotocol/sdk/types.js").replace(/\/dist\/.*/, "/package.json");
export const { version } = JSON.parse(readFileSync(new URL(sdk), "utf8"));
export const skip = { restart: inMemory, race: inMemory, kill: inMemory };

export function open() {
  const events = new InMemoryEventStore();
  return { events: () => events, tasks: new InMemoryTaskStore() };
}
export const close = ({ tasks }) => tasks.cleanup();
/** A store in memory is a new one each time. */
export const wipe = () => {};
