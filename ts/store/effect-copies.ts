/** Copies the effects of a run to a copy of the run, so that the copy shares the results of its past. */

import type { RunKey } from "../bridge/native.js";
import { findEffect, hasResult, isBefore } from "./effect-places.js";
import { type StoredEffect, effectCalls } from "./effect-wire.js";
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

/** The entry of an effect without its address. */
function entryOf({ key: _key, branch: _branch, ...entry }: Omit<StoredEffect, "token" | "savedAt">) {
  return entry;
}
