/** Finds the nodes that made a checkpoint, in the data stored for listings. */

import { pluginOf } from "../contracts/index.js";
import { traitsOf } from "../contracts/registry.js";
import type { CheckpointInfo } from "../plugin/views.js";
import type { Row } from "../plugin/wire.js";
import type { Context } from "./context.js";

/** Returns the node of each task that made a checkpoint. Null: no step made it, or its nodes are not stored. */
export function nodesOf(
  context: Context,
  row: Row,
  { label: source, meta }: Pick<CheckpointInfo, "label" | "meta">,
  parent: Row | undefined,
): string[] | null {
  const { nodes: where } = traitsOf(row.space);
  if (where === "label") return row.label === null ? null : [row.label];
  if (where === undefined || source !== "loop") return null;
  const nodes = pluginOf(row.space).made?.nodes(context, row, meta, parent) ?? [];
  return nodes.length > 0 ? nodes : null;
}

/** Returns true if only the checkpoint's parent has the names of all nodes that made the checkpoint. */
export const needsParent = (row: Row): boolean => pluginOf(row.space).made?.needsParent(row) === true;

/** Returns the name of the parent that may have the names of a checkpoint's nodes. */
export function parentName({ space, run, ns, parent }: Row): string | undefined {
  if (parent === null || traitsOf(space).nodes !== "next") return undefined;
  return parent.run === null ? nameOf(space, run, ns, parent.id) : nameOf(space, parent.run, parent.ns, parent.id);
}

export const nameOf = (...names: Array<string | null>) => JSON.stringify(names);
