// What is in a value, in its JSON form, also where an answer leaves something out. Server and page use it.
import { type Container, containerOf, entriesOf, isRecord, typeOf } from "../../ts/bridge/json-form/form.js";

export type Step = string | number;

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

export function moreOf(form: unknown): More | null {
  return typeOf(form) === "More" ? (form as More) : null;
}

/** A value in a container. */
export interface Entry {
  /** How it is named: its key, or its number. */
  step: Step;
  /** The steps that lead to it. */
  steps: Step[];
  /** The key of a Map that is no text, in its form. */
  key?: unknown;
  value: unknown;
}

/** What is in a container: its entries, and what is left out behind them. */
export interface Inside {
  kind: Container;
  entries: Entry[];
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
  return { kind, entries: entriesIn(whole, kind), rest };
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

function entriesIn(form: unknown, kind: Container): Entry[] {
  if (kind === "List") return items(form as unknown[]);
  const typed = form as Record<string, unknown>;
  switch (kind) {
    case "Set":
      return items(typed["value"] as unknown[]);
    case "Map":
      return (typed["value"] as Array<[unknown, unknown]>).map(([key, value], step) =>
        typeof key === "string" ? named(key, value) : { step, steps: [step, 1], key, value },
      );
    case "Array": {
      const properties = typed["properties"] as Array<[string, unknown]>;
      return [...items(typed["value"] as unknown[]), ...properties.map(([key, value]) => named(key, value))];
    }
    default:
      return entriesOf(typed).map(([key, value]) => named(key, value));
  }
}

const named = (step: Step, value: unknown): Entry => ({ step, steps: [step], value });

const items = (list: readonly unknown[]): Entry[] => list.map((value, step) => named(step, value));
