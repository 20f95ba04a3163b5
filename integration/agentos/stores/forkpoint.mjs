// Forkpoint's `CheckpointStore`. The target says where: "memory:", "{dir}/store.db", "jsonl:{dir}/store" or
// "postgres://…?schema=s{n}". `?backend=…` in this module's address names the backend. Default: sqlite.
import { CheckpointStore } from "forkpoint/agentos";
import { readFileSync } from "node:fs";

const backend = new URL(import.meta.url).searchParams.get("backend") ?? "sqlite";
const inMemory = "this backend keeps everything in the memory of one process";

export const name = `Forkpoint CheckpointStore, ${backend}`;
export const { version } = JSON.parse(
  readFileSync(new URL("../node_modules/forkpoint/package.json", import.meta.url), "utf8"),
);
export const skip = backend === "memory" ? { restart: inMemory, race: inMemory, kill: inMemory, growth: inMemory } : {};

export const open = ({ target }) => new CheckpointStore(target);
export const close = (store) => store.close();
/** A store in memory is a new one each time. */
export const wipe = backend === "memory" ? () => {} : undefined;
