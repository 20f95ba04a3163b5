/** Declares the engine's calls for effects. See `engine/src/contract/effect.rs`. */

import type { RunKey } from "../bridge/native.js";
import { Contract, type Exact, type PackedPart, type Part } from "../bridge/wire.js";

/** Names an effect of a run. `branch` is 0 for the first effect with this key. */
export interface EffectAddress {
  of: RunKey;
  key: string;
  branch: number;
}

/**
 * - `"running"`: a process has begun it and has not recorded its end.
 * - `"done"`: the result is recorded.
 * - `"failed"`: the function has thrown. The next call runs it again.
 * - `"error"`: the function has thrown, and the error is recorded in place of a result.
 */
export type EffectState = "running" | "done" | "failed" | "error";

/** What is stored of an effect beside its result. */
export interface EffectEntry {
  state: EffectState;
  idempotencyKey: string;
  /** How many attempts were begun. */
  attempts: number;
  holder: string;
  /** When a running effect counts as left behind, on the store's clock, in ms since the epoch. */
  until: number;
  /** The id of the checkpoint from which the effect was begun. Null: the run had none. */
  base: string | null;
  /** The id of an ancestor that was stored when `base` may not have been. Null: `newest`. */
  from: string | null;
  /** The id of the newest checkpoint of the run when the effect was begun. */
  newest: string | null;
  startedAt: number;
  endedAt: number | null;
  /** What the function has thrown, for people. */
  error: string | null;
}

export interface StoredEffect extends EffectEntry {
  key: string;
  branch: number;
  /** A process that takes the effect over writes a greater number. */
  token: number;
  savedAt: number;
}

/** Which effects belong to a call that comes late: see `Joins` in `engine/src/contract/effect.rs`. */
export type Joins = "checkpoint" | "run";

/** Where an effect is: see `Place` in `engine/src/contract/effect.rs`. */
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
  /** The incarnation of the run. Null: nothing of it is stored. */
  incarnation: Exact | null;
  /** The checkpoint of another run from which the run was forked. */
  origin: { run: string; ns: string; id: string } | null;
  /** True if the run has an effect with the same key and the next number. */
  more: boolean;
  effect: (StoredEffect & { parts: P[] }) | null;
}

interface EffectCalls {
  find(fields: { effect: EffectAddress }): FoundEffect<PackedPart>;
  /** This call and the next take a buffer if there is a result. */
  begin(fields: {
    effect: EffectAddress;
    seen: { token: number; savedAt: number } | undefined;
    token: number;
    entry: EffectEntry;
    result: { name: string; tag: string } | undefined;
    savedAt: number;
    /** If given, the newest checkpoint of the run must be this one. */
    newest?: string;
    /** If given, the run must have this incarnation. */
    incarnation?: Exact | undefined;
  }): null;
  write(fields: {
    effect: EffectAddress;
    token: number;
    entry: EffectEntry;
    result: { name: string; tag: string } | undefined;
    savedAt: number;
  }): null;
  /** `now` is the time on the store's clock. */
  list(fields: { of: RunKey }): { now: number; effects: StoredEffect[] };
  /** With `tokens`, each effect must still have its token. */
  remove(fields: { effects: EffectAddress[]; tokens?: number[] }): null;
  place(fields: {
    of: RunKey;
    base: string;
    newest: string | undefined;
    at: string;
    from: string | undefined;
    past: boolean;
    joins: Joins | undefined;
  }): EffectSide;
}

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
