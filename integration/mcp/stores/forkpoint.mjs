// `ForkpointEventStore` and `ForkpointTaskStore`, for forkpoint-conformance. The target is a path, `jsonl:<folder>`, `memory:` or a URL
// of Postgres, such as `postgres://user@host/database?schema=s{n}`. The module's address says which: `forkpoint.mjs?backend=jsonl`.
import { createRequire } from "node:module";
import { openStore } from "forkpoint";
import { ForkpointEventStore, ForkpointTaskStore } from "forkpoint/mcp";

const backend = new URL(import.meta.url).searchParams.get("backend") ?? "sqlite";
const inMemory = "this backend is in the memory of one process";

export const name = `forkpoint/mcp, ${backend}`;
export const { version } = createRequire(import.meta.url)("forkpoint/package.json");
export const skip = { ...(backend === "memory" && { restart: inMemory, race: inMemory, kill: inMemory }) };

export async function open({ target }) {
  const store = await openStore(target);
  return {
    close: () => store.close(),
    events: (sessionId) => new ForkpointEventStore(store, { sessionId }),
    tasks: new ForkpointTaskStore(store),
  };
}
export const close = (store) => store.close();
/** A store in memory is a new one each time. */
export const wipe = backend === "memory" ? () => {} : undefined;
