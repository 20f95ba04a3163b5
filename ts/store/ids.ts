import { ForkpointError, isArray, readingArgument, show, typeError } from "../bridge/errors.js";

export function text(value: unknown, what: string): string {
  if (typeof value !== "string") throw typeError(`${what} must be a string, but is ${show(value)}`);
  return value;
}

/** Checks an id before a write. Throws for an invalid id. */
export function requireId(given: unknown, what: string): string {
  const id = text(given, what);
  if (id.isWellFormed()) return id;
  throw new ForkpointError(
    "INVALID_ARGUMENT",
    `${what} contains an unpaired surrogate (invalid Unicode), which cannot be stored exactly`,
  );
}

/** Checks an id before a write. Rejects an empty id too. */
export function nonEmpty(given: unknown, what: string): string {
  const id = requireId(given, what);
  if (id === "") throw typeError(`${what} is empty: pass a non-empty string`);
  return id;
}

/** Checks an id before a read. Returns null if no data can have this id. */
export function idOrNull(given: unknown, what: string): string | null {
  const id = text(given, what);
  return id.isWellFormed() ? id : null;
}

export function optionalId(id: unknown, what: string): string | undefined {
  return id === undefined || id === null ? undefined : requireId(id, what);
}

/** Checks each item of a list, including holes. */
export function listOf<T>(check: (item: unknown, what: string) => T, list: unknown, what: string): T[] {
  if (!isArray(list)) throw typeError(`${what} must be an array of strings, but is ${show(list)}`);
  return readingArgument(what, () => [...list]).map((item, at) => check(item, `${what}[${at}]`));
}

export const requireIds = (ids: unknown, what: string): string[] => listOf(requireId, ids, what);

/**
 * Splits the engine's name of a thread's namespace. The name is the length of the thread's id in bytes, a colon, the id
 * and the namespace.
 */
export function splitLineage(name: string): { threadId: string; namespace: string } {
  const at = name.indexOf(":");
  const both = Buffer.from(name.slice(at + 1));
  const length = Number(name.slice(0, at));
  return { threadId: both.toString("utf8", 0, length), namespace: both.toString("utf8", length) };
}
