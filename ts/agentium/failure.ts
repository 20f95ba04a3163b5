/** The error itself, with more to say; what is no error, or cannot be told more, is the cause of one that can. */
export function carrying(thrown: unknown, more: Record<string, unknown>): Error {
  const error =
    thrown instanceof Error && Object.isExtensible(thrown) ? thrown : new Error(messageOf(thrown), { cause: thrown });
  for (const [key, value] of Object.entries(more)) {
    // Defined and not assigned: the error's class may have a getter of that name.
    Object.defineProperty(error, key, { value, enumerable: true, writable: true, configurable: true });
  }
  return error;
}

export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
