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
 * What was cut says how much is missing. A text has `more`, the number of characters. A message or a result has `moreParts`, the
 * number of parts.
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

/** The content of a container: its entries, and the mark for those that are left out after them. */
export interface Inside {
  kind: Container;
  entries: Item[];
  rest: More | null;
}

/**
 * Lists the entries of a container. Null: the value is not a container.
 *
 * @param depth the number of steps that lead to the container. It tells whether the last mark stands for the end of the
 *   list, or for one item.
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

/** A cache of the sizes of containers. */
const sizes = new WeakMap<object, number>();

/** The maximum number of arguments of one call. */
const MOST_ARGUMENTS = 10_000;

/** Returns the approximate size of a form as JSON, in characters, including missing parts. Works at any depth. */
export function sizeOf(root: unknown): number {
  if (!isObject(root)) return leafSize(root);
  const stack: object[] = [root];
  while (stack.length > 0) {
    const form = stack.at(-1)!;
    const more = moreOf(form);
    const values: unknown[] = more === null && !sizes.has(form) ? Object.values(form) : [];
    const open = values.filter((value): value is object => isObject(value) && !sizes.has(value));
    if (open.length > 0) {
      // The next round takes the rest.
      stack.push(...open.slice(0, MOST_ARGUMENTS));
      continue;
    }
    stack.pop();
    if (sizes.has(form)) continue;
    const keys = Array.isArray(form) ? [] : Object.keys(form);
    const names = keys.reduce((sum, key) => sum + key.length + 3, 0);
    const inside = values.reduce<number>(
      (sum, value) => sum + 1 + (isObject(value) ? sizes.get(value)! : leafSize(value)),
      0,
    );
    sizes.set(form, more === null ? 2 + names + inside : (more.bytes ?? 0));
  }
  return sizes.get(root)!;
}
