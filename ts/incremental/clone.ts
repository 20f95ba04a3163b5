/**
 * Puts together what V8's serializer would write. Lists that grow come from their kept bytes (`lists.ts`), and everything
 * else is written anew.
 *
 * A value that was serialised alone is copied to an even position: see `plain.ts`. The format refers to an object that
 * was written before by its number. So nothing that is copied may contain an object twice, or share one.
 */

import { isDeepStrictEqual, types } from "node:util";
import { deserialize } from "node:v8";
import { type Bytes, joined } from "../bytes.js";
import { isPlainObject } from "./leaves.js";
import { GrowingLists } from "./lists.js";
import { leadsToList } from "./search.js";
import { PlainWriter, isOrdinary } from "./plain.js";

/** The version of V8's format that this module writes. */
const HEADER = Buffer.from([0xff, 0x0f]);
const PADDING = Buffer.from([0]);
/** The most objects beside the lists that are checked. If there are more, V8 serialises the whole value. */
const MOST_OBJECTS = 4_096;
/** The deepest nesting and the longest array beside the lists. */
const [MOST_NESTED, MOST_LENGTH] = [100, 65_536];

/** Writes a value with V8's serializer. Throws if V8 cannot write it. */
type Write = (value: unknown) => Uint8Array;

/** Serialises values that contain lists that grow. */
export class CloneWriter {
  readonly #write: Write;
  readonly #lists: GrowingLists;
  readonly #items = new PlainWriter();
  readonly #spine = new PlainWriter();
  #works: boolean | undefined;

  constructor(write: Write) {
    this.#write = write;
    this.#lists = new GrowingLists({
      render: (item) => this.#item(item),
      gap: (_, position) => (position % 2 === 0 ? undefined : PADDING),
      keepsIdentity: true,
    });
  }

  /**
   * Returns the bytes of a value. Returns undefined if V8 must serialise it as a whole, or if `unless` returns true for a
   * value with lists that may grow.
   */
  serialize(value: unknown, unless?: (value: unknown) => boolean): Bytes | undefined {
    if (!leadsToList(value, 0, this.#lists) || unless?.(value)) return undefined;
    this.#works ??= isKnownFormat(this.#write);
    if (!this.#works) return undefined;
    return this.#lists.save(() => {
      const spine = new Spine(this.#lists, this.#spine, this.#write);
      return spine.value(value, 0) && spine.isUnshared() ? spine.finish() : undefined;
    });
  }

  #item(item: object): Uint8Array {
    this.#items.begin(false);
    return this.#items.value(item) ? this.#items.take() : this.#write(item).subarray(HEADER.length);
  }
}

/** Returns true if V8 writes and reads the format that this module writes. */
function isKnownFormat(write: Write): boolean {
  const values = [
    "",
    "é",
    "日本",
    "x".repeat(200),
    1,
    -1,
    2 ** 31,
    1.5,
    -0,
    NaN,
    true,
    false,
    null,
    undefined,
    new Date(7),
  ];
  const sample = { "text é": values, 日本: [{ "": [] }, {}] };
  const writer = new PlainWriter();
  writer.begin(false);
  try {
    if (!HEADER.equals(write(sample).subarray(0, HEADER.length)) || !writer.value(sample)) return false;
    return isDeepStrictEqual(deserialize(Buffer.concat([HEADER, writer.take()])), sample);
  } catch {
    return false;
  }
}

/** Writes the objects that lead to the lists, and what is beside the lists. */
class Spine {
  readonly #lists: GrowingLists;
  readonly #writer: PlainWriter;
  readonly #write: Write;
  readonly #pieces: Uint8Array[] = [HEADER];
  /** The length of the pieces. */
  #length = HEADER.length;
  readonly #objects = new Set<object>();

  constructor(lists: GrowingLists, writer: PlainWriter, write: Write) {
    this.#lists = lists;
    this.#writer = writer;
    this.#write = write;
    writer.begin(false);
  }

  finish(): Bytes {
    this.#endPiece();
    return joined(this.#pieces, this.#length);
  }

  /** Returns true if the items of the lists contain none of the other objects. */
  isUnshared(): boolean {
    for (const object of this.#objects) if (this.#lists.isPlaced(object)) return false;
    return true;
  }

  /** Writes a value. Returns false if V8 must serialise everything as a whole. */
  value(value: unknown, depth: number): boolean {
    if (!leadsToList(value, depth, this.#lists)) return this.#other(value);
    if (!Array.isArray(value)) return this.#object(value, depth);
    return this.#lists.mayGrow(value) ? this.#list(value) : this.#array(value, depth);
  }

  #object(object: object, depth: number): boolean {
    if (!this.#isFirst(object)) return false;
    const keys = Object.keys(object);
    this.#writer.beginObject();
    let count = 0;
    for (const key in object) {
      // An inherited key is no part of the object.
      if (keys[count++] !== key || !isOrdinary(key)) return false;
      const property = Object.getOwnPropertyDescriptor(object, key);
      if (property === undefined || property.get !== undefined || property.set !== undefined) return false;
      this.#writer.text(key);
      if (!this.value(property.value, depth + 1)) return false;
    }
    this.#writer.endObject(count);
    return count === keys.length;
  }

  #array(array: unknown[], depth: number): boolean {
    if (!this.#isFirst(array) || Object.getPrototypeOf(array) !== Array.prototype) return false;
    if (Object.keys(array).length !== array.length) return false;
    this.#writer.beginArray(array.length);
    for (const item of array) if (!this.value(item, depth + 1)) return false;
    this.#writer.endArray(array.length);
    return true;
  }

  #list(list: object[]): boolean {
    if (!this.#isFirst(list)) return false;
    const grown = this.#lists.grow(list);
    if (grown === undefined) return false;
    this.#writer.beginArray(list.length);
    this.#writer.toEvenPosition();
    this.#endPiece();
    for (const piece of grown.pieces) this.#pieces.push(piece);
    this.#length += grown.byteLength;
    this.#writer.begin(this.#length % 2 === 1);
    this.#writer.endArray(list.length);
    return true;
  }

  /** Writes a value that leads to no list. */
  #other(value: unknown): boolean {
    const isPlain = this.#isUnsharedData(value, 0);
    if (isPlain === undefined) return false;
    if (isPlain) return this.#writer.value(value);
    this.#writer.append(this.#write(value).subarray(HEADER.length));
    return true;
  }

  /**
   * Returns undefined if V8 must serialise everything as a whole: if the value is no data, or an object in it was met before.
   * Returns false if only V8's serializer can write the value.
   */
  #isUnsharedData(value: unknown, depth: number): boolean | undefined {
    if (typeof value === "function" || typeof value === "symbol") return undefined;
    if (typeof value !== "object" || value === null) return typeof value !== "bigint";
    if (depth > MOST_NESTED || !this.#isFirst(value)) return undefined;
    if (Array.isArray(value)) return this.#isUnsharedArray(value, depth);
    if (isPlainObject(value)) {
      let isPlain = true;
      for (const key in value) {
        const property = Object.getOwnPropertyDescriptor(value, key);
        if (property === undefined || property.get !== undefined || property.set !== undefined) return undefined;
        const isPlainProperty = this.#isUnsharedData(property.value, depth + 1);
        if (isPlainProperty === undefined) return undefined;
        isPlain &&= isPlainProperty && isOrdinary(key);
      }
      return isPlain;
    }
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype === Uint8Array.prototype || prototype === Buffer.prototype)
      return types.isSharedArrayBuffer((value as Uint8Array).buffer) ? undefined : false;
    return prototype === Date.prototype && types.isDate(value) ? Object.keys(value).length === 0 : undefined;
  }

  #isUnsharedArray(array: unknown[], depth: number): boolean | undefined {
    if (array.length > MOST_LENGTH) return undefined;
    let isPlain = Object.getPrototypeOf(array) === Array.prototype && Object.keys(array).length === array.length;
    for (let at = 0; at < array.length; at++) {
      const isPlainItem = this.#isUnsharedData(array[at], depth + 1);
      if (isPlainItem === undefined) return undefined;
      isPlain &&= isPlainItem;
    }
    return isPlain;
  }

  #isFirst(object: object): boolean {
    if (this.#objects.has(object) || this.#objects.size >= MOST_OBJECTS || types.isProxy(object)) return false;
    this.#objects.add(object);
    return true;
  }

  #endPiece(): void {
    if (this.#writer.length === 0) return;
    const piece = this.#writer.take();
    this.#pieces.push(piece);
    this.#length += piece.length;
  }
}
