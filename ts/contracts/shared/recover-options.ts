/** The options and the outcomes of `recover` that all frameworks share. */

import { readingArgument, show, typeError } from "../../bridge/errors.js";
import type { StoppedBy } from "../../bridge/forkpoint-error.js";
import type { StoreHandle } from "../../store/handle.js";
import { handleOf } from "../../store/handle-of.js";
import { requireIds } from "../../store/ids.js";
import { TTL_MS, ttlOption } from "../../store/lease.js";
import { atMost, callback, flag, signalOption, whole, type OptionParser, type Parsed } from "../../store/options.js";
import type { ProgramVersion } from "../../store/compare-programs.js";
import { noLeases } from "./run-lease.js";

/**
 * The status of a run, read from its newest checkpoint. A store cannot know whether a process works on the run.
 *
 * - `"waiting"`: a human's answer is missing.
 * - `"failed"`: a node has failed.
 * - `"unfinished"`: nodes are left to run. The run has crashed, or a process works on it.
 * - `"stopped"`: somebody has stopped the run, and nobody has continued it. `recover` leaves it alone.
 * - `"finished"`: no node is left to run.
 * - `"unknown"`: the checkpoint does not contain the status.
 */
export type RunStatus = "waiting" | "failed" | "unfinished" | "stopped" | "finished" | "unknown";

export type { ProgramVersion };

/** A run that cannot continue on this version of its program: a part that has run, or that is next, has changed. */
export interface ChangedRun {
  /** The name of the program. Null: it has none. */
  program: string | null;
  /** The id of the run's newest checkpoint. */
  checkpointId: string;
  /** The version that made the newest checkpoint. Null: the store does not know it. */
  from: ProgramVersion | null;
  /** This version of the program. */
  to: ProgramVersion;
  /** What differs, in words: ``"`b`, which is next, is gone; `b2` is new"``. */
  differences: string[];
  /** A sentence for people: what differs, and what they can do about it. */
  message: string;
}

/**
 * What to do with a run whose program has changed.
 *
 * - `"leave"`: it is left to processes that run its own version. The next `recover` reports it again.
 * - `"resume"`: it continues on this version, although the versions differ.
 * - `"fork"`: a fork continues on this version, from the newest checkpoint that fits it. The run itself is ended.
 * - `"end"`: it is no longer recovered. Its data stays, and can be inspected and forked.
 */
export type ChangeDecision = "leave" | "resume" | "fork" | "end";

/** The options of `recover` that all frameworks share. */
export interface RecoverOptions<R, C = ChangedRun> {
  /**
   * Decides what to do with a run that does not fit this version of its program. Default: `"leave"`.
   * @example
   * ```ts
   * await recover(graph, store, { onChanged: ({ from }) => (from?.version === "1" ? "fork" : "leave") });
   * ```
   */
  onChanged?: (run: C) => ChangeDecision | undefined | Promise<ChangeDecision | undefined>;
  /**
   * If true, reports what `recover` would do. Runs, writes and leases nothing, and calls no callback. Default: false.
   */
  dryRun?: boolean;
  /**
   * Runs whose newest checkpoint is younger than this, in ms, are left alone, because another process may work on them.
   * Choose more than the time that your slowest node takes. Default: 0. If you set it, older runs are recovered
   * even if their process on this machine has not ended.
   */
  idleMs?: number;
  /**
   * Runs whose newest checkpoint is older than this, in ms, are left alone, unless they are named. Default: no limit. Null, 0
   * and Infinity also mean no limit.
   */
  maxAgeMs?: number | null;
  /** How many runs are recovered at the same time. Suspects of a crash are recovered last, one by one. Default: 4. */
  concurrency?: number;
  /**
   * How long the lease of a run is valid, in ms. It is renewed during the recovery. If a recovery crashes on another
   * machine, the run can be recovered again when its lease has expired. After a crash on this machine, it can be
   * recovered immediately. Default: 30,000.
   */
  leaseTtlMs?: number;
  /**
   * How many times in a row the recovery of a run from the same checkpoint may crash the process, before `recover`
   * gives the run up. A crash only counts if the process recovered no other run. A process that ends during a recovery
   * has crashed, unless it first closes the store or exits with code 0. Default: 3. Null, 0 and Infinity mean no limit.
   */
  maxAttempts?: number | null;
  /** Ends the recovery. The promise rejects with the signal's reason after the runs in progress have ended. */
  signal?: AbortSignal;
  /**
   * Called after each recovery of a run, also if it failed. If the callback throws, the recovery continues, and the
   * process emits a warning.
   * @example await recover(graph, store, { onRecovered: ({ runId, outcome }) => console.log(runId, outcome) });
   */
  onRecovered?: (run: R) => void;
}

/** A run that was not recovered. */
export type UnrecoveredRun =
  | ({
      /** The program has changed, and the run does not fit this version. */
      outcome: "changed";
      /** What `recover` did with the run. See {@link RecoverOptions.onChanged}. */
      decision: Exclude<ChangeDecision, "resume">;
      /** If the decision is `"fork"`: the id of the fork. The report also has the fork's outcome. */
      fork?: string;
    } & ChangedRun)
  | {
      /**
       * Only with `dryRun`. `"would resume"`: the run would be resumed. `"would ask"`: `onWaiting` or `onFailed` would
       * decide. `"would leave"`: there is no callback for this status.
       */
      outcome: "would resume" | "would ask" | "would leave";
      status: "waiting" | "failed" | "unfinished";
    }
  | {
      /** Somebody stopped the run while it was recovered. The next `recover` leaves it alone. */
      outcome: "stopped";
      /** Who stopped it, when and why. */
      stopped: StoppedBy;
    }
  | {
      /** Another process recovered the run first. */
      outcome: "elsewhere";
      /** Names the other process. */
      holder: string;
    }
  | {
      /** The recovery of this run alone has crashed the process too many times. */
      outcome: "gave up";
      /** The number of crashes in a row. */
      crashes: number;
      /** A sentence for people: what happened, and how to retry. */
      message: string;
    }
  | {
      /** Resuming the run threw an error, or an option rejected the run. */
      outcome: "error";
      error: unknown;
    }
  | {
      /** The run was left alone. */
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
      /** A sentence for people: what they can do. */
      message: string;
    };

/** What `recover` did. */
export interface RecoverReport<R> {
  /** The runs that needed recovery, in the order in which their recovery ended. */
  runs: R[];
  /** How many runs were examined. Runs that the store knows to be finished are not counted. */
  checked: number;
}

export interface Settings {
  /** Undefined: not given, which means 0. */
  idleMs: number | undefined;
  maxAgeMs: number;
  concurrency: number;
  leaseTtlMs: number;
  maxAttempts: number;
  signal: AbortSignal | undefined;
  onRecovered: ((run: never) => void) | undefined;
  onChanged: ((run: never) => unknown) | undefined;
  dryRun: boolean;
}

export const ids: OptionParser<string[]> = (value, name) => [...new Set(requireIds(value, name))];

export const sharedOptions = {
  idleMs: whole(0, Number.MAX_SAFE_INTEGER, "milliseconds"),
  maxAgeMs: atMost("milliseconds"),
  concurrency: whole(1, 1_000, "runs"),
  leaseTtlMs: ttlOption,
  maxAttempts: atMost("attempts"),
  signal: signalOption,
  onRecovered: callback<(run: never) => void>,
  onChanged: callback<(run: never) => ChangeDecision>,
  dryRun: flag,
};

export function settingsOf(options: Parsed<typeof sharedOptions>): Settings {
  const { idleMs, maxAgeMs, concurrency = 4, leaseTtlMs = TTL_MS, maxAttempts = 3, signal } = options;
  const { onRecovered, onChanged, dryRun = false } = options;
  const limits = { maxAgeMs: maxAgeMs ?? Infinity, maxAttempts: maxAttempts ?? Infinity };
  return { idleMs, concurrency, leaseTtlMs, signal, onRecovered, onChanged, dryRun, ...limits };
}

/** Returns the handle of a store of this package. `example` is a method that the framework's other stores have too. */
export function handleToRecover(
  store: unknown,
  example: string,
  otherwise: { name: string; message: string },
): StoreHandle {
  const method = readingArgument("store", () => (store as Record<string, unknown> | null | undefined)?.[example]);
  if (typeof method !== "function") throw typeError(otherwise.message);
  const handle = handleOf(store);
  if (handle !== undefined) return handle;
  throw noLeases("recover", otherwise.name);
}

/** Asks the callback whether the failed nodes of a run run again. */
export async function asksForRetry<R>(onFailed: ((run: R) => unknown) | undefined, run: R): Promise<boolean> {
  const decision = await onFailed?.(run);
  if (decision === undefined || decision === "leave") return false;
  if (decision === "retry") return true;
  throw typeError(`onFailed must return "retry", "leave" or nothing, but returned ${show(decision)}`);
}
