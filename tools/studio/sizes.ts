/** Adds the sizes of left-out parts to an answer. */

import { insideOf, isObject, moreOf, sizeOf } from "./forms.js";

/** Adds to each mark in `cut` the size of its missing part. The page shows it beside the value. */
export function addSizes(whole: unknown, cut: unknown, depth: number): void {
  const add = (from: unknown, to: unknown, at: number): void => {
    const more = moreOf(to);
    if (more !== null) {
      more.bytes = sizeOf(from);
      return;
    }
    const [all, shown] = [insideOf(from, at), insideOf(to, at)];
    if (all === null || shown === null) return;
    if (shown.rest !== null) {
      shown.rest.bytes = all.entries.slice(shown.entries.length).reduce((sum, { value }) => sum + sizeOf(value), 0);
    }
    for (const [index, { value, steps, key }] of shown.entries.entries()) {
      const entry = all.entries[index]!;
      if (isObject(key)) add(entry.key, key, at + steps.length);
      if (isObject(value)) add(entry.value, value, at + steps.length);
    }
  };
  if (isObject(cut)) add(whole, cut, depth);
}
