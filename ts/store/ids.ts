/** Checks ids. */

import { ForkpointError, show, typeError } from "../bridge/errors.js";

/** Checks an id before a write. Throws if no data can be stored under this id. */
export function requireId(id: unknown, what: string): string {
  if (typeof id !== "string") throw typeError(`${what} must be a string, and is ${show(id)}`);
  if (!id.isWellFormed()) {
    throw new ForkpointError(
      "INVALID_ARGUMENT",
      `${what} contains an unpaired surrogate (invalid Unicode), which cannot be stored exactly`,
    );
  }
  return id;
}

/** Checks an id before a read. Returns null if no data can be stored under this id. */
export function idOrNull(id: unknown, what: string): string | null {
  if (typeof id !== "string") throw typeError(`${what} must be a string, and is ${show(id)}`);
  return id.isWellFormed() ? id : null;
}

/**
 * Takes the engine's name of a thread's namespace apart: the length of the thread's id in bytes, a colon, the id and the
 * namespace.
 */
export function splitLineage(name: string): { threadId: string; namespace: string } {
  const at = name.indexOf(":");
  const both = Buffer.from(name.slice(at + 1));
  const length = Number(name.slice(0, at));
  return { threadId: both.toString("utf8", 0, length), namespace: both.toString("utf8", length) };
}
