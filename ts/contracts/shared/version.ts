/** Versions of rows that are changed in place, and numbers that order rows of the same time. */

import { crypto } from "../../bridge/crypto.js";

/** Returns a random version, which is never 0. Two versions are hardly ever equal. */
export const newVersion = (): number => crypto().randomInt(1, 2 ** 47);

/** The offset of this process in each ms, in µs. It is random, so that two processes hardly ever make equal numbers. */
let first: number | undefined;
let last = 0;

/** Returns a number greater than all earlier ones of this process. */
export function nextNumber(): number {
  first ??= crypto().randomInt(0, 900);
  last = Math.max(last + 1, Date.now() * 1_000 + first);
  return last;
}
