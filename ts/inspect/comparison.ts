/** Compares two checkpoints. */

import { ForkpointError, quote } from "../bridge/errors.js";
import { listOf, requireId } from "../store/ids.js";
import { oneOf, readRecord, whole } from "../store/options.js";
import { findCheckpoint } from "./checkpoints.js";
import { type Context, readKey } from "./context.js";
import { readDetail } from "./detail.js";
import { diffValues } from "./diff.js";
import { type BothWrites, isOwn } from "./own.js";
import type { Change, CheckpointDetail, CheckpointRef } from "./views.js";

const PARTS = ["state", "rest", "writes"] as const;

const diffOptions = {
  parts: (value: unknown, name: string) => listOf(oneOf(...PARTS), value, name),
  limit: whole(1, 1_000_000, "changes"),
};

export async function diffCheckpoints(
  context: Context,
  from: unknown,
  to: unknown,
  given: unknown,
): Promise<{ changes: Change[]; truncated: boolean }> {
  const { parts = [...PARTS], limit = 10_000 } = readRecord(given, "options", diffOptions);
  const [before, after] = [from === null ? null : await required(context, from), await required(context, to)];
  const changes: Change[] = [];
  let truncated = false;
  for (const part of PARTS.filter((each) => parts.includes(each))) {
    const found = diffValues(part, valueOf(before, part), valueOf(after, part), limit - changes.length);
    for (const change of found.changes) changes.push(change);
    truncated ||= found.truncated;
  }
  const space = (after ?? before)?.checkpoint.space ?? "";
  const writes: BothWrites = { before: before?.writes ?? [], after: after?.writes ?? [] };
  for (const change of changes) if (isOwn(space, change, writes)) change.own = true;
  return { changes, truncated };
}

/** Returns a part of a checkpoint. Without a checkpoint, or without this part, returns an empty value. */
function valueOf(detail: CheckpointDetail | null, part: Change["part"]): unknown {
  if (part !== "writes") return detail === null || detail[part] === null ? {} : detail[part];
  return (detail?.writes ?? []).map(({ tag: _tag, ...write }) => write);
}

async function required(context: Context, ref: unknown): Promise<CheckpointDetail> {
  const key = readKey(ref);
  const id = requireId((ref as CheckpointRef).id, "id");
  const found = await findCheckpoint(context, key, { id });
  const detail = found && (await readDetail(context, found.row, found.info));
  if (detail !== null) return detail;
  throw new ForkpointError("NOT_FOUND", `run ${quote(key.run)} has no checkpoint ${quote(id)}: list its checkpoints`);
}
