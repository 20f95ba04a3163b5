/** Looks for lists that may grow. */

import { types } from "node:util";
import { isPlainObject } from "./leaves.js";
import type { GrowingLists } from "./lists.js";

/** Lists are looked for in objects that are nested up to this depth, and that have at most so many keys. */
const [MOST_DEEP, MOST_KEYS] = [3, 1_024];

/** Returns true if the value is a list that may grow, or a plain object or a short list that contains one. */
export function leadsToList(value: unknown, depth: number, lists: GrowingLists): value is object {
  if (typeof value !== "object" || value === null || types.isProxy(value)) return false;
  if (lists.mayGrow(value)) return true;
  if (depth >= MOST_DEEP) return false;
  if (Array.isArray(value)) return value.length === 1 && leadsToList(value[0], depth + 1, lists);
  if (!isPlainObject(value)) return false;
  let keys = 0;
  for (const key in value) {
    if (++keys > MOST_KEYS) return false;
    const property = Object.getOwnPropertyDescriptor(value, key);
    if (property !== undefined && property.get === undefined && leadsToList(property.value, depth + 1, lists))
      return true;
  }
  return false;
}
