/** Counts how often objects are serialized, whichever serializer does it. */

import { Serializer } from "node:v8";
import { onTestFinished, vi } from "vitest";

/** The mark of an object that is counted: a property that each serializer writes. */
export const counted = { counted: true };

/** Returns a function that returns how often objects with the mark were serialized since its last call, until the test ends. */
export function countRendered(): () => number {
  let count = 0;
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    if ((value as { counted?: unknown }).counted === true) count += 1;
    for (const each of Object.values(value)) visit(each);
  };
  const { stringify } = JSON;
  const { writeValue } = Serializer.prototype;
  const spies = [
    vi.spyOn(JSON, "stringify").mockImplementation((value, ...more) => {
      visit(value);
      return stringify(value, ...(more as []));
    }),
    vi.spyOn(Serializer.prototype, "writeValue").mockImplementation(function (this: Serializer, value) {
      visit(value);
      return writeValue.call(this, value);
    }),
  ];
  onTestFinished(() => spies.forEach((spy) => spy.mockRestore()));
  return () => {
    const before = count;
    count = 0;
    return before;
  };
}
