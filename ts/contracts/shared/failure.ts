/**
 * Adds fields to an error. A thrown value that is not an Error, or an Error that cannot be extended, becomes the
 * `cause` of a new error.
 */
export function carrying(thrown: unknown, more: Record<string, unknown>): Error {
  const error =
    thrown instanceof Error && Object.isExtensible(thrown) ? thrown : new Error(messageOf(thrown), { cause: thrown });
  for (const [key, value] of Object.entries(more)) {
    // Define the property instead of assigning it, because the error's class may have a getter of the same name.
    Object.defineProperty(error, key, { value, enumerable: true, writable: true, configurable: true });
  }
  return error;
}

export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
