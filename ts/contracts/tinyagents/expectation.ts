/** Whether each checkpoint of a run must follow the latest one of its thread, by the checkpointer. */

const expectations = new WeakMap<object, boolean>();

/** `given` is the option of a checkpointer of this package. */
export function setExpectation(checkpointer: object, given: boolean | undefined): void {
  expectations.set(checkpointer, given ?? true);
}

/** Returns undefined for a checkpointer that is not of this package. */
export function runExpectsParent(checkpointer: object): boolean | undefined {
  return expectations.get(checkpointer);
}
