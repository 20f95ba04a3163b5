/** Copies the effects of a run, so that a copy of the run or a branch shares the results. */

import type { RunKey } from "../bridge/native.js";
import { findSlot, hasResult, isBefore } from "./effect-places.js";
import { type StoredEffect, effectCalls, findEffect } from "./effect-wire.js";
import type { Engine } from "./engine.js";

/** The effects that a copy gets. */
export interface CopiedEffects {
  /** Only effects before this checkpoint. Undefined: all effects. */
  before?: string | undefined;
  /** False: the copy lacks the earlier checkpoints, so all of its checkpoints share the results. */
  keepsIds: boolean;
}

/**
 * Copies the effects that have ended. A running or failed effect runs again in the copy, with another idempotency key.
 */
export async function copyEffects(
  native: Engine["native"],
  from: RunKey,
  to: RunKey,
  { before, keepsIds }: CopiedEffects,
): Promise<void> {
  const { effects } = await effectCalls.call(native, "list", { of: from });
  const branches = new Map<string, number>();
  for (const listed of effects.toSorted((a, b) => a.branch - b.branch)) {
    if (!hasResult(listed) || (before !== undefined && !(await isBefore(native, listed, from, before)))) continue;
    const { key } = listed;
    const { effect } = await findEffect(native, { of: from, key, branch: listed.branch });
    if (effect === null || !hasResult(effect)) continue;
    const branch = branches.get(key) ?? 0;
    branches.set(key, branch + 1);
    const { token, savedAt, parts, ...stored } = effect;
    const [part] = parts;
    const fields = {
      effect: { of: to, key, branch },
      seen: undefined,
      token,
      entry: { ...entryOf(stored), ...(!keepsIds && { base: null, from: null, newest: null }) },
      result: part && { name: part.name, tag: part.tag },
      savedAt,
    };
    await effectCalls.call(native, "begin", fields, part && [part.bytes]);
  }
}

/** A branch of a run. */
export interface Branch {
  /** The checkpoint that the branch continues from. */
  to: string;
  /** The first checkpoint of the branch. It is not stored yet. */
  next: string;
}

/**
 * Lets a new branch continue with the effects that are visible from the newest checkpoint of a run. An effect that may
 * have happened keeps its idempotency key.
 */
export async function keepEffects(
  native: Engine["native"],
  of: RunKey,
  newest: string,
  { to, next }: Branch,
): Promise<void> {
  const { effects } = await effectCalls.call(native, "list", { of });
  for (const key of new Set(effects.map(({ key }) => key))) {
    const { effect } = await findSlot(native, { of, at: newest }, key);
    const slot = await findSlot(native, { of, at: next, from: to }, key);
    if (effect === null || effect.state === "failed" || slot.effect !== null) continue;
    const { token, savedAt, parts, ...stored } = effect;
    const [part] = parts;
    const fields = {
      effect: { of, key, branch: slot.branch },
      seen: undefined,
      token,
      entry: { ...entryOf(stored), base: to, from: null, newest },
      result: part && { name: part.name, tag: part.tag },
      savedAt,
    };
    await effectCalls.call(native, "begin", fields, part && [part.bytes]);
  }
}

/** The entry of an effect without its address. */
function entryOf({ key: _key, branch: _branch, ...entry }: Omit<StoredEffect, "token" | "savedAt">) {
  return entry;
}
