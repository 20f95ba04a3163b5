/** Declares the engine's calls for effects. See `engine/src/contract/effect.rs`. */

import type { RunKey } from "../bridge/native.js";
import { Contract, type PackedPart, type Part } from "../bridge/wire.js";

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
  holder: string;
  /** When a running effect counts as left behind, on the store's clock, in ms since the epoch. */
  until: number;
  /** The id of the checkpoint from which the effect was begun. Null: the run had none. */
  base: string | null;
  startedAt: number;
  endedAt: number | null;
  /** What the function has thrown, for people. */
  error: string | null;
}

export interface StoredEffect extends EffectEntry {
  key: string;
  branch: number;
  attempt: number;
  savedAt: number;
}

export interface FoundEffect<P = Part> {
  /** The time on the store's clock. */
  now: number;
  /** The id of the run's newest checkpoint. */
  newest: string | null;
  /** The checkpoint of another run from which the run was forked. */
  origin: { run: string; ns: string; id: string } | null;
  effect: (StoredEffect & { parts: P[] }) | null;
}

interface EffectCalls {
  find(fields: { effect: EffectAddress }): FoundEffect<PackedPart>;
  begin(fields: {
    effect: EffectAddress;
    seen: { attempt: number; savedAt: number } | undefined;
    attempt: number;
    entry: EffectEntry;
    savedAt: number;
  }): null;
  /** Takes a buffer if there is a result. */
  write(fields: {
    effect: EffectAddress;
    attempt: number;
    entry: EffectEntry;
    result: { name: string; tag: string } | undefined;
    savedAt: number;
  }): null;
  /** `now` is the time on the store's clock. */
  list(fields: { of: RunKey }): { now: number; effects: StoredEffect[] };
  remove(fields: { effects: EffectAddress[] }): null;
  /**
   * Where the checkpoint `base` is, as seen from `at` or, without it, from the newest. Looks at `limit` checkpoints, after
   * those of the call before.
   */
  place(fields: {
    of: RunKey;
    base: string;
    at: string | undefined;
    after: Walked | undefined;
    limit: number;
  }): PlaceOfCheckpoint | { further: Walked };
}

export type PlaceOfCheckpoint = "same" | "before" | "beside" | "unknown" | "noSuchCheckpoint";

interface Walked {
  place: string;
  ancestor: string | null;
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
