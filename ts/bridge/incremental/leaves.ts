/**
 * Records the contents of plain data, and later detects changes. A record is a flat list of keys and values, in the
 * order of a walk. A comparison walks again, allocates nothing and stops at the first difference. Comparing an
 * unchanged string takes almost no time; serializing it would copy it.
 *
 * The records of many objects are stored in one list. A comparison spends most of its time loading records from memory,
 * and a processor prefetches a list that is read from start to end.
 */

import { types } from "node:util";
import { isDense } from "../exact-json.js";

/** Records in one list: for each object its kind and its values. A plain object's kind is its {@link Shape}. */
export type Leaves = unknown[];

/** The record of an object that is deeply frozen, so that nothing in it can change. */
const FROZEN_RECORD = Symbol("frozen");

const ARRAY = Symbol("an array");
/** An object that the same record already contains. */
const SEEN = Symbol("seen before");

/** The prototype and the keys of objects. Messages of a chat have few shapes, so their records share them. */
class Shape {
  readonly prototype: unknown;
  /** The last one is undefined. */
  readonly keys: ReadonlyArray<string | undefined>;

  constructor(prototype: unknown, keys: readonly string[]) {
    this.prototype = prototype;
    this.keys = [...keys, undefined];
  }
}

/** The shared shapes, by their keys. */
const shapes = new Map<string, Shape[]>();
/** The maximum number of shared shapes. Objects with ids as keys have unlimited shapes. */
const MOST_SHAPES = 256;

function shapeOf(prototype: unknown, keys: readonly string[]): Shape {
  const name = keys.join("\0");
  const same = shapes.get(name)?.filter((shape) => shape.keys.every((key, index) => key === keys[index])) ?? [];
  const known = same.find((shape) => shape.prototype === prototype);
  if (known !== undefined) return known;
  const shape = new Shape(prototype, keys);
  if (shapes.size >= MOST_SHAPES) shapes.clear();
  shapes.set(name, [...same, shape]);
  return shape;
}

const OBJECTS: unknown = Object.prototype;
const ARRAYS: unknown = Array.prototype;
const DATES = Date.prototype;
const { toJSON, toISOString } = DATES;

/** The maximum depth and number of objects in a record. A circular object exceeds one of them. */
const [MOST_DEEP, MOST_OBJECTS] = [100, 10_000];
/** The maximum length of an array in a record. */
const MOST_LENGTH = 65_536;

// The current records and the position in them. Module variables, because every save compares each item of a long list.
let leaves: Leaves = [];
let at = 0;
let looksForHoles = true;

/**
 * Returns true if an object equals its record, which begins at `from`. `withHoles` is false if holes and named
 * properties of arrays do not matter. Looking for them takes longer than all else.
 */
export function isUnchanged(object: object, records: Leaves, from: number, withHoles: boolean): boolean {
  if (records[from] === FROZEN_RECORD) return true;
  leaves = records;
  at = from;
  looksForHoles = withHoles;
  return hasSameContents(object);
}

function hasSameContents(object: object): boolean {
  const kind = leaves[at++];
  if (kind instanceof Shape) {
    if (Object.getPrototypeOf(object) !== kind.prototype) return false;
    const { keys } = kind;
    let count = 0;
    for (const key in object) {
      if (keys[count++] !== key || !isSame((object as Record<string, unknown>)[key])) return false;
    }
    return keys[count] === undefined;
  }
  if (kind === SEEN) return true;
  if (kind === ARRAY) {
    const array = object as unknown[];
    const { length } = array;
    if (leaves[at++] !== length || Object.getPrototypeOf(array) !== ARRAYS || hasToJson(array)) return false;
    if (looksForHoles && !isDense(array)) return false;
    for (let index = 0; index < length; index++) if (!isSame(array[index])) return false;
    return true;
  }
  return (
    Object.getPrototypeOf(object) === DATES &&
    Object.is(leaves[at++], DATES.getTime.call(object)) &&
    isUsual(object as Date)
  );
}

/** One comparison for each type: V8 compiles faster code if a function always sees the same type. */
function isSame(value: unknown): boolean {
  const known = leaves[at++];
  if (typeof value === "string") return typeof known === "string" && known === value;
  if (typeof value === "object") {
    if (value === null) return known === null;
    // It must be the same object with the same contents.
    return typeof known === "object" && known === value && hasSameContents(value);
  }
  return Object.is(known, value);
}

/** Returns true if the Date has the usual JSON form. */
function isUsual(date: Date): boolean {
  return date.toJSON === toJSON && date.toISOString === toISOString;
}

/** No data, such as a function or a proxy, or data that is too deep or too long to compare. */
export const OTHER = 0;
/** Data that only V8's serializer writes, such as bytes. A record cannot detect its changes. */
export const SPECIAL = 1;
export const PLAIN = 2;
/** Plain data that cannot change. */
const FROZEN = 3;
type Kind = typeof OTHER | typeof SPECIAL | typeof PLAIN | typeof FROZEN;

/**
 * Appends the record of an object to `records`. Appends the object and every object inside it to `objects`, once per
 * occurrence. `accepts` may allow the outermost object to have a class. Returns the kind. Getters, functions and
 * instances of classes other than Date are not data.
 */
export function record(
  object: object,
  records: Leaves,
  objects: object[],
  accepts: (object: object) => boolean = isPlainObject,
): Kind {
  const from = records.length;
  const kind = recordObject(object, { records, objects, kinds: new Map() }, 0, accepts);
  if (kind === FROZEN) {
    records.length = from;
    records.push(FROZEN_RECORD);
  }
  return kind;
}

interface Recording {
  records: Leaves;
  objects: object[];
  /** The kinds of the objects whose record is complete. */
  kinds: Map<object, Kind>;
}

function recordObject(object: object, to: Recording, depth: number, accepts: (object: object) => boolean): Kind {
  if (depth > MOST_DEEP || to.objects.length >= MOST_OBJECTS || types.isProxy(object)) return OTHER;
  to.objects.push(object);
  const before = to.kinds.get(object);
  if (before !== undefined) to.records.push(SEEN);
  const kind =
    before ?? (Array.isArray(object) ? recordArray(object, to, depth) : recordKeys(object, to, depth, accepts));
  to.kinds.set(object, kind);
  return kind;
}

function recordKeys(object: object, to: Recording, depth: number, accepts: (object: object) => boolean): Kind {
  const prototype: unknown = Object.getPrototypeOf(object);
  if (prototype === DATES) {
    if (!types.isDate(object) || Object.keys(object).length > 0 || !isUsual(object)) return OTHER;
    to.records.push(DATES, DATES.getTime.call(object));
    return PLAIN;
  }
  if (types.isUint8Array(object)) {
    const isBytes = prototype === Uint8Array.prototype || prototype === Buffer.prototype;
    return isBytes && !types.isSharedArrayBuffer(object.buffer) ? SPECIAL : OTHER;
  }
  if (!accepts(object)) return OTHER;
  const keys = Object.keys(object);
  to.records.push(shapeOf(prototype, keys));
  let kind: Kind = Object.isFrozen(object) ? FROZEN : PLAIN;
  let count = 0;
  for (const key in object) {
    // Inherited properties are not part of the data.
    if (keys[count++] !== key) return OTHER;
    kind = Math.min(kind, recordProperty(object, key, to, depth)) as Kind;
    if (kind === OTHER) return OTHER;
  }
  return count === keys.length ? kind : OTHER;
}

function recordArray(array: unknown[], to: Recording, depth: number): Kind {
  const { length } = array;
  if (length > MOST_LENGTH || Object.getPrototypeOf(array) !== ARRAYS || hasToJson(array)) return OTHER;
  to.records.push(ARRAY, length);
  let kind: Kind = isDense(array) ? (Object.isFrozen(array) ? FROZEN : PLAIN) : SPECIAL;
  for (const key of Object.keys(array)) {
    kind = Math.min(kind, recordProperty(array, key, to, depth)) as Kind;
    if (kind === OTHER) return OTHER;
  }
  return kind;
}

function recordProperty(object: object, key: PropertyKey, to: Recording, depth: number): Kind {
  const property = dataProperty(object, key);
  if (property === undefined) return OTHER;
  const value: unknown = property.value;
  if (typeof value === "function" || typeof value === "symbol") return OTHER;
  to.records.push(value);
  if (typeof value !== "object" || value === null) return FROZEN;
  return recordObject(value, to, depth + 1, isPlainObject);
}

/** Returns an own property. Returns undefined if there is none, or if it has a getter or a setter. */
export function dataProperty(object: object, key: PropertyKey): PropertyDescriptor | undefined {
  const property = Object.getOwnPropertyDescriptor(object, key);
  return property?.get === undefined && property?.set === undefined ? property : undefined;
}

/** Returns true for an object that is no instance of a class and has no `toJSON`. */
export function isPlainObject(object: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(object);
  return (prototype === OBJECTS || prototype === null) && !hasToJson(object);
}

export function hasToJson(value: unknown): boolean {
  return typeof (value as { toJSON?: unknown } | null | undefined)?.toJSON === "function";
}
