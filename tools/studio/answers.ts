/** Limits the size of the studio's answers for large states. */

import { type Limits, limitedJsonForm } from "../../ts/inspect/limit.js";
import { parsePath, valueAt } from "../../ts/bridge/json-form/path.js";
import { addSizes } from "./sizes.js";
import type {
  Change,
  CheckpointDetail,
  CheckpointInfo,
  EffectDetail,
  RunInfo,
  Stranded,
  WriteInfo,
} from "../../ts/plugin/views.js";

/** The maximum size of an answer, in bytes. */
export const MAX_ANSWER = 512 * 2 ** 10;

export const MAX_CHANGES = 2_000;

/** The depth to which the value of a pending write is sent. */
const WRITE_DEPTH = 8;

export const sizeOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? "");

/** Cuts the metadata of a checkpoint, which may have any content. */
function shortMeta(meta: Record<string, unknown>): Record<string, unknown> {
  return limitedJsonForm(meta, { depth: 3, items: 50, textBytes: 1_024, bytes: 4_096 }) as Record<string, unknown>;
}

export function shortCheckpoint(info: CheckpointInfo): CheckpointInfo {
  return { ...info, meta: shortMeta(info.meta) };
}

export function shortRun(info: RunInfo): RunInfo {
  return { ...info, latest: shortCheckpoint(info.latest), stranded: shortStranded(info.stranded) };
}

/** The maximum number of differences, and the length of each, in characters. */
const [DIFFERENCES, DIFFERENCE] = [10, 500];

export function shortStranded(stranded: Stranded | null): Stranded | null {
  if (stranded === null) return null;
  const short = stranded.differences.slice(0, DIFFERENCES).map((each) => each.slice(0, DIFFERENCE).toWellFormed());
  return { ...stranded, differences: short };
}

/** Returns the first items that fit into a size, in bytes. */
export function fitting<T>(items: readonly T[], bytes: number): T[] {
  let room = bytes;
  const end = items.findIndex((item) => (room -= sizeOf(item) + 1) < 0);
  return end === -1 ? [...items] : items.slice(0, end);
}

/** Cuts the result of an effect. */
export function shortEffect(detail: EffectDetail): EffectDetail {
  return { ...detail, result: limitedJsonForm(detail.result, { depth: WRITE_DEPTH, bytes: MAX_ANSWER / 2 }) };
}

/** The requested part of a checkpoint, with its limits. */
export interface Asked {
  depth: number | undefined;
  items: number | undefined;
  /** The part to send in the field `state`. */
  part: "state" | "rest" | "writes";
  path: string | undefined;
}

/** Cuts the values of a checkpoint. The state gets the most bytes. Null: there is no value at the path. */
export function shortDetail(detail: CheckpointDetail, asked: Asked): Record<string, unknown> | null {
  const { depth, items, part, path } = asked;
  const shortWrite = (write: WriteInfo): WriteInfo => {
    const value = limitedJsonForm(write.value, { depth: WRITE_DEPTH, items, bytes: MAX_ANSWER / 16 });
    return Object.assign({}, write, { value });
  };
  const writes = fitting(detail.writes.map(shortWrite), MAX_ANSWER / 8);
  const short = {
    checkpoint: shortCheckpoint(detail.checkpoint),
    next: detail.next === null ? null : fitting(detail.next, MAX_ANSWER / 32),
    parts: fitting(detail.parts, MAX_ANSWER / 32),
    rest: cut(detail.rest, { depth, items, bytes: MAX_ANSWER / 8 }),
    writes,
    moreWrites: detail.writes.length - writes.length,
  };
  // The remaining bytes are for the sizes that `addSizes` adds.
  const bytes = Math.floor((MAX_ANSWER - sizeOf(short)) * 0.9);
  const state = cut(detail[part], { depth, items, bytes, path });
  return state === undefined ? null : { ...short, state };
}

/** Cuts a value, and adds the sizes of left-out parts. Undefined: there is no value at the path. */
function cut(form: unknown, limits: Limits & { path?: string | undefined }): unknown {
  const shown = limitedJsonForm(form, limits);
  const steps = parsePath(limits.path ?? "");
  addSizes(valueAt(form, steps), shown, steps.filter((step) => typeof step !== "object").length);
  return shown;
}

/** The limits of a changed value in an answer. */
const CHANGE: Limits = { depth: 6, items: 100, bytes: MAX_ANSWER / 8 };

/** Cuts the values of changes, and leaves out the changes that do not fit. */
export function shortChanges(all: readonly Change[], most: number): { changes: Change[]; truncated: boolean } {
  const short = all.slice(0, most).map((change) => {
    const made: Change = { part: change.part, op: change.op, path: change.path };
    if ("before" in change) made.before = limitedJsonForm(change.before, CHANGE);
    if ("after" in change) made.after = limitedJsonForm(change.after, CHANGE);
    if (change.own === true) made.own = true;
    return made;
  });
  const changes = fitting(short, MAX_ANSWER - MAX_ANSWER / 16);
  return { changes, truncated: changes.length < all.length };
}
