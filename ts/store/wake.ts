/** Wakes the calls of this process that wait for a change of a run's lease. Other processes are noticed by looking. */

import type { NativeStore, RunKey } from "../bridge/native.js";

/** Calls to wake, by the store's data and by the run. */
const sleeping = new Map<unknown, Map<string, Set<() => void>>>();

/** The identity of the data: a path, or the store itself in memory. */
const dataOf = (native: NativeStore): unknown => native.databasePath ?? native.handle;
const keyOf = ({ space, run, ns }: RunKey): string => JSON.stringify([space, run, ns]);

/** Calls `wake` when this process changes the lease of a run, until the returned function is called. */
export function onWake(native: NativeStore, of: RunKey, wake: () => void): () => void {
  const [data, key] = [dataOf(native), keyOf(of)];
  const runs = sleeping.get(data) ?? new Map<string, Set<() => void>>();
  sleeping.set(data, runs);
  const all = runs.get(key) ?? new Set();
  runs.set(key, all.add(wake));
  return () => {
    all.delete(wake);
    if (all.size === 0 && runs.get(key) === all) runs.delete(key);
    if (runs.size === 0 && sleeping.get(data) === runs) sleeping.delete(data);
  };
}

/** Wakes the calls that wait for a change of a run's lease. */
export function wakeAll(native: NativeStore, of: RunKey): void {
  for (const wake of [...(sleeping.get(dataOf(native))?.get(keyOf(of)) ?? [])]) wake();
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
