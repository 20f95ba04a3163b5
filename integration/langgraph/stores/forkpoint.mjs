// Forkpoint's `ForkpointSaver`. The target says where: "memory:", "{dir}/store.db", "jsonl:{dir}/store" or "postgres://…?schema=s{n}".
// `?backend=memory` in this module's address skips what memory is not made for.
import { openStore } from "forkpoint";
import { ForkpointSaver } from "forkpoint/langgraph";
import { readFileSync } from "node:fs";

const backend = new URL(import.meta.url).searchParams.get("backend") ?? "sqlite";
const inMemory = "it keeps everything in memory";

export const name = `ForkpointSaver, ${backend}`;
export const { version } = JSON.parse(
  readFileSync(new URL("../node_modules/forkpoint/package.json", import.meta.url), "utf8"),
);
export const skip = backend === "memory" ? { restart: inMemory, race: inMemory, kill: inMemory, growth: inMemory } : {};

export const open = ({ target }) => new ForkpointSaver(target);
export const close = (saver) => saver.close();
/** A store in memory is a new one each time. */
export const wipe = backend === "memory" ? () => {} : undefined;
/** Of the tables and their indexes on a server. */
export const bytes = backend === "postgres" ? tableBytes : undefined;

async function tableBytes({ target }) {
  const store = await openStore(target);
  const { fileBytes } = await store.stats();
  await store.close();
  return fileBytes;
}
