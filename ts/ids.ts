import { ForkpointError, show, typeError } from "./errors.js";

/** An id to write with. */
export function own(id: unknown, what: string): string {
  if (typeof id !== "string") throw typeError(`${what} must be a string, and is ${show(id)}`);
  if (!id.isWellFormed()) {
    throw new ForkpointError("INVALID_ARGUMENT", `${what} holds half of a surrogate pair, which cannot be stored exactly`);
  }
  return id;
}

/** An id to look for; null for one that nothing can have been stored under. */
export function lookup(id: unknown, what: string): string | null {
  if (typeof id !== "string") throw typeError(`${what} must be a string, and is ${show(id)}`);
  return id.isWellFormed() ? id : null;
}
