/**
 * Puts together what V8's serializer would write. Lists that grow come from their kept bytes (`lists.ts`), and everything
 * else is written anew.
 *
 * A value that was serialised alone is copied to an even position: see `plain.ts`. The format refers to an object that
 * was written before by its number. So nothing that is copied may contain an object twice, or share one.
 */

import { isDeepStrictEqual } from "node:util";
import { deserialize } from "node:v8";
import { type Bytes, joined } from "../bytes.js";
import { isDense } from "../exact-json.js";
import { OTHER, PLAIN, dataProperty, record } from "./leaves.js";
import { GrowingLists } from "./lists.js";
import { leadsToList } from "./search.js";
import { PlainWriter, isOrdinary } from "./plain.js";

/** The version of V8's format that this module writes. */
const HEADER = Buffer.from([0xff, 0x0f]);
const PADDING = Buffer.from([0]);
/** The most objects beside the lists that are checked. If there are more, V8 serialises the whole value. */
const MOST_OBJECTS = 4_096;

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
      // Every item begins at an even position.
      between: (byteLength) => (byteLength % 2 === 0 ? undefined : PADDING),
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
      const property = dataProperty(object, key);
      if (property === undefined) return false;
      this.#writer.text(key);
      if (!this.value(property.value, depth + 1)) return false;
    }
    this.#writer.endObject(count);
    return count === keys.length;
  }

  /** Writes an array of one item that leads to a list. */
  #array(array: unknown[], depth: number): boolean {
    if (!this.#isFirst(array) || Object.getPrototypeOf(array) !== Array.prototype || !isDense(array)) return false;
    this.#writer.beginArray(1);
    if (!this.value(array[0], depth + 1)) return false;
    this.#writer.endArray(1);
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
    if (typeof value === "function" || typeof value === "symbol") return false;
    const objects: object[] = [];
    const kind = typeof value === "object" && value !== null ? record(value, [], objects) : PLAIN;
    if (kind === OTHER || !objects.every((object) => this.#isFirst(object))) return false;
    if (kind < PLAIN || !this.#writer.value(value)) this.#writer.append(this.#write(value).subarray(HEADER.length));
    return true;
  }

  #isFirst(object: object): boolean {
    if (this.#objects.has(object) || this.#objects.size >= MOST_OBJECTS) return false;
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
