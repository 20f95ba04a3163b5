import type { Change, CheckpointDetail, CheckpointInfo, RunInfo, WriteInfo } from "../../inspect.js";
import { limitedJsonForm } from "../inspect/limit.js";

/** The largest answer, in bytes. */
export const MAX_ANSWER = 512 * 2 ** 10;

/** The most changes in an answer. */
export const MAX_CHANGES = 2_000;

/** How much of a value an answer shows. */
export interface Limits {
  depth: number;
  items: number;
  /** The longest text, in characters. */
  text: number;
  /** The size of the whole, in bytes. */
  bytes: number;
}

/** The size of the JSON text of a value, in bytes. */
export const sizeOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? "");

/** Cuts what the contract keeps beside a state: LangGraph's metadata may hold anything. */
function shortMeta(meta: Record<string, unknown>): Record<string, unknown> {
  const limits = { depth: 3, items: 50, text: 1_024, bytes: 4_096 };
  return limitedJsonForm(meta, limits, ["meta"]) as Record<string, unknown>;
}

export function shortCheckpoint(info: CheckpointInfo): CheckpointInfo {
  return { ...info, meta: shortMeta(info.meta) };
}

export function shortRun(info: RunInfo): RunInfo {
  return { ...info, latest: shortCheckpoint(info.latest) };
}

/** Returns the first items that fit into a size, in bytes. */
export function fitting<T>(items: readonly T[], bytes: number): T[] {
  let room = bytes;
  const end = items.findIndex((item) => (room -= sizeOf(item) + 1) < 0);
  return end === -1 ? [...items] : items.slice(0, end);
}

const TEXT = 64 * 2 ** 10;

/** How deep the value of a pending write is shown. A page shows it whole. */
const WRITE_DEPTH = 8;

/** Cuts the values of a checkpoint. The state gets the most room. */
export function shortDetail(
  { checkpoint, state, rest, writes, next, parts }: CheckpointDetail,
  limits: Pick<Limits, "depth" | "items">,
  path: readonly (string | number)[],
): Record<string, unknown> {
  const shortWrite = (write: WriteInfo, index: number): WriteInfo => {
    const value = limitedJsonForm(write.value, { ...limits, depth: WRITE_DEPTH, text: TEXT, bytes: MAX_ANSWER / 16 }, [
      index,
      "value",
    ]);
    return Object.assign({}, write, { value });
  };
  const short = {
    checkpoint: shortCheckpoint(checkpoint),
    next: next === null ? null : fitting(next, MAX_ANSWER / 32),
    parts: fitting(parts, MAX_ANSWER / 32),
    rest: limitedJsonForm(rest, { ...limits, text: TEXT, bytes: MAX_ANSWER / 8 }, []),
    writes: fitting(writes.map(shortWrite), MAX_ANSWER / 8),
  };
  const bytes = MAX_ANSWER - sizeOf(short) - 1_024;
  return {
    ...short,
    moreWrites: writes.length - short.writes.length,
    state: limitedJsonForm(state, { ...limits, text: TEXT, bytes }, path),
  };
}

/** How much of a changed value an answer shows. */
const CHANGE: Limits = { depth: 6, items: 100, text: TEXT, bytes: MAX_ANSWER / 4 };

/** Cuts the values of changes, and leaves out the changes that do not fit. */
export function shortChanges(all: readonly Change[], most: number): { changes: Change[]; truncated: boolean } {
  const short = all.slice(0, most).map((change) => {
    const made: Change = { part: change.part, op: change.op, path: change.path };
    if ("before" in change) made.before = limitedJsonForm(change.before, CHANGE, change.path);
    if ("after" in change) made.after = limitedJsonForm(change.after, CHANGE, change.path);
    return made;
  });
  const changes = fitting(short, MAX_ANSWER - MAX_ANSWER / 16);
  return { changes, truncated: changes.length < all.length };
}
