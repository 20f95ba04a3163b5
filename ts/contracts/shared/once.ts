/** Makes `context.once`: the effects of the run that a step or a node belongs to. See `forkpoint/effects`. */

import { crypto } from "../../bridge/crypto.js";
import type { StoreHandle } from "../../store/handle.js";
import type { HeldLease } from "../../store/lease.js";
import type { EffectAttempt, EffectOptions } from "../../store/effect-options.js";
import type { EffectPlace } from "../../store/effect-places.js";
import { noEffects } from "./run-lease.js";

/**
 * Runs a function once for each key of the run, and stores its result before it resolves: see `Once` of `forkpoint/effects`.
 * If the run stores nothing, the function runs each time.
 */
export type ContextOnce = <T>(
  key: string,
  effect: (attempt: EffectAttempt) => T | Promise<T>,
  options?: EffectOptions<T>,
) => Promise<T>;

/** The effects of a run. */
export interface RunEffects {
  /** Undefined: the run stores nothing. Null: its store is not a store of this package. */
  handle: StoreHandle | undefined | null;
  /** The class of store that a run with effects needs. */
  store: string;
  place(): EffectPlace;
  lease(): HeldLease | undefined;
}

/** `given` are the options that the context sets. */
export function onceOf({ handle, store, place, lease }: RunEffects, given: EffectOptions<any>): ContextOnce {
  return async (key, effect, options) => {
    if (handle === null) throw noEffects(store);
    const all = options === undefined ? given : { ...given, ...options };
    if (handle !== undefined) return handle.effects(lease).once(place, key, effect, all);
    const signal = all.signal ?? new AbortController().signal;
    return effect({ idempotencyKey: crypto().randomUUID(), attempt: 0, signal });
  };
}
