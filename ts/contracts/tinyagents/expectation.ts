/** Whether each checkpoint of a run must follow its thread's latest one, for each checkpointer. */

const expectations = new WeakMap<object, boolean>();

/** `given` is the option of a checkpointer of this package. */
export function setExpectation(checkpointer: object, given: boolean | undefined): void {
  expectations.set(checkpointer, given ?? true);
}

/** Undefined: not a checkpointer of this package. */
export function runExpectsParent(checkpointer: object): boolean | undefined {
  return expectations.get(checkpointer);
}
