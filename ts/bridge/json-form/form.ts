/**
 * The JSON form of values. JSON values stay unchanged. Every other value is an object with the key `$type`:
 *
 * | `$type` | the other keys |
 * |---|---|
 * | `Number` | `value`: `"NaN"`, `"Infinity"`, `"-Infinity"` or `"-0"` |
 * | `Undefined` | none |
 * | `Hole` | none: an element that a list does not have |
 * | `BigInt` | `value`: its decimal digits |
 * | `Date` | `value`: ISO text, or null for an invalid date |
 * | `RegExp` | `value`: `{"source","flags"}` |
 * | `Bytes` | `view`: the class, such as `"Uint8Array"`, `"Buffer"` or `"ArrayBuffer"`. `value`: base64 |
 * | `Boxed` | `value`: the primitive value of an object such as `new Number(1)` |
 * | `Map` | `value`: a list of pairs `[key, value]` |
 * | `Set` | `value`: a list |
 * | `Error` | `value`: an object with `name`, and with `message`, `stack`, `cause` and further properties if it has them |
 * | `Object` | `value`: a list of pairs `[key, value]`, for an object that has a key `$type` itself |
 * | `Array` | `value`: a list. `length`: the length. `properties`: pairs `[key, value]`, see below |
 * | `Ref` | `value`: the path, as text, of the place where the same object is written out |
 * | `Opaque` | `tag`: the serializer, or what is too large to be shown (`shown.ts`). `bytes`: the size. `base64`: the first 1,024 bytes |
 * | `More` | `path`, `count`, `of`: what an answer leaves out, see `limit.ts`. No value has it |
 *
 * `Array` is for a list with named properties, such as the result of a RegExp, and for a list that is mostly holes.
 * Elements after `value` are holes, except those among the properties.
 *
 * A path follows the values, not their form: it indexes a Map by its string keys, a Set by the number of an item, an
 * Error by the names of its properties. A number in a Map leads to an entry, `[key, value]`.
 */

/** The kinds of containers: values that contain other values. */
export type Container = "List" | "Object" | "Map" | "Set" | "Error" | "Array";

export type Pair = [key: unknown, value: unknown];
export type Entry = [key: string, value: unknown];

/** A step from a container to a value in it: a key or an index. */
export type Step = string | number;

/** The place of a value: the last step to it, and the place of the value that contains it. The root's place is null. */
export interface Place {
  parent: Place | null;
  step: Step;
}

/** Returns the steps to a place, from the root. */
export function stepsTo(place: Place | null): Step[] {
  const steps: Step[] = [];
  for (let at = place; at !== null; at = at.parent) steps.push(at.step);
  return steps.toReversed();
}

/** Returns the place that the steps lead to. The steps begin at `from`. */
export function placeOf(steps: readonly Step[], from: Place | null = null): Place | null {
  return steps.reduce((parent, step) => ({ parent, step }), from);
}

export function isRecord(form: unknown): form is Record<string, unknown> {
  return typeof form === "object" && form !== null && !Array.isArray(form);
}

/** Returns the `$type` of a form. Undefined: it has none. */
export function typeOf(form: unknown): unknown {
  return isRecord(form) && Object.hasOwn(form, "$type") ? form["$type"] : undefined;
}

const isPair = (pair: unknown): pair is Pair => Array.isArray(pair) && pair.length === 2;
const isEntry = (pair: unknown): pair is Entry => isPair(pair) && typeof pair[0] === "string";

export function isPairs(value: unknown): value is Pair[] {
  return Array.isArray(value) && value.every(isPair);
}

export function isEntries(value: unknown): value is Entry[] {
  return Array.isArray(value) && value.every(isEntry);
}

/** The form of a list with properties or with many holes. */
export interface ArrayForm {
  $type: "Array";
  value: unknown[];
  length: number;
  properties: Entry[];
}

/** Returns the step to a property of a list: a number for an element. */
export function stepOfProperty(key: string): Step {
  const index = Number(key);
  return Number.isInteger(index) && index >= 0 && index < 2 ** 32 - 1 && String(index) === key ? index : key;
}

function isArrayForm(form: Record<string, unknown>): boolean {
  const { value, length, properties } = form as Partial<ArrayForm>;
  return (
    Array.isArray(value) &&
    Number.isInteger(length) &&
    length! >= value.length &&
    length! < 2 ** 32 &&
    isEntries(properties)
  );
}

/** Returns the kind of a container's form. Null: the form is no container, or is malformed. */
export function containerOf(form: unknown): Container | null {
  if (Array.isArray(form)) return "List";
  if (!isRecord(form)) return null;
  if (!Object.hasOwn(form, "$type")) return "Object";
  switch (form["$type"]) {
    case "Object":
      return isEntries(form["value"]) ? "Object" : null;
    case "Map":
      return isPairs(form["value"]) ? "Map" : null;
    case "Set":
      return Array.isArray(form["value"]) ? "Set" : null;
    case "Error":
      return isRecord(form["value"]) ? "Error" : null;
    case "Array":
      return isArrayForm(form) ? "Array" : null;
    default:
      return null;
  }
}

/** Sets a key. `__proto__` is a key as any other. */
export function setKey(object: object, key: Step, value: unknown): void {
  if (key === "__proto__") {
    Object.defineProperty(object, key, { value, enumerable: true, writable: true, configurable: true });
  } else {
    (object as Record<Step, unknown>)[key] = value;
  }
}

/** Returns the keys and values of an `Object` or an `Error`. */
export function entriesOf(form: Record<string, unknown>): Entry[] {
  if (!Object.hasOwn(form, "$type")) return Object.entries(form);
  return form["$type"] === "Error" ? Object.entries(form["value"] as object) : (form["value"] as Entry[]);
}

/** A value in a container. */
export interface Item {
  /** The displayed name: the key, or the number. */
  step: Step;
  /** The steps that lead to the value. */
  steps: Step[];
  /** The key, if it is a string. */
  name: string | null;
  /** The form of the key in a Map, if the key is not a string. */
  key?: unknown;
  value: unknown;
}

function named(name: string, value: unknown, step: Step = name): Item {
  return { step, steps: [step], name, value };
}

export function* itemsOf(form: object, kind: Container): Generator<Item> {
  const typed = form as Record<string, unknown>;
  switch (kind) {
    case "Object":
    case "Error":
      for (const [key, value] of entriesOf(typed)) yield named(key, value);
      return;
    case "Map":
      for (const [step, [key, value]] of (typed["value"] as Pair[]).entries()) {
        yield typeof key === "string" ? named(key, value) : { step, steps: [step, 1], name: null, key, value };
      }
      return;
    default: {
      const list = kind === "List" ? (form as unknown[]) : (typed["value"] as unknown[]);
      for (const [step, value] of list.entries()) yield { step, steps: [step], name: null, value };
      if (kind !== "Array") return;
      for (const [key, value] of (form as ArrayForm).properties) yield named(key, value, stepOfProperty(key));
    }
  }
}

export function objectForm(entries: readonly Entry[]): Record<string, unknown> {
  if (entries.some(([key]) => key === "$type")) return { $type: "Object", value: entries };
  const form = {};
  for (const [key, value] of entries) setKey(form, key, value);
  return form;
}

export const hole = (): unknown => ({ $type: "Hole" });

/** Copies a form of any depth. Shared objects stay shared. */
export function copyOfForm<T>(form: T): T {
  const copies = new Map<object, object>();
  const tasks: object[] = [];
  const copyOf = (value: unknown): unknown => {
    if (typeof value !== "object" || value === null) return value;
    let copy = copies.get(value);
    if (copy === undefined) {
      copy = Array.isArray(value) ? Object.assign([], { length: value.length }) : {};
      copies.set(value, copy);
      tasks.push(value);
    }
    return copy;
  };
  const copied = copyOf(form);
  for (let task = tasks.pop(); task !== undefined; task = tasks.pop()) {
    const into = copies.get(task)!;
    for (const [key, value] of Object.entries(task)) setKey(into, key, copyOf(value));
  }
  return copied as T;
}
