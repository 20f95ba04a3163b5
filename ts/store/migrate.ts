/** Upgrades stored data of an older format. */

import type { Engine } from "./engine.js";
import { flag, readRecord } from "./options.js";
import { storeCalls } from "../bridge/wire.js";

/**
 * Options of {@link Store.migrate}.
 * @example
 * ```ts
 * import { openStore } from "forkpoint";
 *
 * await using store = await openStore("agent.db");
 * const { from, to } = await store.migrate({ dryRun: true });
 * console.log(from === to ? "nothing to do" : `would upgrade format ${from} to ${to}`);
 * ```
 */
export interface MigrateOptions {
  /** Whether the database is only read. Default: false. */
  dryRun?: boolean;
}

/** The result of {@link Store.migrate}. SQLite, Postgres and text files number their formats separately. */
export interface MigrateResult {
  /** The format before. 0 for a store in memory. */
  from: number;
  /** The format after: the newest that this release writes, or a newer one that the database already has. */
  to: number;
}

export async function migrate({ native }: Engine, options: unknown): Promise<MigrateResult> {
  const { dryRun = false } = readRecord(options, "options", { dryRun: flag });
  const { format, newest } = (await storeCalls.call(native, "format", {})) ?? { format: 0, newest: 0 };
  const to = Math.max(format, newest);
  if (to > format && !dryRun) await storeCalls.call(native, "migrate", {});
  return { from: format, to };
}
