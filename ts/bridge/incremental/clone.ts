/**
 * Puts together what V8's serializer would write. V8 writes the value with a marker in the place of each list that grows,
 * and the bytes of the list take the place of the marker.
 *
 * The format refers to an object that was written before by its number. So neither the lists nor what is beside them may
 * contain an object twice. A text of two bytes a character begins at an even position, so every part stays at a position that
 * is even or odd as it was. The byte 0 before a value fills up the place.
 */

import { randomBytes } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { deserialize } from "node:v8";
import { type Bytes, joined, whole } from "../bytes.js";
import { isDense } from "../exact-json.js";
import { OTHER, dataProperty, record } from "./leaves.js";
import { type Grown, GrowingLists } from "./lists.js";

/** The version of V8's format that this module writes. */
const HEADER = Buffer.from([0xff, 0x0f]);
/** An array of n items is `A n`, the items, `$ 0 n`. */
const [ARRAY, ARRAY_END, PADDING] = [0x41, 0x24, 0];
/** V8 writes bytes as this tag, their type, their length and the bytes. */
const [BYTES, BYTES_HEAD] = [0x5c, 3];
const MARKER = randomBytes(24);

/** The most objects beside the lists that are checked. If there are more, V8 serialises the whole value. */
const MOST_OBJECTS = 4_096;

/** Stands for a value that V8 must serialise as a whole. */
const WHOLE = Symbol("whole");

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
      render: (item) => write(item).subarray(HEADER.length),
      between: (byteLength) => (byteLength % 2 === 0 ? undefined : Buffer.of(PADDING)),
      keepsIdentity: true,
    });
  }

  /**
   * Returns the bytes of a value. Returns undefined if V8 must serialise it as a whole, or if `unless` returns true for a
   * value with lists that may grow.
   */
  serialize(value: unknown, unless?: (value: unknown) => boolean): Bytes | undefined {
    if (!this.#lists.leadsToList(value) || unless?.(value)) return undefined;
    this.#works ??= isKnownFormat(this.#write);
    if (!this.#works) return undefined;
    return this.#lists.save(() => {
      const beside = new Beside(this.#lists);
      const copy = beside.copy(value, 0);
      return copy === WHOLE || !beside.isUnshared() ? undefined : withLists(this.#write(copy), beside.grown);
    });
  }
}

/** Returns true if V8 writes and reads the format that this module writes. */
function isKnownFormat(write: Write): boolean {
  const items = [{ "text é": "é", 日本: "日本" }, { date: new Date(7), list: [undefined, null, 1n, 1.5] }, {}];
  try {
    const pieces = items.map((item) => write(item).subarray(HEADER.length));
    const even = pieces.flatMap((piece) => [piece, Buffer.alloc(piece.length % 2)]);
    const list = { length: items.length, pieces: even };
    const bytes = whole(withLists(write({ a: "日本", items: Uint8Array.from(MARKER), z: "日本" }), [list])!);
    const isRead = isDeepStrictEqual(deserialize(bytes), { a: "日本", items, z: "日本" });
    return isRead && HEADER.equals(bytes.subarray(0, HEADER.length));
  } catch {
    return false;
  }
}

/** Puts lists in the places of the markers. Returns undefined if it does not find as many markers. */
function withLists(bytes: Uint8Array, lists: ReadonlyArray<Pick<Grown, "length" | "pieces">>) {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const pieces: Uint8Array[] = [];
  let [from, byteLength] = [0, 0];
  const add = (piece: Uint8Array) => {
    pieces.push(piece);
    byteLength += piece.length;
  };
  for (const list of lists) {
    const at = buffer.indexOf(MARKER, from) - BYTES_HEAD;
    if (at < from || buffer[at] !== BYTES) return undefined;
    add(buffer.subarray(from, at));
    from = at + BYTES_HEAD + MARKER.length;
    const length = varint(list.length);
    // The items begin at an even position.
    if ((byteLength + 1 + length.length) % 2 === 1) add(Buffer.of(PADDING));
    add(Buffer.of(ARRAY, ...length));
    for (const piece of list.pieces) add(piece);
    add(Buffer.of(ARRAY_END, 0, ...length));
    if ((byteLength - from) % 2 !== 0 && from < buffer.length) add(Buffer.of(PADDING));
  }
  if (buffer.includes(MARKER, from)) return undefined;
  add(buffer.subarray(from));
  return joined(pieces, byteLength);
}

function varint(number: number): number[] {
  return number < 128 ? [number] : [(number % 128) + 128, ...varint(Math.floor(number / 128))];
}

/** What is beside the lists. */
class Beside {
  readonly grown: Grown[] = [];
  readonly #lists: GrowingLists;
  readonly #objects = new Set<object>();

  constructor(lists: GrowingLists) {
    this.#lists = lists;
  }

  /** Returns true if the items of the lists contain none of the other objects. */
  isUnshared(): boolean {
    for (const object of this.#objects) if (this.#lists.isPlaced(object)) return false;
    return true;
  }

  /** Copies a value with a marker in the place of each list. What leads to no list is not copied. */
  copy(value: unknown, depth: number): unknown {
    if (!this.#lists.leadsToList(value, depth)) return this.#isUnsharedData(value) ? value : WHOLE;
    if (!this.#isFirst(value)) return WHOLE;
    if (this.#lists.mayGrow(value)) {
      const grown = this.#lists.grow(value);
      if (grown === undefined) return WHOLE;
      this.grown.push(grown);
      return Uint8Array.from(MARKER);
    }
    if (Array.isArray(value)) {
      if (Object.getPrototypeOf(value) !== Array.prototype || !isDense(value)) return WHOLE;
      const item = this.copy(value[0], depth + 1);
      return item === WHOLE ? WHOLE : [item];
    }
    const copies: Array<[string, unknown]> = [];
    for (const key of Object.keys(value)) {
      const property = dataProperty(value, key);
      const copy = property === undefined ? WHOLE : this.copy(property.value, depth + 1);
      if (copy === WHOLE) return WHOLE;
      copies.push([key, copy]);
    }
    return Object.fromEntries(copies);
  }

  #isUnsharedData(value: unknown): boolean {
    if (typeof value === "function" || typeof value === "symbol") return false;
    if (typeof value !== "object" || value === null) return true;
    const objects: object[] = [];
    return record(value, [], objects) !== OTHER && objects.every((object) => this.#isFirst(object));
  }

  #isFirst(object: object): boolean {
    if (this.#objects.has(object) || this.#objects.size >= MOST_OBJECTS) return false;
    this.#objects.add(object);
    return true;
  }
}
