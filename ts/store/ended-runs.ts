/** Runs that a program has ended permanently, or that somebody has stopped. See `engine/src/contract/program.rs`. */

import type { CallsOf } from "../bridge/calls.js";
import type * as engine from "../bridge/calls.generated.js";
import type { NativeStore, RunKey } from "../bridge/native.js";
import { Contract } from "../bridge/wire.js";
import type { Newest } from "./newest.js";
import type { RunStop } from "./results.js";

/** A run that a program has ended permanently, or that somebody has stopped. */
export interface EndedRun {
  /** The newest checkpoint when the run ended: {@link Newest.newest}. A later one makes the run open again. */
  at: string;
  /** The fork that continues the run, until the fork has its own checkpoint. */
  fork?: PendingFork | undefined;
  /** Set if somebody has stopped the run. */
  stopped?: StopEntry;
}

/** The stop of a run. */
interface StopEntry extends RunStop {
  /**
   * The id of the lease under which it was recorded. A later lease that was not released belongs to a process that
   * continues the run, or that has crashed.
   */
  lease: string;
  /** True if a node had failed, for example because of the stop. */
  failed: boolean;
}

/** A fork that may not exist yet. */
export interface PendingFork {
  /** The id of the checkpoint that the fork begins from. */
  from: string;
  /** The ids of the fork and of its first checkpoint. */
  run: string;
  id: string;
}

type ProgramCalls = CallsOf<engine.program.Call, engine.program.Responses>;

export const programCalls = new Contract<ProgramCalls>("program", {
  kinds: { describe: null, read: null, list: null, end: null, ended: null, reopen: null },
  subject: ({ space, run }) => ({ space, run }),
});

/** Names a run of a contract. `ns`: only if a namespace is part of its name. */
type Of = Omit<RunKey, "ns"> & { ns?: string };

/**
 * Records that a run has ended. No program recovers the run again, unless it has a later checkpoint. `native` carries
 * the lease of the run.
 */
export async function endRun(native: NativeStore, { space, run, ns = "" }: Of, ended: EndedRun): Promise<void> {
  const fields = { space, run, ns, ended: JSON.stringify(ended), savedAt: Date.now() };
  await programCalls.call(native, "end", fields);
}

/** Removes the entry of a run that continues. */
export async function reopenRun(native: NativeStore, { space, run, ns = "" }: Of): Promise<void> {
  await programCalls.call(native, "reopen", { space, run, ns });
}

/** Removes the entry of a run if somebody has stopped it. The entry of a run that its program has ended stays. */
export async function continueStopped(native: NativeStore, { space, run, ns = "" }: Of): Promise<void> {
  const [entry] = await programCalls.call(native, "ended", { space, runs: [{ run, ns }] });
  if (entry == null || (JSON.parse(entry.text) as EndedRun).stopped === undefined) return;
  await reopenRun(native, { space, run, ns });
}

/**
 * Reads the entry of {@link endRun} for a run, as a text. `ended` is null if there is none or the run has continued.
 * `own` is the id of the caller's lease.
 */
export async function endOf(
  native: NativeStore,
  { space, run, ns = "" }: Of,
  { newest, status }: Pick<Newest, "newest" | "status">,
  own?: string,
): Promise<{ entry: string | null; ended: EndedRun | null }> {
  const [found] = await programCalls.call(native, "ended", { space, runs: [{ run, ns }] });
  if (found == null) return { entry: null, ended: null };
  const { text: entry, lease } = found;
  const ended = JSON.parse(entry) as EndedRun;
  const { at, stopped } = ended;
  const counts = at === newest && (stopped === undefined || isStopped(stopped, status, lease, own));
  return { entry, ended: counts ? ended : null };
}

/**
 * Returns the stop of each run: its author, time and reason. Null: the run is not stopped. Asks the store only if a run may be
 * stopped, and in one call.
 */
export async function stopsOf(
  native: NativeStore,
  space: string,
  runs: ReadonlyArray<Newest | null>,
): Promise<Array<RunStop | null>> {
  const asked = runs.filter((run) => run !== null && mayBeStopped(run.status)) as Newest[];
  if (asked.length === 0) return runs.map(() => null);
  const fields = { space, runs: asked.map(({ run, ns }) => ({ run, ns })) };
  const entries = await programCalls.call(native, "ended", fields);
  const stops = new Map<Newest | null, RunStop>();
  for (const [at, run] of asked.entries()) {
    const entry = entries[at]!;
    if (entry === null) continue;
    const { at: id, stopped } = JSON.parse(entry.text) as EndedRun;
    if (id !== run.newest || stopped === undefined || !isStopped(stopped, run.status, entry.lease)) continue;
    const { by, reason, at: time } = stopped;
    stops.set(run, { by, reason, at: time });
  }
  return runs.map((run) => stops.get(run) ?? null);
}

/** The stored statuses of runs that may be stopped. */
const STOPPABLE = ["unfinished", "failed"] as const;

export const mayBeStopped = (status: string): boolean => (STOPPABLE as readonly string[]).includes(status);

/** Returns the stored statuses of the runs that may have one of these statuses. */
export function storedStatuses<S extends string>(statuses: readonly S[]): Array<Exclude<S, "stopped">> {
  const stored = statuses.flatMap((status): string[] => (status === "stopped" ? [...STOPPABLE] : [status]));
  return [...new Set(stored)] as Array<Exclude<S, "stopped">>;
}

/** True if only the entries of ended runs tell which runs with these stored statuses have one of these statuses. */
export function dependsOnStops(statuses: readonly string[]): boolean {
  const asked = [...STOPPABLE, "stopped"].filter((status) => statuses.includes(status));
  return asked.length > 0 && asked.length <= STOPPABLE.length;
}

/** `lease` is the id of the run's lease, even if it has expired. */
function isStopped(stop: StopEntry, status: string, lease: string | null, own?: string): boolean {
  if (lease !== null && lease !== stop.lease && lease !== own) return false;
  // A run that was continued may have failed since, or ask a question.
  return status === "unfinished" || (status === "failed" && stop.failed);
}
