/** Turns values into their JSON form and back. `form.ts` describes the form. */

import { types } from "node:util";
import { ForkpointError, isOwnError, textOf } from "../errors.js";
import { type Entry, type Pair, type Place, hole, objectForm, setKey, stepOfProperty, stepsTo } from "./form.js";
import { Opaque } from "./from-json-form.js";
import { formatPath, showPlace } from "./path.js";
import { SHOWN_DEPTH, Shown } from "./shown.js";

export { fromJsonForm } from "./from-json-form.js";

/** The number of bytes shown of an opaque value. */
const SHOWN_BYTES = 1_024;
/** The minimum length of a list that is written as an `Array` if most of it is holes. */
const SPARSE_LENGTH = 1_000;
/**
 * The maximum number of characters in the paths of all `Ref`s. Otherwise, a deep value with many `Ref`s could fill the
 * memory.
 */
const MAX_REF_TEXT = 16 * 2 ** 20;

/**
 * Returns the JSON form of a value of any depth: see `CheckpointDetail`. As in a store, functions and symbols are left
 * out; in a list they become null.
 * @example toJsonForm(new Map([["a", 1n]])); // { $type: "Map", value: [["a", { $type: "BigInt", value: "1" }]] }
 */
export function toJsonForm(value: unknown): unknown {
  return new FormWriter().write(value);
}

/** Returns the JSON form of a value for display: see `shown.ts`. */
export function shownForm(value: unknown): unknown {
  return new FormWriter(new Shown()).write(value);
}

/** Returns the JSON form of a value. Throws if the display would leave anything out. */
export function shortForm(value: unknown): unknown {
  return new FormWriter(new Shown(true)).write(value);
}

interface Task {
  value: object;
  /** The container and the key to which the form of the value is written. */
  into: object;
  key: string | number;
  place: Place | null;
  depth: number;
}

const isData = (value: unknown): boolean => typeof value !== "function" && typeof value !== "symbol";

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

/** Writes values in document order. An object is written at its first place, and other places refer to it. */
class FormWriter {
  readonly #places = new Map<object, Place | null>();
  readonly #paths = new Map<object, string>();
  /** The remaining values. The next one is at the end. */
  readonly #tasks: Task[] = [];
  /** The objects in the current value, in order. */
  #inside: Task[] = [];
  /** The depth inside the current value. */
  #depth = 0;
  #refText = 0;
  readonly #shown: Shown | undefined;

  /** With `shown`, the form is limited. */
  constructor(shown?: Shown) {
    this.#shown = shown;
  }

  write(root: unknown): unknown {
    if (!isData(root)) throw unreadable(null, `a ${typeof root} is not data`);
    const out: unknown[] = [];
    this.#put(out, 0, root, null);
    this.#schedule();
    for (let task = this.#tasks.pop(); task !== undefined; task = this.#tasks.pop()) {
      const { value, into, key, place, depth } = task;
      this.#depth = depth + 1;
      try {
        setKey(into, key, this.#form(value, place));
      } catch (error) {
        if (isOwnError(error)) throw error;
        throw unreadable(place, `reading it threw ${textOf(error)}`, error);
      }
      this.#schedule();
    }
    return out[0];
  }

  #schedule(): void {
    for (let i = this.#inside.length - 1; i >= 0; i--) this.#tasks.push(this.#inside[i]!);
    this.#inside = [];
  }

  /** Writes a primitive value now, and an object later. Sets the object's key now to keep the order of the keys. */
  #put(into: object, key: string | number, value: unknown, place: Place | null): void {
    if (isObject(value)) {
      setKey(into, key, null);
      this.#inside.push({ value, into, key, place, depth: this.#depth });
    } else setKey(into, key, this.#primitive(value));
  }

  #primitive(value: unknown): unknown {
    if (typeof value === "string") this.#shown?.text(value);
    return (typeof value === "bigint" && this.#shown?.bigInt(value)) || primitiveForm(value);
  }

  #form(value: object, place: Place | null): unknown {
    if (value instanceof Opaque) return value.form;
    if (this.#shown !== undefined && this.#depth > SHOWN_DEPTH) return this.#shown.tooDeep();
    if (this.#places.has(value)) return { $type: "Ref", value: this.#pathOf(value) };
    this.#places.set(value, place);
    if (Array.isArray(value)) return this.#list(value, place);
    if (types.isProxy(value)) return this.#object(value, place);
    if (types.isDate(value)) return { $type: "Date", value: dateText(value) };
    if (types.isMap(value)) return this.#map(value, place);
    if (types.isSet(value)) return { $type: "Set", value: this.#items([...Set.prototype.values.call(value)], place) };
    if (types.isRegExp(value)) return { $type: "RegExp", value: { source: value.source, flags: value.flags } };
    if (types.isNativeError(value)) return this.#error(value, place);
    if (ArrayBuffer.isView(value) || types.isArrayBuffer(value)) return bytesForm(value);
    if (types.isSharedArrayBuffer(value)) throw unreadable(place, "shared memory is not data");
    if (types.isBoxedPrimitive(value) && !types.isSymbolObject(value)) {
      return { $type: "Boxed", value: this.#primitive((value as { valueOf(): unknown }).valueOf()) };
    }
    return this.#object(value, place);
  }

  #pathOf(value: object): string {
    let path = this.#paths.get(value);
    if (path === undefined) {
      path = formatPath(stepsTo(this.#places.get(value)!));
      this.#paths.set(value, path);
    }
    this.#refText += path.length;
    if (this.#refText > MAX_REF_TEXT) {
      throw new ForkpointError(
        "UNSUPPORTED",
        "the value has no JSON form: the paths of its repeated objects have more than " +
          `${MAX_REF_TEXT} characters in total`,
      );
    }
    return path;
  }

  #list(list: unknown[], place: Place | null): unknown {
    const keys = Object.keys(list);
    const { length } = list;
    // Indexes precede all other keys, in order. If the last key is the last index, all keys are indexes.
    if (keys.length === length && (length === 0 || keys[length - 1] === String(length - 1))) {
      return this.#items(list, place);
    }
    const sparse = length > SPARSE_LENGTH && keys.length < length / 2;
    const named = keys.filter((key) => sparse || typeof stepOfProperty(key) === "string");
    const value = sparse ? [] : this.#items(list, place);
    if (!sparse && named.length === 0) return value;
    const properties: Entry[] = [];
    for (const key of named) {
      const each = (list as unknown as Record<string, unknown>)[key];
      const step = stepOfProperty(key);
      if (typeof step === "string" && !isData(each)) continue;
      const entry: Entry = [key, null];
      properties.push(entry);
      this.#put(entry, 1, isData(each) ? each : null, { parent: place, step });
    }
    return { $type: "Array", value, length, properties };
  }

  #items(items: readonly unknown[], parent: Place | null): unknown[] {
    const into: unknown[] = [];
    for (let i = 0; i < items.length; i++) {
      const item = items[i];
      if (item === undefined && !Object.hasOwn(items, i)) into.push(hole());
      else if (isObject(item)) this.#put(into, i, item, { parent, step: i });
      else into.push(isData(item) ? this.#primitive(item) : null);
    }
    return into;
  }

  #map(map: Map<unknown, unknown>, parent: Place | null): unknown {
    const pairs: Pair[] = [];
    for (const [key, value] of Map.prototype.entries.call(map)) {
      if (!isData(key) || !isData(value)) continue;
      const pair: Pair = [null, null];
      const entry: Place = { parent, step: typeof key === "string" ? key : pairs.length };
      const inner = (step: number): Place => (typeof key === "string" ? entry : { parent: entry, step });
      this.#put(pair, 0, key, inner(0));
      this.#put(pair, 1, value, inner(1));
      pairs.push(pair);
    }
    return { $type: "Map", value: pairs };
  }

  #error(error: Error, place: Place | null): unknown {
    const own = ["message", "stack", "cause"].filter((key) => Object.hasOwn(error, key));
    const value = {};
    for (const key of new Set(["name", ...own, ...Object.keys(error)])) this.#property(value, error, key, place);
    return { $type: "Error", value };
  }

  #object(object: object, place: Place | null): unknown {
    if (Object.hasOwn(object, "$type")) {
      const entries: Entry[] = [];
      for (const key of Object.keys(object)) {
        const entry: Entry = [key, null];
        const value = (object as Record<string, unknown>)[key];
        if (!isData(value)) continue;
        entries.push(entry);
        this.#put(entry, 1, value, { parent: place, step: key });
      }
      return objectForm(entries);
    }
    const form = {};
    for (const key of Object.keys(object)) this.#property(form, object, key, place);
    return form;
  }

  #property(into: object, from: object, key: string, parent: Place | null): void {
    const value = (from as Record<string, unknown>)[key];
    if (isData(value)) this.#put(into, key, value, { parent, step: key });
  }
}

function primitiveForm(value: unknown): unknown {
  switch (typeof value) {
    case "number":
      if (Number.isFinite(value) && !Object.is(value, -0)) return value;
      return { $type: "Number", value: Object.is(value, -0) ? "-0" : String(value) };
    case "bigint":
      return { $type: "BigInt", value: String(value) };
    case "undefined":
      return { $type: "Undefined" };
    default:
      return value;
  }
}

function dateText(date: Date): string | null {
  const time = Date.prototype.getTime.call(date);
  return Number.isNaN(time) ? null : new Date(time).toISOString();
}

const base64 = (bytes: ArrayBufferView | ArrayBuffer): string =>
  (ArrayBuffer.isView(bytes)
    ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    : Buffer.from(bytes)
  ).toString("base64");

function bytesForm(bytes: ArrayBufferView | ArrayBuffer): unknown {
  const view = Buffer.isBuffer(bytes) ? "Buffer" : Object.prototype.toString.call(bytes).slice(8, -1);
  return { $type: "Bytes", view, value: base64(bytes) };
}

/** Makes the placeholder for unreadable bytes. Its form has the tag, the size and the first bytes. */
export function opaque(tag: string, bytes: Uint8Array): Opaque {
  const begin = base64(bytes.subarray(0, SHOWN_BYTES));
  return new Opaque({ $type: "Opaque", tag, bytes: bytes.byteLength, base64: begin });
}

function unreadable(place: Place | null, why: string, cause?: unknown): ForkpointError {
  const message = `${showPlace(place)} has no JSON form: ${why}`;
  return new ForkpointError("INVALID_ARGUMENT", message, cause === undefined ? {} : { cause });
}
