/** The store does not offer something that its contract leaves optional. The expectation is skipped, with this message as the reason. */
export class NotOffered extends Error {
  override readonly name = "NotOffered";
}
