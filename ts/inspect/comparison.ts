/** Compares two checkpoints. */

import { ForkpointError, quote } from "../bridge/errors.js";
import { listOf, requireId } from "../store/ids.js";
import { oneOf, readRecord, whole } from "../store/options.js";
import { findCheckpoint } from "./checkpoints.js";
import { type Context, readKey } from "./context.js";
import { readDetail } from "./read-checkpoint.js";
import { PARTS, compareDetails } from "./compare-checkpoints.js";
import type { Change, CheckpointDetail, CheckpointRef } from "../plugin/views.js";

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
  const { parts, limit = 10_000 } = readRecord(given, "options", diffOptions);
  const [one, other] = [from === null ? null : readRef(from), readRef(to)];
  const [before, after] = [one && (await required(context, one)), await required(context, other)];
  return compareDetails(before, after, limit, parts);
}

const readRef = (ref: unknown) => ({ key: readKey(ref), id: requireId((ref as CheckpointRef).id, "id") });

async function required(context: Context, { key, id }: ReturnType<typeof readRef>): Promise<CheckpointDetail> {
  const found = await findCheckpoint(context, key, { id });
  const detail = found && (await readDetail(context, found.row, found.info));
  if (detail !== null) return detail;
  throw new ForkpointError("NOT_FOUND", `run ${quote(key.run)} has no checkpoint ${quote(id)}: list its checkpoints`);
}
