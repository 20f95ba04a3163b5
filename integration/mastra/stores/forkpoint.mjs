// `ForkpointMastraStore`, for forkpoint-conformance. The target is a path, `jsonl:<folder>`, `memory:` or a URL of Postgres, such as
// `postgres://user@host/database?schema=s{n}`. The module's address says which: `forkpoint.mjs?backend=jsonl`. Default: sqlite.
import { createRequire } from "node:module";
import { ForkpointMastraStore } from "forkpoint/mastra";

const backend = new URL(import.meta.url).searchParams.get("backend") ?? "sqlite";
const reason = "this backend is in the memory of one process";
const stores = new WeakMap();

export const name = `ForkpointMastraStore, ${backend}`;
export const { version } = createRequire(import.meta.url)("forkpoint/package.json");
export const skip = backend === "memory" ? { restart: reason, kill: reason, race: reason, growth: reason } : {};

export async function open({ target }) {
  const store = new ForkpointMastraStore(target);
  const workflows = await store.getStore("workflows");
  stores.set(workflows, store);
  return workflows;
}

export const close = (workflows) => stores.get(workflows).close();
/** A store in memory is a new one each time. */
export const wipe = backend === "memory" ? () => {} : undefined;
