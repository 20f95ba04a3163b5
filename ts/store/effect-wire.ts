/** The engine's calls for effects. See `engine/src/contract/effect.rs`. */

import type { CallsOf } from "../bridge/calls.js";
import type * as engine from "../bridge/calls.generated.js";
import type { NativeStore } from "../bridge/native.js";
import { Contract, type Unpacked } from "../bridge/wire.js";

export type EffectAddress = engine.effect.Address;

/**
 * - `"running"`: a process has begun it and has not recorded its end.
 * - `"done"`: the result is recorded.
 * - `"failed"`: the function threw. The next call runs it again.
 * - `"error"`: the function threw, and the error is recorded in place of a result.
 */
export type EffectState = "running" | "done" | "failed" | "error";

/** The stored data of an effect, without its result. */
export type EffectEntry = engine.effect.EffectEntry;

export type StoredEffect = Omit<engine.effect.Effect, "parts">;

export type Joins = engine.effect.Joins;

/** The position of an effect. */
export type EffectSide = engine.effect.Position;

export type FoundEffect = Unpacked<engine.effect.Found>;

type EffectCalls = CallsOf<engine.effect.Call, engine.effect.Responses>;

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

/** Reads an effect with its result. */
export function findEffect(native: NativeStore, effect: EffectAddress): Promise<FoundEffect> {
  return effectCalls.find(native, "find", { effect }, ({ effect: found, ...rest }, part) => ({
    ...rest,
    effect: found && { ...found, parts: found.parts.map(part) },
  }));
}
