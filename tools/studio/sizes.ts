/** Says how large the parts of a value are that an answer leaves out. */

import { insideOf, moreOf } from "./forms.js";

/** The sizes of the containers in a form, so that each is measured once. */
type Sizes = Map<object, number>;

/** Writes into each mark of what an answer leaves out how large it is. The page shows it beside the value. */
export function addSizes(whole: unknown, cut: unknown, depth: number): void {
  const sizes: Sizes = new Map();
  const add = (from: unknown, to: unknown, at: number): void => {
    const more = moreOf(to);
    if (more !== null) {
      more.bytes = sizeOf(from, sizes);
      return;
    }
    const [all, shown] = [insideOf(from, at), insideOf(to, at)];
    if (all === null || shown === null) return;
    if (shown.rest !== null) {
      shown.rest.bytes = all.entries
        .slice(shown.entries.length)
        .reduce((sum, { value }) => sum + sizeOf(value, sizes), 0);
    }
    for (const [index, { value, steps, key }] of shown.entries.entries()) {
      const entry = all.entries[index]!;
      if (isObject(key)) add(entry.key, key, at + steps.length);
      if (isObject(value)) add(entry.value, value, at + steps.length);
    }
  };
  if (isObject(cut)) add(whole, cut, depth);
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

const leafSize = (form: unknown): number => (typeof form === "string" ? form.length + 2 : String(form).length);

/** The size of the JSON of a form, nearly: its characters. A form may be deeper than the stack. */
function sizeOf(root: unknown, sizes: Sizes): number {
  if (!isObject(root)) return leafSize(root);
  const stack: object[] = [root];
  while (stack.length > 0) {
    const form = stack.at(-1)!;
    if (sizes.has(form)) {
      stack.pop();
      continue;
    }
    const values: unknown[] = Object.values(form);
    const open = values.filter((value): value is object => isObject(value) && !sizes.has(value));
    if (open.length > 0) {
      stack.push(...chunked(open));
      continue;
    }
    const keys = Array.isArray(form) ? 0 : Object.keys(form).reduce((sum, key) => sum + key.length + 3, 0);
    const inside = values.reduce<number>(
      (sum, value) => sum + 1 + (isObject(value) ? sizes.get(value)! : leafSize(value)),
      0,
    );
    sizes.set(form, 2 + keys + inside);
    stack.pop();
  }
  return sizes.get(root)!;
}

/** Returns as many items as one call can take as arguments. The next round takes the rest. */
const chunked = (list: object[]): object[] => list.slice(0, 10_000);
