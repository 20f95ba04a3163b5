/**
 * Records the contents of plain data, and later detects whether they have changed. A record is a flat list of the keys
 * and values of the data, in the order of a walk. The comparison walks again, allocates nothing and stops at the first
 * difference. To compare an unchanged string takes almost no time, but to serialize it would copy it.
 *
 * The records of many objects follow each other in one list. A comparison spends most of its time loading the record
 * from memory. A processor loads a list in advance if it is read from one end to the other.
 */

import { types } from "node:util";
import { isDense } from "../exact-json.js";

/** Records, one after the other: for each object a mark for its kind, its keys and its values. */
export type Leaves = unknown[];

/** The record of an object that is frozen with everything inside it, so that nothing in it can change. */
const FROZEN_RECORD = Symbol("frozen");

const ARRAY = Symbol("an array");
const END = Symbol("the end of an object");

const OBJECTS: unknown = Object.prototype;
const ARRAYS: unknown = Array.prototype;
const DATES = Date.prototype;
const { toJSON, toISOString } = DATES;

/** The deepest nesting that is recorded, and the most objects. An object that contains itself exceeds one of them. */
const [MOST_DEEP, MOST_OBJECTS] = [100, 10_000];
/** The longest array that is recorded. */
const MOST_LENGTH = 65_536;

// The records that are compared, and the position in them. These are variables of the module, because each item of a long
// list is compared in every save.
let leaves: Leaves = [];
let at = 0;

/**
 * Compares an object with its record, which begins at `from`. Returns the position after the record, or -1 if the object
 * has changed.
 */
export function compare(object: object, records: Leaves, from: number): number {
  if (records[from] === FROZEN_RECORD) return from + 1;
  leaves = records;
  at = from;
  return hasSameContents(object) ? at : -1;
}

function hasSameContents(object: object): boolean {
  const kind = leaves[at++];
  if (kind === ARRAY) {
    const array = object as unknown[];
    const { length } = array;
    if (leaves[at++] !== length || Object.getPrototypeOf(array) !== ARRAYS || !isDense(array)) return false;
    for (let index = 0; index < length; index++) if (!isSame(array[index])) return false;
    return true;
  }
  if (Object.getPrototypeOf(object) !== kind) return false;
  if (kind === DATES) return Object.is(leaves[at++], DATES.getTime.call(object)) && isUsual(object as Date);
  for (const key in object) {
    if (leaves[at++] !== key || !isSame((object as Record<string, unknown>)[key])) return false;
  }
  return leaves[at++] === END;
}

function isSame(value: unknown): boolean {
  // An object must be the same object, and have the same contents.
  if (!Object.is(leaves[at++], value)) return false;
  return typeof value !== "object" || value === null || hasSameContents(value);
}

/** Returns true if JSON writes a Date as usual. */
function isUsual(date: Date): boolean {
  return date.toJSON === toJSON && date.toISOString === toISOString;
}

/** The object is no data, such as a function or a proxy, or is too deep or too long to compare. */
export const OTHER = 0;
/** Data that only V8's serializer writes, such as bytes. A record cannot detect whether it has changed. */
export const SPECIAL = 1;
export const PLAIN = 2;
/** Plain data that cannot change. */
const FROZEN = 3;
type Kind = typeof OTHER | typeof SPECIAL | typeof PLAIN | typeof FROZEN;

/**
 * Adds the record of an object to `records`, and the object and all objects inside to `objects`. `accepts` may allow the
 * outermost object to have a class. Returns the kind. Getters, functions and instances of classes other than Date are no
 * data.
 */
export function record(
  object: object,
  records: Leaves,
  objects: object[],
  accepts: (object: object) => boolean = isPlainObject,
): Kind {
  const from = records.length;
  const kind = recordObject(object, records, objects, 0, accepts);
  if (kind === FROZEN) {
    records.length = from;
    records.push(FROZEN_RECORD);
  }
  return kind;
}

function recordObject(
  object: object,
  recorded: Leaves,
  objects: object[],
  depth: number,
  accepts: (object: object) => boolean,
): Kind {
  if (depth > MOST_DEEP || objects.length >= MOST_OBJECTS || types.isProxy(object)) return OTHER;
  objects.push(object);
  if (Array.isArray(object)) return recordArray(object, recorded, objects, depth);
  const prototype: unknown = Object.getPrototypeOf(object);
  if (prototype === DATES) {
    if (!types.isDate(object) || Object.keys(object).length > 0 || !isUsual(object)) return OTHER;
    recorded.push(DATES, DATES.getTime.call(object));
    return PLAIN;
  }
  if (types.isUint8Array(object)) {
    const isBytes = prototype === Uint8Array.prototype || prototype === Buffer.prototype;
    return isBytes && !types.isSharedArrayBuffer(object.buffer) ? SPECIAL : OTHER;
  }
  if (!accepts(object)) return OTHER;
  recorded.push(prototype);
  const keys = Object.keys(object);
  let kind: Kind = Object.isFrozen(object) ? FROZEN : PLAIN;
  let count = 0;
  for (const key in object) {
    // An inherited property is no part of the data.
    if (keys[count++] !== key) return OTHER;
    recorded.push(key);
    kind = Math.min(kind, recordProperty(object, key, recorded, objects, depth)) as Kind;
    if (kind === OTHER) return OTHER;
  }
  if (count !== keys.length) return OTHER;
  recorded.push(END);
  return kind;
}

function recordArray(array: unknown[], recorded: Leaves, objects: object[], depth: number): Kind {
  const { length } = array;
  if (length > MOST_LENGTH || Object.getPrototypeOf(array) !== ARRAYS || hasToJson(array)) return OTHER;
  recorded.push(ARRAY, length);
  let kind: Kind = isDense(array) ? (Object.isFrozen(array) ? FROZEN : PLAIN) : SPECIAL;
  for (const key of Object.keys(array)) {
    kind = Math.min(kind, recordProperty(array, key, recorded, objects, depth)) as Kind;
    if (kind === OTHER) return OTHER;
  }
  return kind;
}

function recordProperty(object: object, key: PropertyKey, recorded: Leaves, objects: object[], depth: number): Kind {
  const property = dataProperty(object, key);
  if (property === undefined) return OTHER;
  const value: unknown = property.value;
  if (typeof value === "function" || typeof value === "symbol") return OTHER;
  recorded.push(value);
  if (typeof value !== "object" || value === null) return FROZEN;
  return recordObject(value, recorded, objects, depth + 1, isPlainObject);
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
