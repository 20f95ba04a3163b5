/** The part of `recover` that does not depend on a framework: options, leases, and several runs at the same time. */

import { setTimeout as delay } from "node:timers/promises";
import { ForkpointError, quote, readingArgument, show, typeError } from "../../bridge/errors.js";
import type { StoreHandle } from "../../store/handle.js";
import { handleOf } from "../../store/handles.js";
import { requireIds } from "../../store/ids.js";
import { HeldLease, TTL_MS, ttlOption } from "../../store/lease.js";
import { livingProcess } from "../../store/holder.js";
import type { Identity, Mark } from "../../store/mark.js";
import { atMost, callback, signalOption, whole, type OptionParser, type Parsed } from "../../store/options.js";
import type { RunKey } from "../../bridge/native.js";
import { noLeases } from "./run-lease.js";

/**
 * The status of a run, read from its newest checkpoint. A store cannot know whether a process works on the run.
 *
 * - `"waiting"`: a human's answer is missing.
 * - `"failed"`: a node has failed.
 * - `"unfinished"`: nodes are left to run. The run has crashed, or a process works on it.
 * - `"finished"`: no node is left to run.
 * - `"unknown"`: the checkpoint does not contain the status.
 */
export type RunStatus = "waiting" | "failed" | "unfinished" | "finished" | "unknown";

/** The options of `recover` that every framework has. */
export interface RecoverOptions<R> {
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
  /** How many runs are recovered at the same time. Default: 4. */
  concurrency?: number;
  /**
   * How long the lease of a run is valid, in ms. It is renewed while the run is recovered. After a crash in a recovery on
   * another machine, the run can be recovered again when the lease has expired. After a crash on this machine, it can be
   * recovered immediately. Default: 30,000.
   */
  leaseTtlMs?: number;
  /**
   * How many times in a row the recovery of a run from the same checkpoint may crash the process. Then the run is given
   * up. A process that ends during a recovery counts as crashed, unless it closes the store before, or exits with code 0.
   * Default: 3. Null, 0 and Infinity mean no limit.
   */
  maxAttempts?: number | null;
  /** Ends the recovery. The promise rejects with the signal's reason after the runs in progress have ended. */
  signal?: AbortSignal;
  /**
   * Is called for each run that needed recovery, after the run was recovered or could not be. If it throws, the
   * recovery continues, and the process emits a warning.
   * @example await recover(graph, store, { onRecovered: ({ runId, outcome }) => console.log(runId, outcome) });
   */
  onRecovered?: (run: R) => void;
}

/** A run that was not recovered. */
export type UnrecoveredRun =
  | {
      /** Another process recovered the run first. */
      outcome: "elsewhere";
      /** Names the other process. */
      holder: string;
    }
  | {
      /** The recovery of the run has crashed the process too often. */
      outcome: "gave up";
      /** The number of crashes in a row. */
      crashes: number;
      /** A sentence for people: what happened, and how to try again. */
      message: string;
    }
  | {
      /** Resuming the run threw an error, or an option rejected the run. */
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
      /** A sentence for people: what they can do about it. */
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
};

export function settingsOf(options: Parsed<typeof sharedOptions>): Settings {
  const { idleMs, maxAgeMs, concurrency = 4, leaseTtlMs = TTL_MS, maxAttempts = 3, signal, onRecovered } = options;
  const limits = { maxAgeMs: maxAgeMs ?? Infinity, maxAttempts: maxAttempts ?? Infinity };
  return { idleMs, concurrency, leaseTtlMs, signal, onRecovered, ...limits };
}

/** Returns the handle of a store of this package. `example` is a method that other stores of the framework have too. */
export function handleToRecover(
  store: unknown,
  example: string,
  otherwise: { name: string; message: string },
): StoreHandle {
  const handle = handleOf(store);
  if (handle !== undefined) return handle;
  const method = readingArgument("store", () => (store as Record<string, unknown> | null | undefined)?.[example]);
  throw typeof method === "function" ? noLeases("recover", otherwise.name) : typeError(otherwise.message);
}

/** Asks whether the failed nodes of a run are to run again. */
export async function asksForRetry<R>(onFailed: ((run: R) => unknown) | undefined, run: R): Promise<boolean> {
  const decision = await onFailed?.(run);
  if (decision === undefined || decision === "leave") return false;
  if (decision === "retry") return true;
  throw typeError(`onFailed must return "retry", "leave" or nothing, but returned ${show(decision)}`);
}

/**
 * Recovers runs, several at the same time, and returns their outcomes in the order in which the runs ended.
 * `recoverOne` returns undefined for a run that needs no recovery. An abort rejects with the signal's reason after the
 * runs in progress have ended.
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

/** An error of the callback must not hide the outcomes of the runs. */
function warnOf(error: unknown): void {
  const what = error instanceof Error ? `an error (${error.message})` : show(error);
  const message = `onRecovered threw ${what}: the recovery continued, and its report is complete`;
  process.emitWarning(Object.assign(new Error(message, { cause: error }), { name: "ForkpointWarning" }));
}

/**
 * Works on a run while no other process does, and returns the run's outcome. If another process holds the run's lease,
 * waits until the lease ends, and works on the run if there is something left to do. `newest` returns the id of the
 * newest checkpoint of a run that needs recovery, the outcome of a run that is to be left alone, and null for a run
 * that needs no recovery. `work` gets the lease, which its writes carry. Returns undefined if the run needs no
 * recovery.
 */
export async function underLease<R>(
  { handle, noun }: Pick<Framework<object>, "handle" | "noun">,
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
          // Ignore an error of the release, because the lease then expires. The outcome does not change.
          await lease.release().catch(() => {});
        }
        continue;
      }
      if ("crashes" in lease) {
        const { crashes } = lease;
        const message =
          `the process ended ${crashes} times in a row while it recovered ${noun} ${quote(of.run)}, always from the same ` +
          `checkpoint: find out why, then recover it with { ${noun}s: [${quote(of.run)}], maxAttempts: ${crashes + 1} }`;
        return { outcome: "gave up", crashes, message };
      }
      holder = lease.holder;
      const pause = Math.min(Math.max(lease.leftMs, 1), settings.leaseTtlMs / 3, 1_000);
      await delay(pause, undefined, { signal: settings.signal });
    }
  } catch (error) {
    if (settings.signal?.aborted === true) throw error;
    return { outcome: "error", error };
  }
}

/** An unfinished run, as its newest checkpoint describes it. */
export interface Candidate {
  /** The id of the newest checkpoint. */
  newest: string;
  /** The time of the newest checkpoint, in ms since the epoch. */
  at: number;
  /** The mark of the newest checkpoint. */
  mark: Mark;
  /** A node that runs next and that the graph lacks. */
  missing: string | undefined;
  /** True if no node has failed and none waits. */
  unfinished: boolean;
}

/** The part of `recover` that depends on the framework. */
export interface Framework<T> {
  handle: StoreHandle;
  options: Parsed<typeof sharedOptions>;
  space: string;
  /** How the framework calls a run. */
  noun: "run" | "thread";
  /** The program, or the graph without a name, that recovers its runs. */
  identity: Identity;
  /** The ids of the runs that the caller has named. Undefined: all runs. */
  named: readonly string[] | undefined;
  /** Lists the runs that may need recovery, if the caller has named none. */
  candidates(): AsyncIterable<string>;
  /** Reads the state of a run. Resolves to undefined if nothing is left to do. */
  look(run: string): Promise<Candidate | undefined>;
  /** Continues a run. The writes must carry the lease. */
  work(run: string, lease: HeldLease): Promise<T>;
}

export function recoverRuns<R, T extends object>(framework: Framework<T>): Promise<RecoverReport<R>> {
  const { space, noun } = framework;
  const settings = settingsOf(framework.options);
  const newest = async (run: string) => {
    const found = await framework.look(run);
    if (found === undefined || Date.now() - found.at < (settings.idleMs ?? 0)) return null;
    return refusal(framework, run, found) ?? found.newest;
  };
  return recoverAll(runsOf(framework), settings, async (run) => {
    const of = { space, run, ns: "" };
    const work = (lease: HeldLease) => framework.work(run, lease);
    const ended = await underLease(framework, of, settings, () => newest(run), work);
    return ended && ({ [`${noun}Id`]: run, ...ended } as R);
  });
}

async function* runsOf({
  named,
  candidates,
}: Pick<Framework<unknown>, "named" | "candidates">): AsyncGenerator<string> {
  yield* named ?? candidates();
}

/**
 * Returns why a run is left alone, or undefined if it may be recovered: only a run of the same program, and only if no living
 * process works on it. A caller who names a run has asked for it, and is refused only if the run has the name of another program,
 * or nodes that the graph lacks.
 */
function refusal(
  { options: { idleMs }, noun, identity: { program, shape }, named }: Framework<unknown>,
  id: string,
  { mark, missing, unfinished }: Candidate,
): UnrecoveredRun | undefined {
  const [run, naming] = [`${noun} ${quote(id)}`, `${noun}s: [${quote(id)}]`];
  const own = program === undefined ? "a graph without a name" : quote(program);
  const skipped = (why: Extract<UnrecoveredRun, { outcome: "skipped" }>["why"], message: string): UnrecoveredRun => {
    return { outcome: "skipped", why, program: mark.program ?? null, message };
  };
  if (mark.program !== undefined && mark.program !== program) {
    const message = `${run} was made by the program ${quote(mark.program)}, but this is ${own}: recover it with that program`;
    if (named !== undefined) throw new ForkpointError("INVALID_ARGUMENT", message);
    return skipped("other program", message);
  }
  if (missing !== undefined && (named !== undefined || mark.program !== undefined)) {
    const message = `${run} cannot be recovered, because the graph has no node ${quote(missing)}: recover it with the graph that it ran on`;
    throw new ForkpointError("INVALID_ARGUMENT", message);
  }
  if (named === undefined && mark.program === undefined) {
    if (program !== undefined || mark.shape === undefined) {
      return skipped(
        "unknown origin",
        `the store does not say which program made ${run}, and this is ${own}. If this program made it, recover it with ` +
          `${naming}. To record the program of new runs, create the store with { program: ${quote(program ?? "name")} }, or ` +
          "call recover at each start of the program, before the first run",
      );
    }
    if (mark.shape !== shape) {
      return skipped(
        "other program",
        `${run} ran on a graph whose parts have other names: recover it with that graph. If that graph is an earlier version of ` +
          `this one, recover it with ${naming}`,
      );
    }
  }
  if (named === undefined && mark.branch === true) {
    const message = `the command line or the studio made the newest checkpoint of ${run}: to run the branch, recover it with ${naming}`;
    return skipped("branch", message);
  }
  const pid = unfinished && idleMs === undefined ? livingProcess(mark.by ?? "") : undefined;
  if (pid === undefined) return undefined;
  return skipped(
    "at work",
    `process ${pid} is still running and may be working on ${run}: end that process. Or pass idleMs, to recover only ` +
      "what was saved longer ago than that. It must be longer than your slowest node takes",
  );
}
