/** Recovers runs: several at the same time, each under its lease, and only those that this program may continue. */

import { setTimeout as delay } from "node:timers/promises";
import { type ForkpointError, quote, show } from "../../bridge/errors.js";
import type { RunKey } from "../../bridge/native.js";
import { publishStranded } from "../../bridge/strandings.js";
import { finishUndo, recovering } from "../../store/scope.js";
import { HeldLease, holdersOf } from "../../store/lease.js";
import { endOf, reopenRun } from "../../store/ended-runs.js";
import { describeProgram } from "../../store/stored-programs.js";
import { Attempt } from "./attempt.js";
import { Changes } from "./changes.js";
import type { Candidate, Framework } from "./framework.js";
import { refusal } from "./origin.js";
import { type RecoverReport, type Settings, type UnrecoveredRun, settingsOf } from "./recover-options.js";

export async function recoverRuns<R, T extends object>(framework: Framework<T>): Promise<RecoverReport<R>> {
  const { space, noun, handle, program, shape } = framework;
  const settings = settingsOf(framework.options);
  const named = (run: string, ended: T | UnrecoveredRun) => ({ [`${noun}Id`]: run, ...ended }) as R;
  const { signal, idleMs = 0, dryRun } = settings;
  signal?.throwIfAborted();
  if (!dryRun) await describeProgram(handle, space, shape, program);
  const native = await handle.run(async (engine) => engine.native);
  const changes = new Changes(framework, settings);
  const of = (run: string) => ({ space, run, ns: "" });
  /** The entries of runs that continue nevertheless: see `ts/store/ended-runs.ts`. */
  const entries = new Map<string, string>();
  const newest = async (run: string, lease?: HeldLease) => {
    const found = await framework.look(run);
    // If the clock has stepped back, the age of the run is unknown.
    if (found === undefined || Math.max(0, Date.now() - found.at) < idleMs) return null;
    const { newest, stored: status = found.status } = found;
    const { entry, ended } = await handle.run(({ native }) => endOf(native, of(run), { newest, status }, lease?.id));
    // The lease of a crashed process, which told that the run was continued, may be gone.
    const isKnown = lease !== undefined && entry !== null && entries.get(run) === entry;
    if (ended !== null && ended.fork === undefined && !isKnown && framework.named === undefined) return null;
    if (entry === null) entries.delete(run);
    else entries.set(run, entry);
    const from = await changes.shapeOf(found.mark);
    return refusal(framework, run, found, from) ?? (await changes.judge(run, found, from, ended)) ?? found;
  };
  const report = await recoverAll(runsOf(framework), settings, async (run, begin) => {
    if (dryRun) return (await wouldRecover(framework, run, () => newest(run))).map((ended) => named(run, ended));
    const forks: R[] = [];
    const recoverFork = async (fork: string, lease: HeldLease) => {
      const lookAtFork = async () => (await framework.look(fork)) ?? null;
      const work = (held: HeldLease) => framework.work(fork, held);
      // A fork in the run itself has the lease of the run.
      const ended = await (fork === run ? work(lease) : underLease(framework, of(fork), settings, lookAtFork, work));
      if (ended !== undefined && !(ended instanceof Suspect)) forks.push(named(fork, ended));
    };
    const work = async (lease: HeldLease) => {
      const left = await changes.apply(run, lease, recoverFork);
      if (left !== undefined) return left;
      // The run continues. If it was stopped, it is an unfinished run from now on, also after a crash.
      if (entries.delete(run)) await handle.run(({ native }) => reopenRun(native, of(run)), lease);
      return framework.work(run, lease);
    };
    const look = (lease?: HeldLease) => newest(run, lease);
    const ended = await underLease(framework, of(run), settings, look, work, begin);
    if (ended instanceof Suspect) return ended;
    return ended === undefined ? [] : [named(run, ended), ...forks];
  });
  if (!dryRun && framework.named === undefined && program !== undefined) {
    const runs = report.runs.filter((ended) => isLeft(ended as Partial<UnrecoveredRun>)).length;
    publishStranded(native, { space, program, runs });
  }
  return report;
}

/** Returns true for a run that nobody continues until a version that it fits does. */
const isLeft = (ended: Partial<UnrecoveredRun>): boolean =>
  ended.outcome === "changed" && "decision" in ended && ended.decision === "leave";

/** Returns what `recover` would do with a run. */
async function wouldRecover(
  { handle, space, asks }: Framework<object>,
  run: string,
  newest: () => Promise<Candidate | UnrecoveredRun | null>,
): Promise<UnrecoveredRun[]> {
  try {
    const found = await newest();
    if (found === null) return [];
    if ("outcome" in found) return [found];
    const [lease] = await handle.run(({ native }) => holdersOf(native, space, [run]));
    const { status } = found;
    if (lease) return [{ outcome: "elsewhere", holder: lease.holder }];
    if (status === "unfinished") return [{ outcome: "would resume", status }];
    return [{ outcome: asks[status] ? "would ask" : "would leave", status }];
  } catch (error) {
    return [{ outcome: "error", error }];
  }
}

async function* runsOf({
  named,
  candidates,
}: Pick<Framework<unknown>, "named" | "candidates">): AsyncGenerator<string> {
  yield* named ?? candidates();
}

/** A run whose last recovery crashed the process. `crashes` counts the crashes in which it was recovered alone. */
export class Suspect {
  constructor(readonly crashes: number) {}
}

/** Begins a recovery: of a suspect, or of a run that is not a suspect. */
type Begin = typeof Attempt.together;

/**
 * Recovers runs concurrently. Then recovers the suspects one by one, those with the fewest crashes first. Returns the
 * outcomes in the order in which the runs ended. `recoverOne` returns nothing for a run that needs no recovery. An
 * abort rejects with the signal's reason after the runs in progress have ended.
 */
export async function recoverAll<R>(
  runs: AsyncIterable<string>,
  { concurrency, signal, onRecovered, dryRun }: Settings,
  recoverOne: (run: string, begin: Begin) => Promise<R[] | Suspect>,
): Promise<{ runs: R[]; checked: number }> {
  const results: R[] = [];
  const suspects: Array<{ run: string; crashes: number }> = [];
  let checked = 0;
  const each = async (iterator: AsyncIterator<string> | Iterator<string>, begin: Begin) => {
    const worker = async () => {
      for (;;) {
        signal?.throwIfAborted();
        const { value: run, done } = await iterator.next();
        if (done === true) return;
        const ended = await recoverOne(run, begin);
        if (ended instanceof Suspect) suspects.push({ run, crashes: ended.crashes });
        else for (const result of ended) report(result);
      }
    };
    const ended = await Promise.allSettled(Array.from({ length: concurrency }, worker));
    for (const end of ended) if (end.status === "rejected") throw end.reason;
  };
  const report = (result: R) => {
    results.push(result);
    const tell = async () => (onRecovered as ((run: R) => unknown) | undefined)?.(result);
    if (!dryRun) void tell().catch(warnOf);
  };
  const counted = async function* () {
    for await (const run of runs) {
      checked += 1;
      yield run;
    }
  };
  await each(counted(), Attempt.together);
  const waiting = suspects.toSorted((a, b) => a.crashes - b.crashes).map(({ run }) => run);
  await each(waiting.values(), Attempt.alone);
  return { runs: results, checked };
}

/** Warns of an error of the callback. The error must not hide the outcomes of the runs. */
function warnOf(error: unknown): void {
  const what = error instanceof Error ? `an error (${error.message})` : show(error);
  const message = `onRecovered threw ${what}: the recovery continued, and its report is complete`;
  process.emitWarning(Object.assign(new Error(message, { cause: error }), { name: "ForkpointWarning" }));
}

/** The pauses between attempts to take a lease, in ms. The inspector holds a lease briefly, to store an answer. */
const [SHORTEST_WAIT, LONGEST_WAIT] = [50, 1_000];

/**
 * Works on a run under its lease, and returns the outcome. If another process holds the lease, waits for the end of the
 * lease and works on the run if it still needs recovery. `newest` returns a run to recover, the outcome of a run to
 * leave alone, or null. It gets the lease, if it was taken. `work` gets the lease for its writes. Returns undefined if the run needs no recovery. Returns a
 * suspect that must be recovered alone, unless `begin` is `Attempt.alone`.
 */
export async function underLease<R>(
  { handle, noun }: Pick<Framework<object>, "handle" | "noun">,
  of: RunKey,
  settings: Settings,
  newest: (lease?: HeldLease) => Promise<Pick<Candidate, "newest"> | UnrecoveredRun | null>,
  work: (lease: HeldLease) => Promise<R>,
  begin: Begin = Attempt.together,
): Promise<R | UnrecoveredRun | Suspect | undefined> {
  const { leaseTtlMs: ttlMs, maxAttempts, signal } = settings;
  let holder: string | undefined;
  let wait = SHORTEST_WAIT;
  try {
    const own = handle.scopeOf(of)?.fence;
    if (HeldLease.is(own)) {
      // The caller works on the run alone already: see `exclusive()`.
      const found = await newest(own);
      if (found === null) return undefined;
      return "outcome" in found ? found : await untilStopped(own, work);
    }
    for (;;) {
      const found = await newest();
      if (found === null) return holder === undefined ? undefined : { outcome: "elsewhere", holder };
      if ("outcome" in found) return found;
      const from = found.newest;
      const attempt = await begin(signal);
      let pause: number;
      try {
        const { takesSuspects } = attempt;
        const lease = await attempt.take((beside) =>
          handle.leasing((engine, own) =>
            HeldLease.take(engine, of, { ttlMs, scoped: true, from, maxAttempts, beside, takesSuspects }, own),
          ),
        );
        if (lease instanceof HeldLease) {
          try {
            if (lease.undoes) await finishUndo(handle, lease);
            // Another process may have recovered the run just before this one took the lease.
            const now = await newest(lease);
            if (now !== null && "newest" in now && now.newest === from)
              return await attempt.work(() => recovering(handle, lease, () => untilStopped(lease, work)));
            holder ??= "another process";
          } finally {
            // Ignore an error of the release, because the lease then expires. The outcome does not change.
            await lease.release().catch(() => {});
          }
          continue;
        }
        if ("suspected" in lease) return new Suspect(lease.suspected);
        if ("crashes" in lease) return gaveUp(noun, of.run, lease.crashes);
        holder = lease.holder;
        pause = Math.min(Math.max(lease.leftMs, 1), ttlMs / 3, wait);
      } finally {
        attempt.end();
      }
      wait = Math.min(wait * 2, LONGEST_WAIT);
      await delay(pause, undefined, { signal });
    }
  } catch (error) {
    if (signal?.aborted === true) throw error;
    return { outcome: "error", error };
  }
}

/** Works on a run until the work ends, or until somebody stops it. */
async function untilStopped<R>(
  lease: HeldLease,
  work: (lease: HeldLease) => Promise<R>,
): Promise<R | Extract<UnrecoveredRun, { outcome: "stopped" }>> {
  try {
    const ended = await work(lease);
    // A node may fail because of the stop. Work that is rolled back has no outcome.
    const isOver = (ended as { outcome?: unknown }).outcome !== "failed" && lease.stop?.what !== "rollback";
    if (lease.stop === undefined || isOver) return ended;
  } catch (error) {
    if (lease.stop === undefined || lease.lost) throw error;
  }
  const { stopped } = lease.signal.reason as ForkpointError;
  return { outcome: "stopped", stopped: stopped! };
}

function gaveUp(noun: string, run: string, crashes: number): UnrecoveredRun {
  const message =
    `the process ended ${crashes} times in a row while it recovered only ${noun} ${quote(run)}, always from the same ` +
    `checkpoint: find out why, then recover it with { ${noun}s: [${quote(run)}], maxAttempts: ${crashes + 1} }`;
  return { outcome: "gave up", crashes, message };
}
