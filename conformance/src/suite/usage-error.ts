/** The arguments, or the store's module, are wrong. */
export class UsageError extends TypeError {
  override readonly name = "UsageError";
}
