/** Wakes the calls of this process that wait for a change of a run's lease. `hearing.ts` hears of other processes. */

import type { NativeStore, RunKey } from "../bridge/native.js";
import { RunMap } from "../bridge/run-map.js";

/** The calls to wake. */
const sleeping = new RunMap<Set<() => void>>();

/** Calls `wake` when the lease of a run changes, until the returned function is called. */
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

/** Wakes the calls that wait for a change of any lease of a store. */
export function wakeStore(native: NativeStore): void {
  for (const all of sleeping.values(native)) for (const wake of all) wake();
}

/** Waits for changes of a run's lease. A change while the caller looks is not missed: it ends the next sleep. */
export class Sleeper {
  readonly #forget: () => void;
  #changed = false;
  #wake: (() => void) | undefined;

  constructor(native: NativeStore, of: RunKey) {
    this.#forget = onWake(native, of, () => {
      this.#changed = true;
      this.#wake?.();
    });
  }

  /** Call this before each look: the changes so far don't end the next sleep. */
  looks(): void {
    this.#changed = false;
  }

  /** Waits for a change since the last look, but at most `ms`. Rejects with the reason of the signal. */
  sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(end, this.#changed ? 0 : ms);
      this.#wake = end;
      signal?.addEventListener("abort", end, { once: true });
      if (signal?.aborted) end();
      function end(): void {
        clearTimeout(timer);
        signal?.removeEventListener("abort", end);
        if (signal?.aborted) reject(signal.reason as Error);
        else resolve();
      }
    });
  }

  end(): void {
    this.#forget();
  }
}
