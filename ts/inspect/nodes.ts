/** Finds the nodes that have made a checkpoint, from what is stored for listings. */

import { decodeMark } from "../store/mark.js";
import { tinyAgentsNextOf } from "./status.js";
import type { Context } from "./context.js";
import type { CheckpointInfo } from "./views.js";
import type { Row } from "./wire.js";

/** The contracts whose label is the name of the step that made the checkpoint. */
const NAMED: ReadonlySet<string> = new Set(["agentos", "agentium"]);

/** The contracts whose checkpoints name the nodes that run next, so that the parent names those that have run. */
const WITH_NEXT: ReadonlySet<string> = new Set(["langgraph", "tinyagents"]);

/**
 * Returns the node of each task that has made a checkpoint. Returns null if no step made it, or if its nodes are not stored.
 */
export function nodesOf(
  context: Context,
  row: Row,
  { label: source, meta }: Pick<CheckpointInfo, "label" | "meta">,
  parent: Row | undefined,
): string[] | null {
  if (NAMED.has(row.space)) return row.label === null ? null : [row.label];
  if (!WITH_NEXT.has(row.space) || source !== "loop") return null;
  // A TinyAgents graph stores the nodes if one of them ran several times.
  const own = (meta["metadata"] as { nodes?: unknown } | undefined)?.nodes;
  if (row.space === "tinyagents" && isNames(own)) return own;
  const nodes = nextOf(context, parent) ?? decodeMark(row.mark).nodes?.ran ?? [];
  return nodes.length > 0 ? nodes : null;
}

function nextOf(context: Context, row: Row | undefined): string[] | null | undefined {
  return row?.space === "tinyagents" ? tinyAgentsNextOf(context, row) : decodeMark(row?.mark).nodes?.next;
}

function isNames(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((name) => typeof name === "string");
}

/** Returns true if only the parent of a checkpoint has the names of all nodes that have made it. */
export function needsParent({ space, mark }: Row): boolean {
  return space === "tinyagents" || decodeMark(mark).nodes?.sent === true;
}

/** Returns the name of the parent of a checkpoint that may have the names of its nodes. */
export function parentName({ space, run, ns, parent }: Row): string | undefined {
  if (parent === null || !WITH_NEXT.has(space)) return undefined;
  return parent.run === null ? nameOf(space, run, ns, parent.id) : nameOf(space, parent.run, parent.ns, parent.id);
}

export const nameOf = (...names: Array<string | null>) => JSON.stringify(names);
