/**
 * Records what is inside pieces of plain data, and later tells whether anything has changed. A record is a flat list of
 * everything that a walk through the data meets. The comparison walks again, allocates nothing and stops at the first
 * difference. To compare an unchanged string takes almost no time, but to serialise it would copy it.
 *
 * The records of many objects follow each other in one list. The time of a comparison is mostly the time to load from
 * memory what is compared, and a processor loads a list that it reads from one end to the other in advance.
 */

import { types } from "node:util";

/** What walks meet: a mark for the kind of each object, keys, and values. */
export type Leaves = unknown[];

/** The record of an object that is frozen with everything inside it, so that nothing in it can change. */
export const FROZEN_RECORD = Symbol("frozen");

const ARRAY = Symbol("an array");
const END = Symbol("the end of an object");

const OBJECTS: unknown = Object.prototype;
const ARRAYS: unknown = Array.prototype;
const DATES = Date.prototype;

/** The deepest nesting that is recorded, and the most objects. An object that contains itself exceeds one of them. */
const MOST_DEEP = 100;
const MOST_OBJECTS = 10_000;

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
    if (leaves[at++] !== length || Object.getPrototypeOf(array) !== ARRAYS) return false;
    // This also finds named properties and holes.
    if (Object.keys(array).length !== length) return false;
    for (let index = 0; index < length; index++) if (!isSame(array[index])) return false;
    return true;
  }
  if (Object.getPrototypeOf(object) !== kind) return false;
  if (kind === DATES) return Object.is(leaves[at++], DATES.getTime.call(object));
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

/** The kinds of values, from what cannot be recorded to what cannot change. */
const OTHER = 0;
const PLAIN = 1;
const FROZEN = 2;
type Kind = typeof OTHER | typeof PLAIN | typeof FROZEN;

/**
 * Adds the record of an object to `records`. Returns false if it is no plain data: if it has getters or functions, an array
 * with holes, or an object of a class other than Date. `accepts` may allow the outermost object to have a class. Adds the
 * object and all objects inside to `objects`.
 */
export function record(
  object: object,
  records: Leaves,
  objects: object[],
  accepts: (object: object) => boolean = isPlainObject,
): boolean {
  const from = records.length;
  const kind = recordObject(object, records, objects, 0, accepts);
  if (kind === FROZEN) {
    records.length = from;
    records.push(FROZEN_RECORD);
  }
  return kind !== OTHER;
}

function recordObject(
  object: object,
  recorded: unknown[],
  objects: object[],
  depth: number,
  accepts: (object: object) => boolean,
): Kind {
  if (depth > MOST_DEEP || objects.length >= MOST_OBJECTS || types.isProxy(object)) return OTHER;
  objects.push(object);
  if (Array.isArray(object)) return recordArray(object, recorded, objects, depth);
  const prototype: unknown = Object.getPrototypeOf(object);
  if (prototype === DATES) {
    if (!types.isDate(object) || Object.keys(object).length > 0) return OTHER;
    recorded.push(DATES, DATES.getTime.call(object));
    return PLAIN;
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

function recordArray(array: unknown[], recorded: unknown[], objects: object[], depth: number): Kind {
  const { length } = array;
  if (Object.getPrototypeOf(array) !== ARRAYS || Object.keys(array).length !== length || hasToJson(array)) return OTHER;
  recorded.push(ARRAY, length);
  let kind: Kind = Object.isFrozen(array) ? FROZEN : PLAIN;
  for (let index = 0; index < length; index++) {
    kind = Math.min(kind, recordProperty(array, index, recorded, objects, depth)) as Kind;
    if (kind === OTHER) return OTHER;
  }
  return kind;
}

function recordProperty(object: object, key: PropertyKey, recorded: unknown[], objects: object[], depth: number): Kind {
  const property = Object.getOwnPropertyDescriptor(object, key);
  if (property === undefined || property.get !== undefined || property.set !== undefined) return OTHER;
  const value: unknown = property.value;
  if (typeof value === "function" || typeof value === "symbol") return OTHER;
  recorded.push(value);
  if (typeof value !== "object" || value === null) return FROZEN;
  return recordObject(value, recorded, objects, depth + 1, isPlainObject);
}

/** Returns true for an object that is no instance of a class and has no `toJSON`. */
export function isPlainObject(object: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(object);
  return (prototype === OBJECTS || prototype === null) && !hasToJson(object);
}

export function hasToJson(value: unknown): boolean {
  return typeof (value as { toJSON?: unknown } | null | undefined)?.toJSON === "function";
}
