// Forkpoint's `ForkpointStore`. The target says where: "memory:", "{dir}/store.db", "jsonl:{dir}/store" or "postgres://…?schema=s{n}".
// `?backend=memory` in this module's address skips what memory is not made for.
import { readFileSync } from "node:fs";
import { ForkpointStore } from "forkpoint/langgraph";

const backend = new URL(import.meta.url).searchParams.get("backend") ?? "sqlite";
const inMemory = "it keeps everything in the memory of one process";

export const name = `ForkpointStore, ${backend}`;
export const { version } = JSON.parse(
  readFileSync(new URL("../node_modules/forkpoint/package.json", import.meta.url), "utf8"),
);
export const skip = backend === "memory" ? { restart: inMemory, race: inMemory, kill: inMemory, growth: inMemory } : {};

export const open = ({ target }) => new ForkpointStore(target);
export const close = (store) => store.close();
/** A store in memory is a new one each time. */
export const wipe = backend === "memory" ? () => {} : undefined;
