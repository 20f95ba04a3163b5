/** The part of `recover` that does not depend on a framework: options, leases, and several runs at once. */

import { setTimeout as delay } from "node:timers/promises";
import type { UnrecoveredRun } from "../../../recovery.js";
import { isArray, show, typeError } from "../../bridge/errors.js";
import type { StoreHandle } from "../../store/handle.js";
import { requireId } from "../../store/ids.js";
import { Lease, TTL_MS, ttlOption } from "../../store/lease.js";
import { type OptionParser, atMost, readRecord, signalOption, whole } from "../../store/options.js";
import type { RunKey } from "../../store/run-ref.js";

/** The options that `recover` has for every framework, with their defaults. */
export interface Settings {
  /** Undefined: not given, which means 0. */
  idleMs: number | undefined;
  maxAgeMs: number;
  concurrency: number;
  leaseTtlMs: number;
  maxAttempts: number;
  signal: AbortSignal | undefined;
  onRecovered: ((run: never) => void) | undefined;
}

/** Parses a function. */
export const callback: OptionParser<(...given: never[]) => unknown> = (value, name) => {
  if (typeof value !== "function") throw typeError(`${name} must be a function, and is ${show(value)}`);
  return value as (...given: never[]) => unknown;
};

/** Parses a list of ids. */
export const ids: OptionParser<string[]> = (value, name) => {
  if (!isArray(value)) throw typeError(`${name} must be an array of ids, and is ${show(value)}`);
  return [...new Set(value.map((id, index) => requireId(id, `${name}[${index}]`)))];
};

const parsers: { [K in keyof Settings]: OptionParser<unknown> } = {
  idleMs: whole(0, Number.MAX_SAFE_INTEGER, "milliseconds"),
  maxAgeMs: atMost("milliseconds"),
  concurrency: whole(1, 1_000, "runs"),
  leaseTtlMs: ttlOption,
  maxAttempts: atMost("attempts"),
  signal: signalOption,
  onRecovered: callback,
};

/** Checks the options of `recover`. `own` are those of the framework. */
export function readSettings(
  options: unknown,
  own: Record<string, OptionParser<unknown>>,
): { settings: Settings; own: Record<string, unknown> } {
  const read = readRecord(options, "options", { ...parsers, ...own });
  const settings: Settings = {
    idleMs: read["idleMs"] as number | undefined,
    maxAgeMs: (read["maxAgeMs"] as number | null | undefined) ?? Infinity,
    concurrency: (read["concurrency"] as number | undefined) ?? 4,
    leaseTtlMs: (read["leaseTtlMs"] as number | undefined) ?? TTL_MS,
    maxAttempts: read["maxAttempts"] === null ? Infinity : ((read["maxAttempts"] as number | undefined) ?? 3),
    signal: read["signal"] as AbortSignal | undefined,
    onRecovered: read["onRecovered"] as Settings["onRecovered"],
  };
  return { settings, own: read };
}

/**
 * Recovers runs, some at once, and returns what became of each, in the order in which they ended. `recoverOne` returns
 * undefined for a run that needs no recovery. An abort rejects with the signal's reason after the runs in progress have
 * ended.
 */
export async function recoverAll<R>(
  runs: AsyncIterable<string>,
  { concurrency, signal, onRecovered }: Settings,
  recoverOne: (run: string) => Promise<R | undefined>,
): Promise<{ runs: R[]; checked: number }> {
  const results: R[] = [];
  let checked = 0;
  const iterator = runs[Symbol.asyncIterator]();
  const worker = async () => {
    for (;;) {
      signal?.throwIfAborted();
      const { value: run, done } = await iterator.next();
      if (done === true) return;
      checked += 1;
      const result = await recoverOne(run);
      if (result === undefined) continue;
      results.push(result);
      const tell = async () => (onRecovered as ((run: R) => unknown) | undefined)?.(result);
      void tell().catch(warnOf);
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: concurrency }, worker));
  for (const end of ended) if (end.status === "rejected") throw end.reason;
  return { runs: results, checked };
}

/** An error of the callback must not hide what became of the runs. */
function warnOf(error: unknown): void {
  const what = error instanceof Error ? `an error (${error.message})` : show(error);
  const message = `onRecovered threw ${what}: the recovery went on, and its report is complete`;
  process.emitWarning(Object.assign(new Error(message, { cause: error }), { name: "ForkpointWarning" }));
}

/** Makes the outcome of a run that is left alone. */
export function skipped(
  why: Extract<UnrecoveredRun, { outcome: "skipped" }>["why"],
  program: string | undefined,
  message: string,
): UnrecoveredRun {
  return { outcome: "skipped", why, program: program ?? null, message };
}

/**
 * Works on a run while no other process does, and returns what became of it. If another process holds the run's lease,
 * waits until the lease ends, and works on the run if there is something left to do. `newest` returns the id of the
 * newest checkpoint of a run that needs recovery, the outcome of a run that is to be left alone, and null for a run that needs
 * no recovery. `work` gets the lease, which its writes carry. Returns undefined if the run needs no recovery.
 */
export async function underLease<R>(
  handle: StoreHandle,
  of: RunKey,
  settings: Settings,
  newest: () => Promise<string | UnrecoveredRun | null>,
  work: (lease: Lease) => Promise<R>,
): Promise<R | UnrecoveredRun | undefined> {
  let holder: string | undefined;
  try {
    for (;;) {
      const from = await newest();
      if (from === null) return holder === undefined ? undefined : { outcome: "elsewhere", holder };
      if (typeof from === "object") return from;
      const { leaseTtlMs: ttlMs, maxAttempts } = settings;
      const lease = await handle.leasing((engine, own) => Lease.take(engine, of, { ttlMs, from, maxAttempts }, own));
      if (lease instanceof Lease) {
        try {
          // Another process may have recovered the run just before this one took the lease.
          if ((await newest()) === from) return await work(lease);
          holder ??= "another process";
        } finally {
          // A lease that cannot be released expires. The outcome is that of the work.
          await lease.release().catch(() => {});
        }
        continue;
      }
      if ("crashes" in lease) return { outcome: "gave up", crashes: lease.crashes };
      holder = lease.holder;
      const pause = Math.min(Math.max(lease.leftMs, 1), settings.leaseTtlMs / 3, 1_000);
      await delay(pause, undefined, { signal: settings.signal });
    }
  } catch (error) {
    if (settings.signal?.aborted === true) throw error;
    return { outcome: "error", error };
  }
}
