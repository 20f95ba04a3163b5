/** The signs and words for the state of an effect, and the positions of effects among checkpoints. */

import type { Format } from "./style.js";
import type { CheckpointInfo, EffectInfo } from "../../ts/plugin/views.js";

const states: Record<EffectInfo["state"], { text: string; format: Format }> = {
  done: { text: "✓ done", format: "green" },
  running: { text: "~ running", format: "cyan" },
  failed: { text: "✗ failed", format: "red" },
  error: { text: "✗ error stored", format: "red" },
  unknown: { text: "! may have happened", format: "yellow" },
};

export const effectCell = ({ state }: Pick<EffectInfo, "state">): { text: string; format: Format } => states[state];

/** The effects after each checkpoint, and those before the first one. */
export type PlacedEffects = ReadonlyMap<CheckpointInfo | null, readonly EffectInfo[]>;

/**
 * Returns the effects after each checkpoint, and those before the first one under `null`. The checkpoints are in
 * ascending order. If the checkpoint that an effect began from is not among them, the times decide: later checkpoints
 * were saved after the effect's beginning, perhaps in the same ms. `isPart`: earlier checkpoints are left out, and so
 * are the effects before the first one.
 */
export function placedEffects(
  checkpoints: readonly CheckpointInfo[],
  effects: readonly EffectInfo[],
  isPart: boolean,
): PlacedEffects {
  const placed = new Map<CheckpointInfo | null, EffectInfo[]>();
  const byId = new Map(checkpoints.map((each) => [each.id, each]));
  for (const effect of effects) {
    const { checkpointId, startedAt } = effect;
    const after =
      (checkpointId === null ? undefined : byId.get(checkpointId)) ??
      checkpoints.findLast(({ savedAt }) => checkpointId !== null && savedAt < startedAt) ??
      null;
    if (after === null && isPart) continue;
    placed.set(after, [...(placed.get(after) ?? []), effect]);
  }
  return placed;
}
