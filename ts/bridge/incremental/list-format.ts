/**
 * The format of values with growing lists. Each list is stored item by item, apart from the value, so that a save
 * serializes only new items. The format is a sequence of values and numbers of V8's serializer:
 *
 * the number of the lists; the value, with an empty array for each list; for each list its path (a list of keys), the
 * number of its items, and the items.
 *
 * The pieces are serialized separately, and one deserializer reads them in order. No piece may refer to an object in
 * another piece. Therefore no object may occur twice in the lists and the value.
 */

import type { Deserializer, Serializer } from "node:v8";
import { type Bytes, joined } from "../bytes.js";
import { isDense } from "../exact-json.js";
import { OTHER, dataProperty, record } from "./leaves.js";
import type { Grown } from "./block.js";
import { GrowingLists } from "./lists.js";

/** The maximum number of checked objects outside the lists. If there are more, the entire value is serialized. */
const MOST_OBJECTS = 4_096;

/** Marks a value that must be serialized in full. */
const WHOLE = Symbol("whole");

/** A list, and its path in the value. */
interface PlacedList {
  path: Array<string | number>;
  grown: Grown;
}

export class ListWriter {
  readonly #make: () => Serializer;
  readonly #lists: GrowingLists;

  /** `make` creates a serializer, which throws for a value that it cannot write. */
  constructor(make: () => Serializer) {
    this.#make = make;
    const render = (item: object) => this.#piece((v8) => v8.writeValue(item));
    this.#lists = new GrowingLists({ render, keepsIdentity: true, keepsHoles: true });
  }

  /** Returns the bytes of a value. Returns undefined if it must be serialized in full. */
  serialize(value: unknown): Bytes | undefined {
    if (!this.#lists.leadsToList(value)) return undefined;
    return this.#lists.save(() => {
      const beside = new Beside(this.#lists);
      const copy = beside.copy(value, []);
      return copy === WHOLE || !beside.isUnshared() ? undefined : this.#joined(copy, beside.placed);
    });
  }

  #joined(beside: unknown, lists: readonly PlacedList[]): Bytes {
    const first = this.#piece((v8) => {
      v8.writeHeader();
      v8.writeUint32(lists.length);
      v8.writeValue(beside);
    });
    const pieces = [first];
    for (const { path, grown } of lists) {
      const begin = this.#piece((v8) => {
        v8.writeValue(path);
        v8.writeUint32(grown.length);
      });
      pieces.push(begin, ...grown.pieces);
    }
    return joined(
      pieces,
      pieces.reduce((sum, { length }) => sum + length, 0),
    );
  }

  #piece(write: (v8: Serializer) => void): Uint8Array {
    const v8 = this.#make();
    write(v8);
    return v8.releaseBuffer();
  }
}

/** Reads the output of a {@link ListWriter}. */
export function readLists(v8: Deserializer): unknown {
  v8.readHeader();
  let lists = v8.readUint32();
  const root: unknown = v8.readValue();
  for (; lists > 0; lists--) {
    // Push the items into V8's own list. A new list (`[]`) would survive a garbage collection, and V8 would soon
    // allocate such lists in old space. All items would then live until the next full collection.
    const list = (v8.readValue() as string[]).reduce<unknown>(inside, root);
    if (!Array.isArray(list)) throw new RangeError("a list has no place");
    for (let left = v8.readUint32(); left > 0; left--) list.push(v8.readValue());
  }
  return root;
}

/** Returns the value of an object's own key. Throws if the object does not have the key itself. */
function inside(object: unknown, key: string): unknown {
  if (typeof object !== "object" || object === null || !Object.hasOwn(object, key))
    throw new RangeError("a list has no place");
  return (object as Record<string, unknown>)[key];
}

class Beside {
  readonly placed: PlacedList[] = [];
  readonly #lists: GrowingLists;
  readonly #objects = new Set<object>();

  constructor(lists: GrowingLists) {
    this.#lists = lists;
  }

  /** Returns true if no item of a list contains an object that is also outside of the lists. */
  isUnshared(): boolean {
    for (const object of this.#objects) if (this.#lists.isPlaced(object)) return false;
    return true;
  }

  /** Copies a value with an empty list in the place of each list. Values that contain no list are not copied. */
  copy(value: unknown, path: Array<string | number>): unknown {
    if (!this.#lists.leadsToList(value, path.length)) return this.#isUnsharedData(value) ? value : WHOLE;
    if (!this.#isFirst(value)) return WHOLE;
    if (this.#lists.mayGrow(value)) {
      const grown = this.#lists.grow(value);
      if (grown === undefined) return WHOLE;
      this.placed.push({ path, grown });
      return [];
    }
    if (Array.isArray(value)) {
      if (Object.getPrototypeOf(value) !== Array.prototype || !isDense(value)) return WHOLE;
      const items = value.map((item, at) => this.copy(item, [...path, at]));
      return items.includes(WHOLE) ? WHOLE : items;
    }
    const copies: Array<[string, unknown]> = [];
    for (const key of Object.keys(value)) {
      const property = dataProperty(value, key);
      const copy = property === undefined ? WHOLE : this.copy(property.value, [...path, key]);
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
