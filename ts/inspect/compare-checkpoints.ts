/** Compares two loaded checkpoints. Uses nothing of Node, because exported files compare in a browser. */

import { diffValues } from "./diff.js";
import { traitsOf } from "../contracts/registry.js";
import type { BothWrites } from "../plugin/traits.js";
import type { Change, CheckpointDetail } from "../plugin/views.js";

/** The parts that are compared, in this order. */
export const PARTS = ["state", "rest", "writes"] as const satisfies Array<Change["part"]>;

/** Returns the changes from one checkpoint to another, at most `limit`. Null: from nothing. */
export function compareDetails(
  before: CheckpointDetail | null,
  after: CheckpointDetail | null,
  limit: number,
  parts: readonly Change["part"][] = PARTS,
): { changes: Change[]; truncated: boolean } {
  const changes: Change[] = [];
  let truncated = false;
  for (const part of PARTS.filter((each) => parts.includes(each))) {
    const found = diffValues(part, valueOf(before, part), valueOf(after, part), limit - changes.length);
    for (const change of found.changes) changes.push(change);
    truncated ||= found.truncated;
  }
  const { isOwn } = traitsOf((after ?? before)?.checkpoint.space ?? "");
  const writes: BothWrites = { before: before?.writes ?? [], after: after?.writes ?? [] };
  for (const change of changes) if (isOwn?.(change, writes) === true) change.own = true;
  return { changes, truncated };
}

/** Returns a part of a checkpoint. Without a checkpoint, or without this part, returns an empty value. */
function valueOf(detail: CheckpointDetail | null, part: Change["part"]): unknown {
  if (part !== "writes") return detail === null || detail[part] === null ? {} : detail[part];
  return (detail?.writes ?? []).map(({ tag: _tag, ...write }) => write);
}
