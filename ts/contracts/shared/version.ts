/** The versions of rows that are changed in place, and the numbers that order rows of the same time. */

import { crypto } from "../../bridge/crypto.js";

/** Returns a random version. It differs from all earlier ones, and is never 0. */
export const newVersion = (): number => crypto().randomInt(1, 2 ** 47);

/** Keeps the numbers of two processes apart that make some in the same millisecond. */
let first: number | undefined;
let last = 0;

/** A number that is greater than all before it in this process. Two processes hardly ever get the same one. */
export function nextNumber(): number {
  first ??= crypto().randomInt(0, 900);
  last = Math.max(last + 1, Date.now() * 1_000 + first);
  return last;
}
