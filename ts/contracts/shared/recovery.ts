/** The part of `recover` that does not depend on a framework: options, leases, and several runs at once. */

import { setTimeout as delay } from "node:timers/promises";
import { show, typeError } from "../../bridge/errors.js";
import type { StoreHandle } from "../../store/handle.js";
import { requireIds } from "../../store/ids.js";
import { HeldLease, TTL_MS, ttlOption } from "../../store/lease.js";
import { atMost, callback, signalOption, whole, type OptionParser, type Parsed } from "../../store/options.js";
import type { RunKey } from "../../bridge/native.js";

/**
 * The status of a run, as its newest checkpoint tells it. A store cannot know whether a process works on the run.
 *
 * - `"waiting"`: a human's answer is missing.
 * - `"failed"`: a node has failed.
 * - `"unfinished"`: nodes are left to run. The run has crashed, or a process works on it.
 * - `"finished"`: no node is left to run.
 * - `"unknown"`: the checkpoint does not tell it.
 */
export type RunStatus = "waiting" | "failed" | "unfinished" | "finished" | "unknown";

/** The options of `recover` that every framework has. */
export interface RecoverOptions<R> {
  /**
   * Runs whose newest checkpoint is younger than this, in ms, are left alone, because another process may work on them.
   * Choose it greater than the time that a node takes. Default: 0. If it is given, older runs are recovered
   * although their process, on this machine, has not ended.
   */
  idleMs?: number;
  /**
   * Runs whose newest checkpoint is older than this, in ms, are left alone, unless they are named. Default: no limit. Null, 0
   * and Infinity also mean no limit.
   */
  maxAgeMs?: number | null;
  /** How many runs are recovered at once. Default: 4. */
  concurrency?: number;
  /**
   * How long the lease of a run is valid, in ms. It is renewed while the run is recovered. After a crash in a recovery on
   * another machine, the run can be recovered again when the lease has expired. After a crash on this machine, it can be
   * recovered at once. Default: 30,000.
   */
  leaseTtlMs?: number;
  /**
   * How often in a row the recovery of a run from the same checkpoint may crash the process before the run is given up.
   * Default: 3. Null, 0 and Infinity mean no limit.
   */
  maxAttempts?: number | null;
  /** Ends the recovery. The promise rejects with the signal's reason after the runs in progress have ended. */
  signal?: AbortSignal;
  /**
   * Is called when a run has been recovered, or could not be. If it throws, the recovery goes on, and the process warns.
   * @example await recover(graph, store, { onRecovered: ({ runId, outcome }) => console.log(runId, outcome) });
   */
  onRecovered?: (run: R) => void;
}

/** A run that was not recovered. */
export type UnrecoveredRun =
  | {
      /** Another process recovered the run meanwhile. */
      outcome: "elsewhere";
      /** Names the other process. */
      holder: string;
    }
  | {
      /** The recovery of the run has crashed the process too often. Pass a greater `maxAttempts` to try again. */
      outcome: "gave up";
      /** The number of crashes in a row. */
      crashes: number;
    }
  | {
      /** Resuming the run threw an error, or an option refused the run. */
      outcome: "error";
      error: unknown;
    }
  | {
      /** The run was left alone, because this program was not asked to run it. */
      outcome: "skipped";
      /**
       * - `"other program"`: another program made the run.
       * - `"unknown origin"`: the store does not know which program made the run.
       * - `"branch"`: the command line or the studio made the run's newest checkpoint.
       * - `"at work"`: the process that runs it has not ended.
       */
      why: "other program" | "unknown origin" | "branch" | "at work";
      /** The name of the program that made the run. Null if the store does not know it. */
      program: string | null;
      /** Says what to do. */
      message: string;
    };

/** What `recover` did. */
export interface RecoverReport<R> {
  /** The runs that needed recovery, in the order in which their recovery ended. */
  runs: R[];
  /** How many runs were looked at. Runs that the store knows to be finished are not counted. */
  checked: number;
}

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

/** Parses a list of ids. */
export const ids: OptionParser<string[]> = (value, name) => [...new Set(requireIds(value, name))];

/** The parsers of the options that every framework has. */
export const sharedOptions = {
  idleMs: whole(0, Number.MAX_SAFE_INTEGER, "milliseconds"),
  maxAgeMs: atMost("milliseconds"),
  concurrency: whole(1, 1_000, "runs"),
  leaseTtlMs: ttlOption,
  maxAttempts: atMost("attempts"),
  signal: signalOption,
  onRecovered: callback<(run: never) => void>,
};

/** Fills in the defaults of the options that every framework has. */
export function settingsOf(options: Parsed<typeof sharedOptions>): Settings {
  return {
    idleMs: options.idleMs,
    maxAgeMs: options.maxAgeMs ?? Infinity,
    concurrency: options.concurrency ?? 4,
    leaseTtlMs: options.leaseTtlMs ?? TTL_MS,
    maxAttempts: options.maxAttempts === null ? Infinity : (options.maxAttempts ?? 3),
    signal: options.signal,
    onRecovered: options.onRecovered,
  };
}

/** Asks whether the failed nodes of a run are to run again. */
export async function asksForRetry<R>(onFailed: ((run: R) => unknown) | undefined, run: R): Promise<boolean> {
  const decision = await onFailed?.(run);
  if (decision === undefined || decision === "leave") return false;
  if (decision === "retry") return true;
  throw typeError(`onFailed must return "retry", "leave" or nothing, and returned ${show(decision)}`);
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
  work: (lease: HeldLease) => Promise<R>,
): Promise<R | UnrecoveredRun | undefined> {
  let holder: string | undefined;
  try {
    for (;;) {
      const from = await newest();
      if (from === null) return holder === undefined ? undefined : { outcome: "elsewhere", holder };
      if (typeof from === "object") return from;
      const { leaseTtlMs: ttlMs, maxAttempts } = settings;
      const lease = await handle.leasing((engine, own) =>
        HeldLease.take(engine, of, { ttlMs, from, maxAttempts }, own),
      );
      if (lease instanceof HeldLease) {
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
