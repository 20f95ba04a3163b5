/** Reads retry policies. */

import { rangeError, show, typeError } from "../../bridge/errors.js";
import { refuseUnknown } from "../../store/options.js";

/** Checks a retry policy. Undefined: no retries. The default of `backoffMs` is one second. */
export function readRetry(policy: unknown, where: string): { maxRetries: number; backoffMs: number } | undefined {
  if (policy === undefined || policy === null) return undefined;
  if (typeof policy !== "object") throw typeError(`${where} must be an object, but is ${show(policy)}`);
  refuseUnknown(policy, ["maxRetries", "backoffMs"], where);
  const { maxRetries, backoffMs = 1_000 } = policy as Record<string, unknown>;
  if (!Number.isInteger(maxRetries) || (maxRetries as number) < 0 || (maxRetries as number) > 0xffffffff)
    throw rangeError(`${where}.maxRetries must be a whole number of at least 0, but is ${show(maxRetries)}`);
  if (typeof backoffMs !== "number" || !(backoffMs >= 0) || backoffMs === Number.POSITIVE_INFINITY)
    throw rangeError(`${where}.backoffMs must be a number of milliseconds, at least 0, but is ${show(backoffMs)}`);
  return { maxRetries: maxRetries as number, backoffMs };
}
