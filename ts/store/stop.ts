/** Stops a run from anywhere, and records that it was stopped. */

import { crypto } from "../bridge/crypto.js";
import { hasEnded } from "../bridge/holder.js";
import type { NativeStore, RunKey } from "../bridge/native.js";
import { endRun } from "./ended-runs.js";
import type { Host } from "./host.js";
import { text } from "./ids.js";
import { HeldLease, TTL_MS, leaseOfRun, storeClock } from "./lease.js";
import type { FoundLease, LeaseRequest } from "./lease-wire.js";
import { readRecord, signalOption, whole } from "./options.js";
import { OwnRequest, type Wish, pollMs } from "./requests.js";
import { newestId } from "./newest.js";
import { hear } from "./hearing.js";
import { Sleeper } from "./wake.js";

/** Options of `stop()`. */
export interface StopOptions {
  /** Who stops the run. */
  by?: string;
  /** Why. */
  reason?: string;
  /** The longest wait for the end of the run, in ms. Default: 10,000. */
  waitMs?: number;
  /** Ends the wait. The request to stop stays. */
  signal?: AbortSignal;
}

export interface StopResult {
  /**
   * - `"stopped"`: the run has ended.
   * - `"not running"`: no process worked on the run. If a process that has ended left it unfinished, it counts as
   *   stopped from now on.
   * - `"no answer"`: the process did not end the run in `waitMs`. It may be too busy, not listen, or have lost its
   *   connection. It still stops when it notices the request.
   */
  outcome: "stopped" | "not running" | "no answer";
  /** The process that works on the run, or has worked on it. */
  holder: string | null;
}

const stopOptions = {
  by: (value: unknown, name: string) => text(value, name),
  reason: (value: unknown, name: string) => text(value, name),
  waitMs: whole(0, 2 ** 31 - 1, "milliseconds"),
  signal: signalOption,
};

/** Asks the holder of a run's lease to stop, and waits until it has released the lease. */
export async function stopRun(handle: Host, of: RunKey, options: unknown): Promise<StopResult> {
  const { by = null, reason = null, waitMs = 10_000, signal } = readRecord(options, "options", stopOptions);
  const until = performance.now() + waitMs;
  const wish = (lease: string): Wish => ({ what: "stop", lease, by, reason });
  return handle.run(async ({ native }) => {
    signal?.throwIfAborted();
    const found = await leaseOfRun(native, of);
    const lives = found !== null && found.valid && !hasEnded(found.holder);
    if (!lives) {
      await recordLater(handle, of, wish(""));
      return { outcome: "not running", holder: found?.holder ?? null };
    }
    const { id, holder } = found;
    await OwnRequest.store(native, of, crypto().randomUUID(), wish(id));
    if (!(await isReleased(native, of, found, until, signal))) return { outcome: "no answer", holder };
    await recordLater(handle, of, wish(""));
    return { outcome: "stopped", holder };
  }, null);
}

/** Waits until a lease is released or its process has ended. Returns false if that takes too long. */
async function isReleased(
  native: NativeStore,
  of: RunKey,
  { id, holder }: FoundLease,
  until: number,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const sleeper = new Sleeper(native, of);
  const deafen = hear(native);
  try {
    for (;;) {
      sleeper.looks();
      const current = await leaseOfRun(native, of);
      if (current?.id !== id || hasEnded(holder)) return true;
      const left = until - performance.now();
      if (left <= 0) return false;
      await sleeper.sleep(Math.min(pollMs(native), left), signal);
    }
  } finally {
    sleeper.end();
    deafen();
  }
}

/** Records that a run was stopped, if no process works on it and its holder has not recorded it. */
async function recordLater(handle: Host, of: RunKey, wish: Wish): Promise<void> {
  const lease = await handle.leasing((engine, own) => HeldLease.take(engine, of, { ttlMs: TTL_MS }, own));
  // Another process continues the run.
  if (!(lease instanceof HeldLease)) return;
  try {
    const savedAt = await handle.run(({ native }) => storeClock(native));
    await recordStop(handle, lease, { ...wish, savedAt });
  } finally {
    await lease.release().catch(() => {});
  }
}

/** Records that a run was stopped at its newest checkpoint. A later checkpoint makes it a running one again. */
export async function recordStop(
  handle: Host,
  lease: HeldLease,
  { by, reason, savedAt: at }: Pick<LeaseRequest, "by" | "reason" | "savedAt">,
): Promise<void> {
  const { of } = lease;
  await handle.run(async (engine) => {
    const newest = await newestId(engine, of);
    if (newest !== null) await endRun(engine.native, of, { at: newest, stopped: { by, reason, at } });
  }, lease);
}
