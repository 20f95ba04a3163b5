/** Helpers of the fault tests: servers, databases of their own, and what happens to servers. */

import diagnostics from "node:diagnostics_channel";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type StoreOptions, openStore } from "forkpoint";
import type { ForkpointWorkflowStore } from "forkpoint/agentium";
import { afterAll, beforeAll, describe, onTestFinished } from "vitest";
import { amount, contract, contracts, type Kind } from "../../__test__/faults/faults.js";
import * as proxies from "./proxy.mjs";
import { inMemory, installed, killProcess, programs, type Server, startPooler, startServer } from "./server.mjs";

/** A message that the proxy passes. */
export interface Message {
  from: "client" | "server";
  type: string;
  bytes: Buffer;
  connection: number;
}

export type Verdict = "pass" | "cut" | "cut-after" | "stall" | void;

export interface Proxy {
  readonly port: number;
  readonly counted: { roundTrips: number; sent: number; received: number; connections: number };
  cutAll(): void;
  stop(): Promise<void>;
}

export const startProxy: (
  port: number,
  options?: { delayMs?: number; onMessage?: (message: Message) => Verdict },
) => Promise<Proxy> = proxies.startProxy;

/** True if a test does more than `npm test` wants. */
export const long = Object.keys(process.env).some((name) => name.startsWith("FORKPOINT_FAULT_"));

/**
 * The oldest and the newest version of Postgres on this machine, and the oldest one that has `pg_dump`: npm's packages have
 * only the server. Without any, the tests do nothing: an error in CI.
 */
const found = [...(installed() as Map<number, string>)];
const dumping = found.find(([, bin]) => existsSync(join(bin, "pg_dump")));
const versions = { oldest: found.at(0)?.[0], newest: found.at(-1)?.[0], "with pg_dump": (dumping ?? found.at(0))?.[0] };
if (found.length === 0) programs();

/**
 * Runs the tests on a server of this version. Long forms run them on all three. The callback gets a function that returns
 * the server.
 */
export function onServer(
  short: keyof typeof versions,
  tests: (server: () => Server, version: number) => void,
  settings: Record<string, string | number> = {},
): void {
  const chosen = new Set(
    [versions[short], ...(long ? Object.values(versions) : [])].filter((one) => one !== undefined),
  );
  describe.each([...chosen])("Postgres %i", (version) => {
    let server: Server | undefined;
    beforeAll(async () => {
      server = await startServer({ version, settings, ...inMemory });
    });
    afterAll(() => server?.stop());
    tests(() => server!, version);
  });
}

let databases = 0;

/** Makes an empty database for the running test. `sql` is run in it. Returns its name. */
export async function makeDatabase(server: Server, { options = "", sql = "" } = {}): Promise<string> {
  const database = `test_${process.pid}_${databases++}`;
  await server.query(`CREATE DATABASE ${database} ${options}`);
  onTestFinished(async () => void (await server.query(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`)));
  if (sql !== "") await server.query(sql, undefined, { database });
  return database;
}

/** Makes an empty database for the running test. Returns its URL. */
export async function emptyUrl(server: Server, options?: Parameters<typeof makeDatabase>[1]) {
  return server.url({ database: await makeDatabase(server, options) }) as Kind & string;
}

/** Makes an empty database behind a proxy for the running test. `direct` is its URL without the proxy. */
export async function behindProxy(server: Server, options?: Parameters<typeof startProxy>[1]) {
  const proxy = await startProxy(server.port, options);
  onTestFinished(() => proxy.stop());
  const database = await makeDatabase(server);
  const query = "?sslmode=disable";
  const url = server.url({ database, port: proxy.port, query });
  return { proxy, database, url, direct: server.url({ database, query }) };
}

/** Ends every connection of the engine to the server. Returns how many there were. */
export async function terminate(server: Server): Promise<number> {
  const sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'forkpoint'";
  return (await server.query(sql).catch(() => [])).length;
}

/** Kills one process of the server with SIGKILL, of those that work for the engine. The server then restarts all others. */
export async function killBackend(server: Server): Promise<number> {
  const sql = `SELECT pid FROM pg_stat_activity WHERE application_name = 'forkpoint' ORDER BY state = 'active' DESC, random() LIMIT 1`;
  await answering(server);
  const found = await server.query(sql).catch(() => []);
  return found.filter(({ pid }) => killProcess(pid)).length;
}

/** Waits until the server answers. */
export async function answering(server: Server): Promise<void> {
  for (;;) {
    if (await server.query("SELECT 1").catch(() => undefined)) return;
    await sleep(20);
  }
}

/** Opens a store. Returns its warnings. */
export async function warned(
  target: string,
  options?: StoreOptions,
): Promise<Array<{ code: string; message: string }>> {
  const found: Array<{ code: string; message: string }> = [];
  const onWarning = (warning: unknown) => void found.push(warning as (typeof found)[number]);
  diagnostics.subscribe("forkpoint:warning", onWarning);
  try {
    await using store = await openStore(target, options);
    await store.stats();
  } finally {
    diagnostics.unsubscribe("forkpoint:warning", onWarning);
  }
  return found;
}

export const langgraph = new URL("../langgraph/fixtures/faults.mjs", import.meta.url).href;

/** The fault tests' modules of all contracts, by their names. */
export const modules = [...contracts.map((name) => [name, contract(name)] as const), ["langgraph", langgraph] as const];

/** The id of the step `n` of a run. */
export const idOf = (n: number) => `run:step-${n}`;

/**
 * Saves the step `n` of a run after the step `parent`, by default the one before it. A second save of the same step rejects with
 * `CONFLICT`.
 */
export const saveStep = (runs: ForkpointWorkflowStore<unknown>, n: number, parent = n - 1) =>
  runs.save(
    { id: idOf(n), runId: "run", stepIndex: n, stepName: "step", state: { n }, createdAt: n },
    { expectedParent: parent === -1 ? null : idOf(parent) },
  );

export const stepsOf = async (runs: ForkpointWorkflowStore<unknown>) => (await runs.list("run")).map(({ id }) => id);
export const steps = (count: number) => Array.from({ length: count }, (_, n) => idOf(n));

export { amount, inMemory, type Server, startPooler, startServer };
