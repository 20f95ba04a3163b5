/** Names the step that made a checkpoint, for people. */

import type { CheckpointInfo } from "./views.js";

/** What a step is called if its nodes are not known: LangGraph and TinyAgents call each step so. */
const ANY_STEP = "loop";

/**
 * Returns the name of the step that made a checkpoint: its nodes, for example `plan` or `read x3, write`, else the framework's
 * own word, for example `input` or `update`. A step of Helix is called by its number and the role of its last message. Returns null
 * if the step has no name.
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
  // Helix has no nodes, and the status of most checkpoints is the same.
  if (space === "helix" && typeof meta["stepCount"] === "number") {
    const role = meta["lastRole"];
    return `step ${meta["stepCount"]}: ${typeof role === "string" ? role : (label ?? "-")}`;
  }
  return label === ANY_STEP || label === "" ? null : label;
}
