// Mastra's `LibSQLStore`, for forkpoint-conformance. The target is a file.
import { createRequire } from "node:module";
import { LibSQLStore } from "@mastra/libsql";

const stores = new WeakMap();

export const name = "LibSQLStore";
export const { version } = createRequire(import.meta.url)("@mastra/libsql/package.json");

export async function open({ target }) {
  const store = new LibSQLStore({ id: "libsql", url: `file:${target}` });
  await store.init();
  const workflows = await store.getStore("workflows");
  stores.set(workflows, store);
  return workflows;
}

export const close = (workflows) => stores.get(workflows).close();
