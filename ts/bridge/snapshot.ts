/**
 * Prepares values for structured clone by JSON's rules: it calls `toJSON`, calls own getters once, leaves out functions
 * and symbols, and refuses a value that cannot be stored, with its path.
 */

import { types } from "node:util";
import { isOwnError, refusal, textOf } from "./errors.js";
import { warn } from "./warnings.js";

/**
 * The deepest nesting that is stored. V8 reads back fewer levels than it writes: 1,900 with its default stack, measured
 * on Node 20. Deeper values must therefore be refused before they are written.
 */
const MAX_DEPTH = 1_500;

/** The maximum nesting that is checked. A deeper value is copied with `plainCopy` before it is serialized. */
const CHECK_DEPTH = 200;
const CHECK_LENGTH = 65_536;

/** The maximum number of values or characters for which JSON is faster than V8's serializer. */
const SMALL_VALUES = 256;
const SMALL_TEXT = 2_048;

/**
 * Returns true if a value is small and JSON stores it exactly as structured clone would. For small values, setting up
 * V8's serializer takes longer than writing JSON. Stops reading a large value at the limit for small ones.
 */
export function isSmallJson(value: unknown): boolean {
  return new Walk(true).isData(value, 0);
}

/**
 * Returns true if V8's serializer can store a value without a copy: plain data without getters, which would be called
 * twice. Returns false in doubt. Changes nothing, and calls no functions of the value except a proxy's traps.
 */
export function isPlainData(value: unknown): boolean {
  return new Walk(false).isData(value, 0);
}

class Walk {
  /** True if only values that JSON can store count as data. */
  readonly #small: boolean;
  #values = SMALL_VALUES;
  #text = SMALL_TEXT;
  readonly #seen = new Set<object>();

  constructor(small: boolean) {
    this.#small = small;
  }

  isData(value: unknown, depth: number): boolean {
    if (this.#small && --this.#values < 0) return false;
    switch (typeof value) {
      case "string":
        return this.#hasText(value.length);
      case "number":
        return !this.#small || (Number.isFinite(value) && !Object.is(value, -0));
      case "boolean":
        return true;
      case "object":
        return value === null || (depth < CHECK_DEPTH && this.#isObject(value, depth + 1));
      case "function":
      case "symbol":
        return false;
      default:
        return !this.#small;
    }
  }

  #hasText(length: number): boolean {
    return !this.#small || (this.#text -= length) >= 0;
  }

  #isObject(value: object, depth: number): boolean {
    if (this.#small) {
      // Structured clone keeps an object that occurs twice as one object. JSON would store two.
      if (this.#seen.has(value) || types.isProxy(value)) return false;
      this.#seen.add(value);
    }
    if (Array.isArray(value)) return this.#isArray(value, depth);
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype === Object.prototype || prototype === null) return this.#isPlainObject(value, depth);
    if (this.#small) return false;
    if (prototype === Uint8Array.prototype || prototype === Buffer.prototype) {
      return !types.isSharedArrayBuffer((value as Uint8Array).buffer);
    }
    return prototype === Date.prototype;
  }

  #isArray(array: unknown[], depth: number): boolean {
    const { length } = array;
    if (length > (this.#small ? SMALL_VALUES : CHECK_LENGTH)) return false;
    // JSON loses an array's named properties, and turns a hole into null.
    if (this.#small && Object.keys(array).length !== length) return false;
    for (let i = 0; i < length; i++) if (!this.isData(array[i], depth)) return false;
    return true;
  }

  #isPlainObject(object: object, depth: number): boolean {
    for (const key in object) {
      if (this.#small && !this.#hasText(key === "__proto__" ? Number.POSITIVE_INFINITY : key.length)) return false;
      const property = Object.getOwnPropertyDescriptor(object, key);
      if (property === undefined || property.get !== undefined || property.set !== undefined) return false;
      if (!this.isData(property.value, depth)) return false;
    }
    return typeof (object as { toJSON?: unknown }).toJSON !== "function";
  }
}

/** Copies a value so that structured clone stores it as documented. Shared and circular references are kept. */
export function plainCopy(value: unknown, path: string, fromToJSON = false): unknown {
  const copy = new Copy(path).value(value, "", fromToJSON);
  if (copy === LEFT_OUT) throw refusal(path, `a ${typeof value} is not data`);
  return copy;
}

const LEFT_OUT = Symbol("left out");
// Compile this expression when the module loads. An error message may need a path when little stack is left.
const NAME = /^[A-Za-z_$][\w$]{0,99}$/;
const INDEX = /^\d{1,15}$/;
NAME.test("name");
INDEX.test("0");
const TOO_DEEP = `it is nested deeper than ${MAX_DEPTH} levels`;

class Copy {
  readonly #root: string;
  /** The keys from the root to the current value. */
  readonly #keys: PropertyKey[] = [];
  readonly #copies = new Map<object, unknown>();

  constructor(root: string) {
    this.#root = root;
  }

  /**
   * `fromToJSON` is true if the value is the result of a toJSON. The value's own toJSON is then not called, as in JSON.
   */
  value(value: unknown, key: string, fromToJSON = false): unknown {
    if (typeof value === "function" || typeof value === "symbol") {
      if (this.#keys.length > 0 && warned.size < MAX_PLACES) warnLeftOut(this.#path(), typeof value);
      return LEFT_OUT;
    }
    if (typeof value !== "object" || value === null) return value;
    const known = this.#copies.get(value);
    if (known !== undefined) return known;
    if (this.#keys.length > MAX_DEPTH) throw refusal(this.#root, TOO_DEEP);
    try {
      return this.#object(value, key, fromToJSON);
    } catch (error) {
      if (isOwnError(error)) throw error;
      if (types.isNativeError(error) && error instanceof RangeError)
        throw refusal(this.#root, "it is nested too deeply for the remaining stack", error);
      // A getter, a toJSON or a proxy's trap threw.
      throw refusal(this.#path(), `reading it threw ${textOf(error)}`, error);
    }
  }

  #object(value: object, key: string, fromToJSON: boolean): unknown {
    // `#keep` records the copy for further references to the same object. The result of a toJSON is not recorded: if
    // the same object appears elsewhere, its own toJSON must be called there.
    const keep = <T extends object>(copy: T): T => (fromToJSON ? copy : this.#keep(value, copy));
    // Create the array with the length of the original. Elements that are not copied stay holes.
    if (Array.isArray(value))
      return this.#properties(value, keep(Object.assign([] as unknown[], { length: value.length })));
    if (!types.isProxy(value)) {
      if (types.isMap(value)) return this.#map(value);
      if (types.isSet(value)) return this.#set(value);
      if (isNative(value)) {
        const why = whyNot(value);
        if (why !== undefined) throw refusal(this.#path(), why);
        return types.isNativeError(value) ? this.#error(value) : value;
      }
    }
    const toJSON: unknown = fromToJSON ? undefined : (value as { toJSON?: unknown }).toJSON;
    if (typeof toJSON === "function") {
      const copy = this.value(Reflect.apply(toJSON, value, [key]), key, true);
      return copy === LEFT_OUT ? copy : this.#keep(value, copy);
    }
    if (!isOpaque(value)) return this.#properties(value, keep({}));
    throw refusal(this.#path(), `a ${brand(value)} is not data`);
  }

  /**
   * Copies an Error and, like any other value, its cause. Of its other properties, only those that structured clone
   * keeps are copied.
   */
  #error(value: Error): Error {
    const copy = this.#keep(value, new Error(value.message));
    Object.defineProperty(copy, "name", { value: value.name });
    if (value.stack !== undefined) copy.stack = value.stack;
    if (!Object.hasOwn(value, "message")) delete (copy as Partial<Error>).message;
    if (Object.hasOwn(value, "cause")) {
      this.#keys.push("cause");
      const cause = this.value(value.cause, "cause");
      this.#keys.pop();
      if (cause !== LEFT_OUT) copy.cause = cause;
    }
    return copy;
  }

  #keep<T>(value: object, copy: T): T {
    this.#copies.set(value, copy);
    return copy;
  }

  #properties<T extends object>(from: object, to: T): T {
    for (const key of Object.keys(from)) {
      this.#keys.push(key);
      let copy = this.value((from as Record<string, unknown>)[key], key);
      this.#keys.pop();
      if (copy === LEFT_OUT) {
        // As in JSON, an omitted array element becomes null, so that the other elements keep their index.
        if (!Array.isArray(to) || !INDEX.test(key)) continue;
        copy = null;
      }
      // Define the property instead of assigning it, so that "__proto__" is an ordinary key.
      Object.defineProperty(to, key, { value: copy, enumerable: true, writable: true, configurable: true });
    }
    return to;
  }

  #map(value: Map<unknown, unknown>): Map<unknown, unknown> {
    const copy = this.#keep(value, new Map<unknown, unknown>());
    let index = 0;
    for (const [key, item] of Map.prototype.entries.call(value)) {
      this.#keys.push(index++);
      const [newKey, newItem] = [this.value(key, ""), this.value(item, "")];
      this.#keys.pop();
      if (newKey !== LEFT_OUT && newItem !== LEFT_OUT) copy.set(newKey, newItem);
    }
    return copy;
  }

  #set(value: Set<unknown>): Set<unknown> {
    const copy = this.#keep(value, new Set<unknown>());
    let index = 0;
    for (const item of Set.prototype.values.call(value)) {
      this.#keys.push(index++);
      const newItem = this.value(item, "");
      this.#keys.pop();
      if (newItem !== LEFT_OUT) copy.add(newItem);
    }
    return copy;
  }

  #path(): string {
    const path = this.#keys.reduce<string>((path, key) => {
      if (typeof key === "string" && NAME.test(key)) return path === "" ? key : `${path}.${key}`;
      const text = typeof key === "string" && !INDEX.test(key) ? JSON.stringify(key.slice(0, 100)) : String(key);
      return `${path}[${text}]`;
    }, this.#root);
    return path.length > 400 ? `${path.slice(0, 200)} ... ${path.slice(-200)}` : path;
  }
}

/** Returns true if structured clone keeps the type of this object. */
function isNative(value: object): boolean {
  return (
    types.isDate(value) ||
    types.isRegExp(value) ||
    types.isNativeError(value) ||
    types.isBoxedPrimitive(value) ||
    types.isAnyArrayBuffer(value) ||
    ArrayBuffer.isView(value)
  );
}

/** Returns the reason why a native object cannot be stored, or undefined if it can be stored. */
function whyNot(value: object): string | undefined {
  if (types.isSymbolObject(value)) return "a symbol is not data";
  const buffer = ArrayBuffer.isView(value) ? value.buffer : value;
  if (types.isSharedArrayBuffer(buffer)) return "shared memory can change while it is being stored";
  if (types.isArrayBuffer(buffer) && isDetached(buffer)) return "its memory was transferred away";
  return undefined;
}

function isDetached(buffer: ArrayBuffer): boolean {
  if (buffer.byteLength > 0) return false;
  try {
    return new Uint8Array(buffer).length > 0;
  } catch {
    return true;
  }
}

/**
 * Returns true if the object keeps its content outside its properties, as a Promise, WeakMap, Blob or Headers does.
 * Such an object would be stored as an empty object. Instances of a user's class keep their content in properties, so
 * they can be stored.
 */
function isOpaque(value: object): boolean {
  if (types.isProxy(value)) return false;
  if (types.isPromise(value) || types.isWeakMap(value) || types.isWeakSet(value) || types.isGeneratorObject(value)) {
    return true;
  }
  return brand(value) !== "Object" && brand(value) !== "Arguments" && Object.keys(value).length === 0;
}

function brand(value: object): string {
  return Object.prototype.toString.call(value).slice(8, -1);
}

/** The maximum number of paths that a process or worker thread reports and remembers. */
const MAX_PLACES = 100;

const warned = new Set<string>();

function warnLeftOut(path: string, what: string): void {
  if (warned.has(path)) return;
  warned.add(path);
  const others = warned.size === MAX_PLACES ? " Further places are not reported." : "";
  warn(
    "FORKPOINT_LEFT_OUT",
    `${path} is a ${what}, which is not data: it is left out of the checkpoint, as JSON.stringify does. ` +
      `This warning is emitted once for each place.${others}`,
    null,
  );
}
