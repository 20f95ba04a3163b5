/** Looks for lists that may grow. */

import { types } from "node:util";
import { dataProperty, isPlainObject } from "./leaves.js";
import type { GrowingLists } from "./lists.js";

/** Lists are looked for in objects that are nested up to this depth, and under at most so many keys. */
const [MOST_DEEP, MOST_KEYS] = [3, 2_048];

let keys = 0;

/** Returns true if the value is a list that may grow, or a plain object or a list of one item that contains one. */
export function leadsToList(value: unknown, depth: number, lists: GrowingLists): value is object {
  keys = MOST_KEYS;
  return leads(value, depth, lists);
}

function leads(value: unknown, depth: number, lists: GrowingLists): boolean {
  if (typeof value !== "object" || value === null || types.isProxy(value)) return false;
  if (lists.mayGrow(value)) return true;
  if (depth >= MOST_DEEP) return false;
  if (Array.isArray(value)) return value.length === 1 && leads(value[0], depth + 1, lists);
  if (!isPlainObject(value)) return false;
  for (const key in value) {
    if (--keys < 0) return false;
    const property = dataProperty(value, key);
    if (property !== undefined && leads(property.value, depth + 1, lists)) return true;
  }
  return false;
}
