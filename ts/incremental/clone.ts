/**
 * Puts together what V8's serializer would write. Lists that grow come from their kept bytes (`lists.ts`), and V8's
 * serializer writes everything else.
 *
 * In V8's format an array of n items is `A n`, the items, `$ 0 n`. An object is `o`, its keys and values, `{ n`. Numbers are
 * varints. The characters of a string with two bytes each begin at an even position. So a value that V8 has serialised
 * is only copied to an even position, which a byte 0 before it fills up. The format refers to an object that was
 * written before by its number. So nothing that is copied may contain an object twice, or share one.
 */

import { isDeepStrictEqual, types } from "node:util";
import { deserialize } from "node:v8";
import { type Bytes, joined, whole } from "../bytes.js";
import { isPlainObject } from "./leaves.js";
import { GrowingLists, mayGrow } from "./lists.js";

/** The version of V8's format that this module writes. */
const HEADER = Buffer.from([0xff, 0x0f]);
const PADDING = Buffer.from([0]);
/** Lists are looked for in objects that are nested up to this depth. */
const MOST_DEEP = 3;
/** The most objects beside the lists that are checked. If there are more, V8 serialises the whole value. */
const MOST_OBJECTS = 4_096;
const MOST_KEYS = 1_024;
/** V8's serializer writes longer strings. */
const MOST_TEXT = 256;

/** Writes a value with V8's serializer. Throws if V8 cannot write it. */
type Write = (value: unknown) => Uint8Array;

/** Serialises values that contain lists that grow. */
export class CloneWriter {
  readonly #write: Write;
  readonly #lists: GrowingLists;
  #works: boolean | undefined;

  constructor(write: Write) {
    this.#write = write;
    this.#lists = new GrowingLists({
      render: (item) => this.#write(item).subarray(HEADER.length),
      gap: (_, position) => (position % 2 === 0 ? undefined : PADDING),
      keepsIdentity: true,
    });
  }

  /** Returns the bytes of a value. Returns undefined if V8 must serialise it as a whole. */
  serialize(value: unknown): Bytes | undefined {
    if (!leadsToList(value, 0)) return undefined;
    this.#works ??= isKnownFormat(this.#write);
    if (!this.#works) return undefined;
    this.#lists.begin();
    const spine = new Spine(this.#lists, this.#write);
    return spine.value(value, 0) && spine.isUnshared() ? spine.finish() : undefined;
  }
}

/** Returns true if V8 writes the format that this module writes. */
function isKnownFormat(write: Write): boolean {
  const sample = { "text é": ["a", "日本", 1, -1, 1.5, true, null, undefined, { "": [] }], two: -0, three: 2 ** 31 };
  const spine = new Spine(undefined, write);
  try {
    if (!HEADER.equals(write(sample).subarray(0, HEADER.length)) || !spine.value(sample, 0)) return false;
    return isDeepStrictEqual(deserialize(whole(spine.finish())), sample);
  } catch {
    return false;
  }
}

/** Returns true if the value is a list that may grow, or a plain object or a short list that contains one. */
function leadsToList(value: unknown, depth: number): value is object {
  if (typeof value !== "object" || value === null || types.isProxy(value)) return false;
  if (mayGrow(value)) return true;
  if (depth >= MOST_DEEP) return false;
  if (Array.isArray(value)) return value.length === 1 && leadsToList(value[0], depth + 1);
  if (!isPlainObject(value)) return false;
  let keys = 0;
  for (const key in value) {
    if (++keys > MOST_KEYS) return false;
    const property = Object.getOwnPropertyDescriptor(value, key);
    if (property !== undefined && property.get === undefined && leadsToList(property.value, depth + 1)) return true;
  }
  return false;
}

const INDEX = /^(0|[1-9]\d*)$/;
const LATIN1 = /^[\0-\xff]*$/;

/** Writes the objects that lead to the lists, and what is beside the lists. */
class Spine {
  readonly #lists: GrowingLists | undefined;
  readonly #write: Write;
  readonly #pieces: Uint8Array[] = [];
  /** What follows the last piece. */
  #rest: Uint8Array[] = [HEADER];
  #position = HEADER.length;
  readonly #objects = new Set<object>();

  constructor(lists: GrowingLists | undefined, write: Write) {
    this.#lists = lists;
    this.#write = write;
  }

  finish(): Bytes {
    this.#endRest();
    return joined(this.#pieces, this.#position);
  }

  /** Returns true if the items of the lists contain none of the other objects. */
  isUnshared(): boolean {
    for (const object of this.#objects) if (this.#lists?.isPlaced(object)) return false;
    return true;
  }

  /** Writes a value. Returns false if V8 must serialise everything as a whole. */
  value(value: unknown, depth: number): boolean {
    switch (typeof value) {
      case "string":
        return this.#text(value);
      case "number":
        return this.#number(value);
      case "boolean":
        return this.#push(value ? TRUE : FALSE);
      case "undefined":
        return this.#push(UNDEFINED);
      case "object":
        if (value === null) return this.#push(NULL);
        if (this.#lists === undefined ? depth > 1 : !leadsToList(value, depth)) return this.#other(value);
        if (!Array.isArray(value)) return this.#object(value, depth);
        return mayGrow(value) ? this.#list(value) : this.#array(value, depth);
      default:
        return this.#other(value);
    }
  }

  #object(object: object, depth: number): boolean {
    if (!this.#isFirst(object) || !isPlainObject(object)) return false;
    const keys = Object.keys(object);
    this.#push(OBJECT);
    let count = 0;
    for (const key in object) {
      // V8 writes an index as a number. An inherited key is no part of the object.
      if (keys[count++] !== key || INDEX.test(key) || key === "__proto__") return false;
      const property = Object.getOwnPropertyDescriptor(object, key);
      if (property === undefined || property.get !== undefined || property.set !== undefined) return false;
      if (!this.#text(key) || !this.value(property.value, depth + 1)) return false;
    }
    return count === keys.length && this.#push(tagged("{", count));
  }

  #array(array: unknown[], depth: number): boolean {
    if (!this.#isFirst(array) || Object.getPrototypeOf(array) !== Array.prototype) return false;
    if (Object.keys(array).length !== array.length) return false;
    this.#push(tagged("A", array.length));
    for (const item of array) if (!this.value(item, depth + 1)) return false;
    return this.#push(tagged("$", 0, array.length));
  }

  #list(list: object[]): boolean {
    if (!this.#isFirst(list)) return false;
    const grown = this.#lists?.grow(list);
    if (grown === undefined) return false;
    this.#push(tagged("A", list.length));
    this.#toEvenPosition();
    this.#endRest();
    for (const piece of grown.pieces) this.#pieces.push(piece);
    this.#position += grown.byteLength;
    return this.#push(tagged("$", 0, list.length));
  }

  /** Writes a value with V8's serializer. */
  #other(value: unknown): boolean {
    if (!this.#isUnsharedData(value, 0)) return false;
    this.#toEvenPosition();
    return this.#push(this.#write(value).subarray(HEADER.length));
  }

  /** Returns true if the value is plain data, and no object in it was met before. */
  #isUnsharedData(value: unknown, depth: number): boolean {
    if (typeof value === "function" || typeof value === "symbol") return false;
    if (typeof value !== "object" || value === null) return true;
    if (depth > 100 || !this.#isFirst(value)) return false;
    if (Array.isArray(value)) {
      for (let at = 0; at < value.length; at++) if (!this.#isUnsharedData(value[at], depth + 1)) return false;
      return true;
    }
    if (isPlainObject(value)) {
      for (const key in value) {
        const property = Object.getOwnPropertyDescriptor(value, key);
        if (property === undefined || property.get !== undefined || property.set !== undefined) return false;
        if (!this.#isUnsharedData(property.value, depth + 1)) return false;
      }
      return true;
    }
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype === Uint8Array.prototype || prototype === Buffer.prototype)
      return !types.isSharedArrayBuffer((value as Uint8Array).buffer);
    return prototype === Date.prototype;
  }

  #isFirst(object: object): boolean {
    if (this.#objects.has(object) || this.#objects.size >= MOST_OBJECTS || types.isProxy(object)) return false;
    this.#objects.add(object);
    return true;
  }

  #number(value: number): boolean {
    if (!Number.isInteger(value) || Math.abs(value) >= 2 ** 30 || Object.is(value, -0)) return this.#other(value);
    // An integer is written with its sign in the lowest bit.
    return this.#push(tagged("I", value >= 0 ? value * 2 : -value * 2 - 1));
  }

  #text(text: string): boolean {
    if (text.length > MOST_TEXT || !LATIN1.test(text)) return this.#other(text);
    return this.#push(tagged('"', text.length)) && this.#push(Buffer.from(text, "latin1"));
  }

  #toEvenPosition(): void {
    if (this.#position % 2 === 1) this.#push(PADDING);
  }

  #push(bytes: Uint8Array): true {
    this.#rest.push(bytes);
    this.#position += bytes.length;
    return true;
  }

  #endRest(): void {
    this.#pieces.push(this.#rest.length === 1 ? this.#rest[0]! : Buffer.concat(this.#rest));
    this.#rest = [];
  }
}

const [TRUE, FALSE, UNDEFINED, NULL, OBJECT] = ["T", "F", "_", "0", "o"].map((tag) => Buffer.from(tag)) as [
  Buffer,
  Buffer,
  Buffer,
  Buffer,
  Buffer,
];

/** Returns a tag and the numbers that follow it. */
function tagged(tag: string, ...numbers: number[]): Uint8Array {
  const bytes = [tag.charCodeAt(0)];
  for (const number of numbers) {
    let left = number;
    for (; left >= 128; left = Math.floor(left / 128)) bytes.push((left % 128) + 128);
    bytes.push(left);
  }
  return Buffer.from(bytes);
}
