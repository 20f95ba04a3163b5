/** Parses and writes path expressions, and resolves them in the JSON form of a value. */

import { ForkpointError, show, typeError } from "../forkpoint-error.js";
import {
  type ArrayForm,
  type Entry,
  type Pair,
  type Place,
  type Step,
  containerOf,
  entriesOf,
  hole,
  objectForm,
  stepOfProperty,
  stepsTo,
  typeOf,
} from "./form.js";
import { safeJson, safeText } from "./json-text.js";

/** A step of a path: a key, an index (negative: from the end), or a range of indexes. */
export type PathStep = string | number | { from: number | null; to: number | null };

/** A range of the items of a list, or of the entries of an object or a Map. */
export type Range = Extract<PathStep, object>;

/** Keys without quotes. Reading a path uses `KEY`, writing one uses `PLAIN_KEY`. */
const KEY = /[^.[\]"]+/y;
const PLAIN_KEY = /^[\p{L}_$][\p{L}\p{N}_$-]*$/u;
const QUOTED = /"(?:[^"\\]|\\.)*"/sy;
const INDEX = /-?(?:0|[1-9]\d{0,14})(?=\])/y;
const RANGE = /(-?(?:0|[1-9]\d{0,14}))?:(-?(?:0|[1-9]\d{0,14}))?(?=\])/y;

/**
 * Reads a path expression: `.key`, `["any key"]`, `[0]`, `[-1]`, `[2:5]`, in a row. A leading dot may be left out.
 * @throws ForkpointError `INVALID_ARGUMENT` that names the column.
 * @example parsePath("messages[-1].content"); // ["messages", -1, "content"]
 */
export function parsePath(text: string): PathStep[] {
  if (typeof text !== "string") throw typeError(`a path must be a string, and is ${show(text)}`);
  const steps: PathStep[] = [];
  let at = 0;
  const take = (token: RegExp): RegExpExecArray | null => {
    token.lastIndex = at;
    const found = token.exec(text);
    if (found !== null) at += found[0].length;
    return found;
  };
  const bracket = (): PathStep => {
    if (text[at] === '"') {
      const from = at;
      const quoted = take(QUOTED);
      if (quoted === null) throw wrong(text, text.length, "a closing quote");
      try {
        return JSON.parse(quoted[0]) as string;
      } catch {
        throw wrong(text, from, "a key in quotes, written as JSON writes it");
      }
    }
    const index = take(INDEX);
    if (index !== null) return indexOf(index[0]);
    const range = take(RANGE);
    if (range !== null) return { from: boundOf(range[1]), to: boundOf(range[2]) };
    throw wrong(text, at, 'a key in double quotes, an index such as 0 or -1, or a range such as 2:5, and then "]"');
  };
  // A leading dot may be left out, may precede a bracket, and may be the entire path.
  if (text.startsWith(".") && (text.length === 1 || text[1] === "[")) at = 1;
  while (at < text.length) {
    if (text[at] === "[") {
      at += 1;
      steps.push(bracket());
      if (text[at] !== "]") throw wrong(text, at, '"]"');
      at += 1;
    } else {
      if (text[at] === ".") at += 1;
      else if (at > 0) throw wrong(text, at, '"." or "["');
      const key = take(KEY);
      if (key === null) throw wrong(text, at, at === 0 ? 'a key, "." or "["' : "a key");
      steps.push(key[0]);
    }
  }
  return steps;
}

/** `-0` is 0. */
const indexOf = (digits: string): number => Number(digits) + 0;
const boundOf = (digits: string | undefined): number | null => (digits === undefined ? null : indexOf(digits));

function wrong(text: string, at: number, expected: string): ForkpointError {
  const shown = safeJson(text.length > 100 ? `${text.slice(0, 100)}...` : text);
  const found = at < text.length ? safeJson(String.fromCodePoint(text.codePointAt(at)!)) : "the end";
  const message = `the path ${shown} is invalid at column ${at + 1}: expected ${expected}, but found ${found}`;
  return new ForkpointError("INVALID_ARGUMENT", message);
}

/**
 * Writes a path as {@link parsePath} reads it.
 * @example formatPath(["messages", 0, "a key"]); // 'messages[0]["a key"]'
 */
export function formatPath(path: ReadonlyArray<string | number>): string {
  let text = "";
  for (const step of path) {
    if (typeof step === "number") text += `[${step}]`;
    else if (PLAIN_KEY.test(step)) text += text === "" ? step : `.${step}`;
    else text += `[${safeJson(step)}]`;
  }
  return text;
}

export function showPlace(path: Place | null | readonly PathStep[]): string {
  const steps = path === null || "step" in path ? stepsTo(path) : path;
  if (steps.length === 0) return "the value";
  const text = safeText(steps.map((step) => formatStep(step)).join(""));
  const whole = text.startsWith(".") ? text.slice(1) : text;
  return whole.length > 400 ? `${whole.slice(0, 200)} ... ${whole.slice(-200)}` : whole;
}

function formatStep(step: PathStep): string {
  if (typeof step === "object") return `[${step.from ?? ""}:${step.to ?? ""}]`;
  return typeof step === "string" && PLAIN_KEY.test(step) ? `.${step}` : formatPath([step]);
}

/** Returns the index from the start. A negative index counts from the end. Undefined: it is out of range. */
export function indexIn(length: number, index: number): number | undefined {
  const at = index < 0 ? length + index : index;
  return at >= 0 && at < length ? at : undefined;
}

/** Returns the first index of a range, and the index after its last. */
export function boundsIn(length: number, { from, to }: Range): [from: number, to: number] {
  const clamp = (index: number) => Math.min(Math.max(index < 0 ? length + index : index, 0), length);
  return [clamp(from ?? 0), clamp(to ?? length)];
}

/** Walks through the JSON form of a value. Large Maps are indexed once. */
export class Walker {
  readonly #root: unknown;
  readonly #indexes = new Map<object, Map<unknown, number>>();

  constructor(root: unknown) {
    this.#root = root;
  }

  /** Returns the form that a step leads to, or undefined. Does not follow a `Ref`. */
  inside(form: unknown, step: Step): unknown {
    const kind = containerOf(form);
    if (kind === null) return undefined;
    if (kind === "List") return itemOf(form as unknown[], step);
    const typed = form as Record<string, unknown>;
    if (kind === "Object" && typeOf(typed) === undefined) return ownOf(typed, step);
    switch (kind) {
      case "Set":
        return itemOf(typed["value"] as unknown[], step);
      case "Error":
        return ownOf(typed["value"] as Record<string, unknown>, step);
      case "Map":
        if (typeof step === "number") return itemOf(typed["value"] as Pair[], step);
        return this.entry(typed["value"] as Pair[], step)?.[1];
      case "Array": {
        const { value, length, properties } = form as ArrayForm;
        if (typeof step === "string") return this.entry(properties, step)?.[1];
        const index = indexIn(length, step);
        if (index === undefined) return undefined;
        if (index < value.length) return value[index];
        const element = this.entry(properties, String(index));
        return element === undefined ? hole() : element[1];
      }
      default:
        return this.entry(typed["value"] as Entry[], step)?.[1];
    }
  }

  entry(pairs: readonly Pair[], key: unknown): Pair | undefined {
    if (pairs.length < 16) return pairs.find((pair) => pair[0] === key);
    let index = this.#indexes.get(pairs);
    if (index === undefined) {
      index = new Map(pairs.map((pair, i) => [pair[0], i]));
      this.#indexes.set(pairs, index);
    }
    const at = index.get(key);
    return at === undefined ? undefined : pairs[at];
  }

  /** Returns the form at the steps. Undefined: there is none, or it is a primitive value or a `Ref`. */
  target(steps: readonly Step[], from: unknown = this.#root): object | undefined {
    let form = from;
    for (const step of steps) form = this.inside(form, step);
    return typeof form === "object" && form !== null && typeOf(form) !== "Ref" ? form : undefined;
  }

  /** Returns the target of a `Ref`. Returns any other form unchanged. */
  followed(form: unknown): unknown {
    if (typeOf(form) !== "Ref") return form;
    const steps = stepsOfRef(form as object);
    return steps === null ? undefined : this.target(steps);
  }
}

/** Returns the steps of a `Ref`. Null: its path is invalid. */
export function stepsOfRef({ value }: { value?: unknown }): Step[] | null {
  try {
    const steps = parsePath(value as string);
    return steps.every((step) => typeof step !== "object") ? steps : null;
  } catch {
    return null;
  }
}

function itemOf(items: readonly unknown[], step: Step): unknown {
  const index = typeof step === "number" ? indexIn(items.length, step) : undefined;
  return index === undefined ? undefined : items[index];
}

function ownOf(record: Record<string, unknown>, step: Step): unknown {
  return typeof step === "string" && Object.hasOwn(record, step) ? record[step] : undefined;
}

/**
 * Returns the number of items of a list or a Set, or of entries of an object, an Error or a Map. Named properties of a
 * list do not count.
 */
export function lengthOf(form: unknown): number {
  switch (containerOf(form)) {
    case null:
      return 0;
    case "List":
      return (form as unknown[]).length;
    case "Array":
      return (form as ArrayForm).length;
    case "Set":
    case "Map":
      return (form as { value: unknown[] }).value.length;
    default:
      return entriesOf(form as Record<string, unknown>).length;
  }
}

/** Returns a container of the items or entries in the range, of the same kind. A part of an Error is an object. */
export function partOf(form: unknown, range: Range): unknown {
  const [from, to] = boundsIn(lengthOf(form), range);
  switch (containerOf(form)) {
    case null:
      return undefined;
    case "List":
      return (form as unknown[]).slice(from, to);
    case "Array":
      return partOfArray(form as ArrayForm, from, to);
    case "Set":
    case "Map":
      return { ...(form as object), value: (form as { value: unknown[] }).value.slice(from, to) };
    default:
      return objectForm(entriesOf(form as Record<string, unknown>).slice(from, to));
  }
}

function partOfArray({ value, properties }: ArrayForm, from: number, to: number): ArrayForm {
  const elements: Entry[] = [];
  for (const [key, each] of properties) {
    const index = stepOfProperty(key);
    if (typeof index === "number" && index >= from && index < to) elements.push([String(index - from), each]);
  }
  const length = Math.max(to - from, 0);
  return { $type: "Array", value: value.slice(from, from + length), length, properties: elements };
}

/**
 * Returns the value at a path in the JSON form of a value. Maps are indexed by their string keys. Only own keys are
 * found. Undefined: there is no such value.
 * @example valueAt({ messages: ["a", "b"] }, parsePath("messages[-1]")); // "b"
 */
export function valueAt(value: unknown, path: readonly PathStep[]): unknown {
  const walker = new Walker(value);
  let form = walker.followed(value);
  for (const step of path) {
    if (form === undefined) return undefined;
    form = walker.followed(typeof step === "object" ? partOf(form, step) : walker.inside(form, step));
  }
  return form;
}
