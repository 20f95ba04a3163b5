/** Reads times to live of cache entries. */

import { rangeError, show, typeError } from "../../../bridge/errors.js";

/** Returns a time to live in ms. Undefined: the entry does not expire. */
export function millisecondsOf(ttl: unknown, what: string): number | undefined {
  if (typeof ttl !== "number") throw typeError(`${what} must be a number of seconds, but is ${show(ttl)}`);
  if (!(ttl > 0)) throw rangeError(`${what} must be a positive number of seconds, but is ${ttl}`);
  return ttl === Number.POSITIVE_INFINITY ? undefined : ttl * 1_000;
}
