/** Names the step that made a checkpoint, for people. */

import { traitsOf } from "../contracts/registry.js";
import type { CheckpointInfo } from "../plugin/views.js";

/** The label that graphs give every step. */
const ANY_STEP = "loop";

/**
 * Returns the name of the step that made a checkpoint: its nodes, for example `plan` or `read x3, write`, or the
 * framework's word, for example `input` or `update`. A session's step is named by its number and its last message's
 * role. Null: the step has no name.
 *
 * @example
 * ```ts
 * import { openInspector, stepName } from "forkpoint/inspect";
 *
 * await using inspector = await openInspector("agent.db");
 * for (const { latest } of (await inspector.runs()).items) console.log(stepName(latest) ?? "-");
 * ```
 */
export function stepName({
  nodes,
  label,
  space,
  meta,
}: Pick<CheckpointInfo, "nodes" | "label" | "space" | "meta">): string | null {
  if (nodes !== null) {
    const times = new Map<string, number>();
    for (const node of nodes) times.set(node, (times.get(node) ?? 0) + 1);
    return [...times].map(([node, count]) => (count === 1 ? node : `${node} x${count}`)).join(", ");
  }
  const named = traitsOf(space).stepName?.(meta, label);
  if (named !== undefined) return named;
  return label === ANY_STEP || label === "" ? null : label;
}
