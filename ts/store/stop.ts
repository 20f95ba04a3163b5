/** Stops a run from anywhere, and records that it was stopped. */

import { crypto } from "../bridge/crypto.js";
import { typeError } from "../bridge/errors.js";
import { hasEnded } from "../bridge/holder.js";
import type { NativeStore, RunKey } from "../bridge/native.js";
import { traitsOf } from "../contracts/registry.js";
import type { Engine } from "./engine.js";
import { endRun, mayBeStopped, stopsOf } from "./ended-runs.js";
import type { Host } from "./host.js";
import { HeldLease, TTL_MS, leaseOfRun, storeClock } from "./lease.js";
import { type FoundLease, type LeaseRequest, leaseCalls } from "./lease-wire.js";
import { type OptionParser, readRecord, signalOption, whole } from "./options.js";
import { OwnRequest, pollMs } from "./requests.js";
import { type Newest, newestOf } from "./newest.js";
import { hear } from "./hearing.js";
import { Sleeper } from "./wake.js";
import type { StopResult } from "./results.js";

/** Options of `stop()`. */
export interface StopOptions {
  /** Who stops the run, in at most 200 characters. */
  by?: string;
  /** Why, in at most 1,000 characters. */
  reason?: string;
  /** The longest wait for the end of the run, in ms. Default: 10,000. */
  waitMs?: number;
  /** Ends the wait. The request to stop stays. */
  signal?: AbortSignal;
}

/** The maximum lengths of the name of who stops a run, and of the reason, in characters. */
const [NAME, REASON] = [200, 1_000];

const textUpTo =
  (most: number): OptionParser<string> =>
  (value, name) => {
    if (typeof value === "string" && value !== "" && value.length <= most && value.isWellFormed()) return value;
    throw typeError(`${name} must be a text of 1 to ${most} characters`);
  };

/** The options that say who stops a run, and why. */
export const stopperOptions = { by: textUpTo(NAME), reason: textUpTo(REASON) };

export const stopOptions = {
  ...stopperOptions,
  waitMs: whole(0, 2 ** 31 - 1, "milliseconds"),
  signal: signalOption,
};

/** Asks the holder of a run's lease to stop, and waits until it has released the lease. */
export async function stopRun(handle: Host, of: RunKey, options: unknown): Promise<StopResult> {
  const { by = null, reason = null, waitMs = 10_000, signal } = readRecord(options, "options", stopOptions);
  const until = performance.now() + waitMs;
  return handle.run(async ({ native }) => {
    const sleeper = new Sleeper(native, of);
    const deafen = hear(native);
    try {
      return await stopUntil({ handle, native, of, by, reason, until, signal, sleeper });
    } finally {
      sleeper.end();
      deafen();
    }
  }, null);
}

interface Stopping extends Pick<LeaseRequest, "by" | "reason"> {
  handle: Host;
  native: NativeStore;
  of: RunKey;
  /** The end of the wait, on the monotonic clock. */
  until: number;
  signal: AbortSignal | undefined;
  sleeper: Sleeper;
}

async function stopUntil(stopping: Stopping): Promise<StopResult> {
  const { native, of, signal, sleeper } = stopping;
  for (;;) {
    signal?.throwIfAborted();
    sleeper.looks();
    const found = await leaseOfRun(native, of);
    if (found !== null && isLive(found)) return askHolder(stopping, found);
    const other = await recordLater(stopping, false);
    if (other === undefined) return { outcome: "not running", holder: found?.holder ?? null };
    // Another process has just begun to work on the run, or is about to begin.
    if (!(await pause(stopping))) return { outcome: "no answer", holder: other };
  }
}

const isLive = ({ valid, holder }: Pick<FoundLease, "valid" | "holder">): boolean => valid && !hasEnded(holder);

/** Waits for a change of the run's lease. Returns false if the time is over. */
async function pause({ native, until, signal, sleeper }: Stopping): Promise<boolean> {
  const left = until - performance.now();
  if (left <= 0) return false;
  await sleeper.sleep(Math.min(pollMs(native), left), signal);
  return true;
}

async function askHolder(stopping: Stopping, { id, holder }: FoundLease): Promise<StopResult> {
  const { native, of, by, reason, sleeper } = stopping;
  const request = await OwnRequest.store(native, of, crypto().randomUUID(), { what: "stop", lease: id, by, reason });
  let knew = false;
  try {
    for (;;) {
      sleeper.looks();
      const { lease: current, requests } = await leaseCalls.call(native, "read", { of });
      if (current?.id !== id || !isLive(current)) {
        // A holder that knew has removed the request.
        knew = requests.every((each) => each.id !== request.id);
        break;
      }
      await request.checkClock(requests);
      if (!(await pause(stopping))) return { outcome: "no answer", holder };
    }
  } finally {
    // A request that is not withdrawn stays until it expires.
    request.end();
  }
  await recordLater(stopping, knew);
  await request.withdraw();
  return { outcome: "stopped", holder };
}

/**
 * Records that a run was stopped, if no process works on it and its holder has not recorded it. Returns the name of the
 * process that works on the run instead. `asked`: the process that worked on the run knew that it had to stop.
 */
async function recordLater({ handle, of, by, reason }: Stopping, asked: boolean): Promise<string | undefined> {
  if ((await handle.run((engine) => toRecord(engine, of, asked))).length === 0) return undefined;
  const lease = await handle.leasing((engine, own) =>
    HeldLease.take(engine, of, { ttlMs: TTL_MS, scoped: true, passive: true }, own),
  );
  if (!(lease instanceof HeldLease)) return "holder" in lease ? lease.holder : undefined;
  try {
    const savedAt = await handle.run(({ native }) => storeClock(native));
    await recordStop(handle, lease, { by, reason, savedAt }, asked);
  } finally {
    await lease.release().catch(() => {});
  }
  return undefined;
}

/**
 * Records that a run was stopped at its newest checkpoint. A later checkpoint makes it a running one again. Does nothing
 * for a run that has ended or that waits. A run that has failed is only recorded if its process was `asked` to stop.
 */
export async function recordStop(
  handle: Host,
  lease: HeldLease,
  { by, reason, savedAt: at }: Pick<LeaseRequest, "by" | "reason" | "savedAt">,
  asked = true,
): Promise<void> {
  const { of, id } = lease;
  await handle.run(async (engine) => {
    for (const { ns, newest, status } of await toRecord(engine, of, asked)) {
      const stopped = { by, reason, at, lease: id, failed: status === "failed" };
      await endRun(engine.native, { ...of, ns }, { at: newest, stopped });
    }
  }, lease);
}

/** Returns the runs to record as stopped. The first stop of a run counts, so a stopped run is not recorded again. */
async function toRecord(engine: Engine, of: RunKey, asked: boolean): Promise<Newest[]> {
  // The namespace of a subgraph has no status of its own.
  if (of.ns !== "" && traitsOf(of.space).namespaces === "subgraph") return [];
  const open = (await newestOf(engine, of)).filter(
    ({ status }) => mayBeStopped(status) && (asked || status !== "failed"),
  );
  const stops = await stopsOf(engine.native, of.space, open);
  return open.filter((_, at) => stops[at] === null);
}
