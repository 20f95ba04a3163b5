/** The engine's calls for effects. See `engine/src/contract/effect.rs`. */

import type { CallsOf, Narrowed } from "../bridge/calls.js";
import type * as engine from "../bridge/calls.generated.js";
import { Contract, type Exact, type PackedPart, type Part } from "../bridge/wire.js";

export type EffectAddress = engine.effect.Address;

/**
 * - `"running"`: a process has begun it and has not recorded its end.
 * - `"done"`: the result is recorded.
 * - `"failed"`: the function threw. The next call runs it again.
 * - `"error"`: the function threw, and the error is recorded in place of a result.
 */
export type EffectState = "running" | "done" | "failed" | "error";

/** The stored data of an effect, without its result. */
export interface EffectEntry {
  state: EffectState;
  idempotencyKey: string;
  /** The number of attempts. */
  attempts: number;
  holder: string;
  /** The time at which a running effect counts as abandoned, in ms since the epoch on the store's clock. */
  until: number;
  /** The id of the checkpoint that the effect began from. Null: the run had none. */
  base: string | null;
  /** The id of a stored ancestor, because `base` may not have been stored yet. Null: `newest`. */
  from: string | null;
  /** The id of the run's newest checkpoint when the effect began. */
  newest: string | null;
  startedAt: number;
  endedAt: number | null;
  /** The error of the function, for people. */
  error: string | null;
}

export interface StoredEffect extends EffectEntry {
  key: string;
  branch: number;
  /** A process that takes the effect over writes a greater token. */
  token: number;
  savedAt: number;
}

export type Joins = engine.effect.Joins;

/** The position of an effect: see `Position` in `engine/src/contract/effect.rs`. */
export interface EffectSide {
  at: "here" | "before" | "beside" | "unknown" | "left";
  stored: boolean;
  parent: string | null;
}

export interface FoundEffect<P = Part> {
  /** The time on the store's clock. */
  now: number;
  /** The id of the run's newest checkpoint. */
  newest: string | null;
  /** The incarnation of the run. Null: nothing of the run is stored. */
  incarnation: Exact | null;
  /** The checkpoint of another run from which the run was forked. */
  origin: { run: string; ns: string; id: string } | null;
  /** True if the run has an effect with the same key and the next number. */
  more: boolean;
  effect: (StoredEffect & { parts: P[] }) | null;
}

type EffectCalls = CallsOf<
  Narrowed<engine.effect.Call, { entry: EffectEntry }>,
  {
    find: FoundEffect<PackedPart>;
    begin: null;
    write: null;
    /** `now` is the time on the store's clock. */
    list: { now: number; effects: StoredEffect[] };
    remove: null;
    place: EffectSide;
  }
>;

export const effectCalls = new Contract<EffectCalls>("effect", {
  prefix: "effect",
  kinds: { begin: "save", write: "save", remove: "prune" },
  // The key of an effect may hold personal data, so it is not published.
  subject: ({ effect, effects, of }) => {
    const key = of ?? effect?.of ?? effects?.[0]?.of;
    return { space: key?.space, run: key?.run, ns: key?.ns };
  },
  counts: {
    list: ({ effects }) => effects.length,
    remove: (_, { effects }) => effects.length,
  },
});
