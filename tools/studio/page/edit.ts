// Computes the edit of a fork from the state before and after editing.
import { formatPath } from "../../../ts/bridge/json-form/path.js";

export interface Edit {
  set?: Array<[path: string, value: unknown]>;
  state?: unknown;
}

/** Returns true for a plain JSON object, without `$type`. */
const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !Object.hasOwn(value, "$type");

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/**
 * Returns the smallest edit, which sets only changed fields of the state if possible. A field that is not readable here
 * can't be edited, but other fields can.
 */
export function editOf(before: unknown, after: unknown): Edit {
  if (same(before, after)) return {};
  if (!isPlain(before) || !isPlain(after)) return { state: after };
  if (Object.keys(before).some((key) => !Object.hasOwn(after, key))) return { state: after };
  const changed = Object.keys(after).filter((key) => !Object.hasOwn(before, key) || !same(before[key], after[key]));
  // Only the order of the keys has changed.
  if (changed.length === 0) return { state: after };
  return { set: changed.map((key) => [formatPath([key]), after[key]]) };
}
