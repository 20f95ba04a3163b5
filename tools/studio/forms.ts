// What is in a value, in its JSON form, also where an answer leaves something out. Server and page use it.
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

/** What an answer leaves out: a value, or the end of a container. `ts/inspect/limit.ts` describes it. */
export interface More {
  $type: "More";
  path: Step[];
  count: number;
  /** The kind of what is left out: a container, `"Text"`, or another type. */
  of: string;
  /** How a text begins. */
  text?: string;
  /** The size of the JSON of what is left out, in bytes. */
  bytes?: number;
}

/** A place in a value whose key or text has what is searched for. */
export interface Match {
  path: Step[];
  value: unknown;
}

export function moreOf(form: unknown): More | null {
  return typeOf(form) === "More" ? (form as More) : null;
}

/** What is in a container: its entries, and what is left out behind them. */
export interface Inside {
  kind: Container;
  entries: Item[];
  rest: More | null;
}

/**
 * Lists what is in a container. Null: the value is none.
 *
 * @param depth the number of steps that lead to the container. By it, the end of a list that is left out is told from an
 *   item that is left out.
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

/** The sizes of containers, so that each is measured once. */
const sizes = new WeakMap<object, number>();

/** How many items one call can take as arguments. */
const MOST_ARGUMENTS = 10_000;

/** The size of the JSON of a form, nearly: its characters, with what is left out. A form may be deeper than the stack. */
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
