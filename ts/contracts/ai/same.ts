/** Compares values. */

import { isDeepStrictEqual } from "node:util";

/**
 * Returns true if two values are equal: the same keys in any order, and the same values. Like `isDeepStrictEqual`, but
 * several times faster for plain data such as messages.
 */
export function isSame(one: unknown, other: unknown): boolean {
  try {
    return isEqual(one, other);
  } catch (error) {
    // The values contain cycles.
    if (error instanceof RangeError) return isDeepStrictEqual(one, other);
    throw error;
  }
}

function isEqual(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  const prototype: unknown = Object.getPrototypeOf(one);
  if (prototype !== Object.getPrototypeOf(other)) return false;
  if (prototype === Array.prototype) return hasSameItems(one as unknown[], other as unknown[]);
  if (prototype !== Object.prototype && prototype !== null) return isDeepStrictEqual(one, other);
  let left = 0;
  for (const key in one) {
    left += 1;
    const value = (other as Record<string, unknown>)[key];
    if (!isEqual((one as Record<string, unknown>)[key], value)) return false;
    if (value === undefined && !Object.hasOwn(other, key)) return false;
  }
  for (const _ in other) left -= 1;
  return left === 0;
}

function hasSameItems(one: unknown[], other: unknown[]): boolean {
  if (one.length !== other.length) return false;
  for (let at = 0; at < one.length; at++) {
    if (!isEqual(one[at], other[at])) return false;
    // A hole is not undefined.
    if (one[at] === undefined && Object.hasOwn(one, at) !== Object.hasOwn(other, at)) return false;
  }
  return true;
}
