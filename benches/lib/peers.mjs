// The packages that Forkpoint is compared with. Each package is loaded from the folder that has its lockfile.
import { fsyncSync, existsSync, mkdtempSync, openSync, closeSync, rmSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const from = (folder) => createRequire(new URL(`../../integration/${folder}/package.json`, import.meta.url));
const load = (folder, name) => import(pathToFileURL(from(folder).resolve(name)).href);

/** AgentOS' own store: a map in memory that copies nothing and does not survive the process. */
export async function agentosMemory() {
  const { InMemoryCheckpointStore } = await load("agentos", "@framers/agentos/orchestration/checkpoint");
  return new InMemoryCheckpointStore();
}

/** AgentOS' own graphs. */
export const agentosOrchestration = () => load("agentos", "@framers/agentos/orchestration");

/** The Claude Agent SDK. */
export const claudeAgentSdk = () => load("claude-agent-sdk", "@anthropic-ai/claude-agent-sdk");

/** The OpenAI Agents SDK. */
export const openaiAgents = () => load("openai-agents", "@openai/agents");

/** Mastra, its stores, and this package's store over it. */
export async function mastraCore() {
  const names = [
    "@mastra/core/storage",
    "@mastra/core/agent",
    "@mastra/core/mastra",
    "@mastra/core/tools",
    "@mastra/core/workflows",
    "@mastra/libsql",
    "zod",
  ];
  const [storage, ...others] = await Promise.all(names.map((name) => load("mastra", name)));
  const { storeOf } = await import("../../dist/contracts/mastra/entry.js");
  return Object.assign({ ForkpointMastraStore: storeOf(storage) }, storage, ...others);
}

/** Opens a better-sqlite3 database in WAL with the given `synchronous` and schema. */
export async function betterSqlite(file, { synchronous = "FULL", schema }) {
  const { default: Database } = await load("peers", "better-sqlite3");
  const db = new Database(file);
  db.pragma("journal_mode = WAL");
  db.pragma(`synchronous = ${synchronous}`);
  db.exec(schema);
  return db;
}

/** Reads the mode from the database itself, so that the tables show the mode that really ran. */
export function mode(db) {
  const synchronous = ["OFF", "NORMAL", "FULL", "EXTRA"][db.pragma("synchronous", { simple: true })];
  return `${db.pragma("journal_mode", { simple: true }).toUpperCase()}, ${synchronous}`;
}

/** Calls `work` with a new folder and removes the folder afterwards. */
export async function inFolder(work) {
  const folder = mkdtempSync(join(tmpdir(), "forkpoint-bench-"));
  try {
    return await work((name) => join(folder, name));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns the bytes that a database takes on the disk. */
export function onDisk(file) {
  return [file, `${file}-wal`].filter((each) => existsSync(each)).reduce((sum, each) => sum + statSync(each).size, 0);
}

/** Syncs a file to the disk, so that one side's pages in the page cache do not slow the next side's syncs. */
export function settle(file) {
  for (const each of [file, `${file}-wal`].filter((each) => existsSync(each))) {
    const descriptor = openSync(each, "r+");
    fsyncSync(descriptor);
    closeSync(descriptor);
  }
}
