// Lists the entries of a value in its JSON form, even if an answer has only a part of it. Server and page use it.
import {
  type Container,
  type Item,
  type Step,
  containerOf,
  isRecord,
  itemsOf,
  typeOf,
} from "../../ts/bridge/json-form/form.js";

export type { Item, Step };

/** Marks a part that an answer leaves out: a value, or the end of a container. See `ts/inspect/limit.ts`. */
export interface More {
  $type: "More";
  path: Step[];
  count: number;
  /** The type of the missing part: a container, `"Text"`, or another type. */
  of: string;
  /** The beginning of a text. */
  text?: string;
  /** The JSON size of the missing part, in bytes. */
  bytes?: number;
}

/**
 * The amount of missing data in a cut value. A text has `more`, in characters. A message or a result has `moreParts`.
 */
export interface Missing {
  more?: number;
  moreParts?: number;
}

/** A match of a search. */
export interface Match {
  path: Step[];
  value: unknown;
}

export function moreOf(form: unknown): More | null {
  return typeOf(form) === "More" ? (form as More) : null;
}

/** The content of a container: its entries, and the mark of left-out later entries. */
export interface Inside {
  kind: Container;
  entries: Item[];
  rest: More | null;
}

/**
 * Lists the entries of a container. Null: the value is not a container.
 *
 * @param depth the number of steps to the container. It tells whether the last mark stands for the end of the list, or
 *   for one item.
 */
export function insideOf(form: unknown, depth: number): Inside | null {
  const [whole, rest] = withoutRest(form, depth);
  const kind = containerOf(whole);
  if (kind === null) return null;
  return { kind, entries: [...itemsOf(whole as object, kind)], rest };
}

function withoutRest(form: unknown, depth: number): [whole: unknown, rest: More | null] {
  if (Array.isArray(form)) {
    const rest = moreOf(form.at(-1));
    return rest !== null && rest.path.length === depth ? [form.slice(0, -1), rest] : [form, null];
  }
  if (!isRecord(form) || typeOf(form) === undefined) return [form, null];
  if (typeOf(form) === "Error") {
    const rest = moreOf(form["more"]);
    return [form, rest];
  }
  const { value } = form;
  if (!Array.isArray(value)) return [form, null];
  const rest = moreOf(value.at(-1));
  return rest !== null && rest.path.length === depth ? [{ ...form, value: value.slice(0, -1) }, rest] : [form, null];
}

export const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

const leafSize = (form: unknown): number => (typeof form === "string" ? form.length + 2 : String(form).length);

/** A cache of the sizes of large containers. Counting a small one is faster than a look-up. */
const sizes = new WeakMap<object, number>();

/** The minimum size of a container in the cache. */
const CACHED = 2_048;

/** The depth at which counting stops using recursion. */
const DEEP = 400;

/** The maximum number of arguments of one call. */
const MOST_ARGUMENTS = 10_000;

/** Returns the approximate size of a form as JSON, in characters, including missing parts. Works at any depth. */
export const sizeOf = (root: unknown): number => sizeAt(root, 0);

function sizeAt(form: unknown, depth: number): number {
  if (!isObject(form)) return leafSize(form);
  const known = sizes.get(form);
  if (known !== undefined) return known;
  if (depth > DEEP) return deepSizeOf(form);
  let size = 2;
  if (Array.isArray(form)) for (const value of form) size += 1 + sizeAt(value, depth + 1);
  else {
    const more = moreOf(form);
    if (more !== null) return more.bytes ?? 0;
    for (const key of Object.keys(form))
      size += key.length + 4 + sizeAt((form as Record<string, unknown>)[key], depth + 1);
  }
  if (size >= CACHED) sizes.set(form, size);
  return size;
}

function deepSizeOf(root: object): number {
  const counted = new Map<object, number>();
  const stack: object[] = [root];
  while (stack.length > 0) {
    const form = stack.at(-1)!;
    const more = moreOf(form);
    const values: unknown[] = more === null && !counted.has(form) ? Object.values(form) : [];
    const open = values.filter((value): value is object => isObject(value) && !counted.has(value));
    if (open.length > 0) {
      // The next round takes the rest.
      stack.push(...open.slice(0, MOST_ARGUMENTS));
      continue;
    }
    stack.pop();
    if (counted.has(form)) continue;
    const keys = Array.isArray(form) ? [] : Object.keys(form);
    const names = keys.reduce((sum, key) => sum + key.length + 3, 0);
    const inside = values.reduce<number>(
      (sum, value) => sum + 1 + (isObject(value) ? counted.get(value)! : leafSize(value)),
      0,
    );
    counted.set(form, more === null ? 2 + names + inside : (more.bytes ?? 0));
  }
  const size = counted.get(root)!;
  sizes.set(root, size);
  return size;
}
