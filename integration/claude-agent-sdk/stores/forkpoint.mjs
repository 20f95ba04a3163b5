// Forkpoint's `SessionStore`. The target says where: "memory:", "{dir}/store.db", "jsonl:{dir}/store" or
// "postgres://…?schema=s{n}". `?backend=memory` in this module's address skips what memory is not made for.
import { foldSessionSummary } from "@anthropic-ai/claude-agent-sdk";
import { SessionStore } from "forkpoint/claude-agent-sdk";
import { readFileSync } from "node:fs";

const backend = new URL(import.meta.url).searchParams.get("backend") ?? "sqlite";
const inMemory = "it keeps everything in memory";

export const name = `forkpoint SessionStore, ${backend}`;
export const { version } = JSON.parse(
  readFileSync(new URL("../node_modules/forkpoint/package.json", import.meta.url), "utf8"),
);
export const skip = backend === "memory" ? { restart: inMemory, race: inMemory, kill: inMemory, growth: inMemory } : {};

/** In this repository the package is a link, beside which there is no SDK. */
export const open = ({ target }) => new SessionStore(target, { foldSessionSummary });
export const close = (store) => store.close();
/** A store in memory is a new one each time. */
export const wipe = backend === "memory" ? () => {} : undefined;
