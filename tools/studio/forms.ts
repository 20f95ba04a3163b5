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
