/** Wakes the calls of this process that wait for a change of a run's lease. Other processes are noticed by looking. */

import type { NativeStore, RunKey } from "../bridge/native.js";
import { RunMap } from "../bridge/run-map.js";

/** The calls to wake. */
const sleeping = new RunMap<Set<() => void>>();

/** Calls `wake` when this process changes the lease of a run, until the returned function is called. */
export function onWake(native: NativeStore, of: RunKey, wake: () => void): () => void {
  const all = sleeping.get(native, of) ?? new Set();
  sleeping.set(native, of, all.add(wake));
  return () => {
    all.delete(wake);
    if (all.size === 0) sleeping.delete(native, of, all);
  };
}

/** Wakes the calls that wait for a change of a run's lease. */
export function wakeAll(native: NativeStore, of: RunKey): void {
  for (const wake of sleeping.get(native, of) ?? []) wake();
}

/** Waits until this process changes the lease of a run, but at most `ms`. Rejects with the reason of the signal. */
export function sleep(native: NativeStore, of: RunKey, ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(end, ms);
    const forget = onWake(native, of, end);
    const abort = () => end(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    if (signal?.aborted) abort();
    function end(reason?: unknown): void {
      clearTimeout(timer);
      forget();
      signal?.removeEventListener("abort", abort);
      if (signal?.aborted) reject(reason);
      else resolve();
    }
  });
}
