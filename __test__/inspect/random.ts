import { randomNumbers } from "../tinyagents/random.js";

/** Returns a number from 0 to one below. */
export type Below = (count: number) => number;

/** Makes a generator that repeats the same numbers in every run. */
export function random(salt: number): Below {
  const next = randomNumbers(salt);
  return (count) => Math.floor(next() * count);
}

export const pick = <T>(below: Below, from: readonly T[]): T => from[below(from.length)]!;

const keys = [
  "a",
  "b",
  "id",
  "$type",
  "value",
  "__proto__",
  "constructor",
  "",
  "0",
  "-1",
  "a b",
  "ü",
  "\ud800",
  'q"',
  "x.y",
];
const texts = ["", "text", "\u001b[31m", "\u202e", "\ud83d", "\u{1f600}", "line\nline", "NaN", "x".repeat(300), '"\\'];
const numbers = [0, -0, 1, -1.5, 1e300, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 2 ** 53];

function primitive(below: Below): unknown {
  const text = () => pick(below, texts);
  const sign = () => (below(2) === 0 ? 1n : -1n);
  return pick<() => unknown>(below, [
    () => pick(below, numbers),
    () => below(2) === 0,
    () => null,
    () => undefined,
    () => BigInt(below(1e9)) ** BigInt(below(5)) * sign(),
    text,
    text,
  ])();
}

function native(below: Below): object {
  const bytes = Uint8Array.from({ length: 8 * below(4) }, () => below(256));
  return pick<() => object>(below, [
    () => new Date(pick(below, [0, -1, 1.7e12, 8.64e15, -8.64e15, Number.NaN])),
    () => new RegExp(pick(below, ["", "a/b", "[/]\\/", "(?<x>\\d+)\n"]), pick(below, ["", "gi", "su"])),
    () => bytes.buffer,
    () => Buffer.from(bytes),
    () => new DataView(bytes.buffer),
    () => new Float64Array(bytes.buffer),
    () => new BigInt64Array(bytes.buffer),
    () => new Int16Array(bytes.buffer, 0),
    () => new Object(pick(below, [1, -0, "text", true, 5n])),
    () => Object.assign([1, 2], { index: 0, "-1": "named" }),
    () => new TypeError("wrong"),
    () => bytes,
  ])();
}

/** Makes a value of all kinds that a store returns, with shared objects and cycles. */
export function randomValue(below: Below, size = 30): unknown {
  const made: object[] = [];
  let left = size;
  const keep = <T extends object>(value: T): T => {
    made.push(value);
    return value;
  };
  const define = (object: object, key: string, value: unknown) =>
    Object.defineProperty(object, key, { value, enumerable: true, writable: true, configurable: true });
  const make = (depth: number): unknown => {
    left -= 1;
    if (left < 0 || depth > 6 || below(3) === 0) return primitive(below);
    if (made.length > 0 && below(6) === 0) return pick(below, made);
    const count = below(6);
    switch (below(8)) {
      case 0: {
        const map = keep(new Map<unknown, unknown>());
        for (let i = 0; i < count; i++) map.set(below(2) === 0 ? pick(below, keys) : make(depth + 1), make(depth + 1));
        return map;
      }
      case 1: {
        const set = keep(new Set<unknown>());
        for (let i = 0; i < count; i++) set.add(make(depth + 1));
        return set;
      }
      case 2: {
        const list: unknown[] = keep([]);
        list.length = count;
        for (let i = 0; i < count; i++) if (below(3) > 0) list[i] = make(depth + 1);
        return list;
      }
      case 3: {
        const list: unknown[] = keep([]);
        list[pick(below, [999, 5_000, 4_294_967_294])] = make(depth + 1);
        return list;
      }
      case 4: {
        const error = keep(new (pick(below, [Error, RangeError, SyntaxError]))(pick(below, texts)));
        if (below(2) === 0) Object.defineProperty(error, "cause", { value: make(depth + 1), configurable: true });
        if (below(3) === 0) define(error, "code", make(depth + 1));
        // A store keeps the class of an error only by its name.
        if (error.name === "Error" && below(3) === 0)
          Object.defineProperty(error, "name", { value: "Custom", configurable: true });
        return error;
      }
      case 5:
        return keep(native(below));
      case 6: {
        const list: unknown[] = keep([]);
        for (let i = 0; i < count; i++) list.push(make(depth + 1));
        return list;
      }
      default: {
        const object = keep({});
        for (let i = 0; i < count; i++) define(object, pick(below, keys), make(depth + 1));
        return object;
      }
    }
  };
  return make(0);
}

/** Makes plain data that changes from one checkpoint to the next as a state does. */
export function changed(below: Below, value: unknown, depth = 0): unknown {
  if (typeof value !== "object" || value === null || below(4) === 0) return below(2) === 0 ? value : primitive(below);
  if (Array.isArray(value) && value.length > 10_000) return value;
  if (Array.isArray(value)) {
    const list = value.map((item) => (below(5) === 0 ? changed(below, item, depth + 1) : item));
    for (let i = below(3); i > 0; i--) list.splice(below(list.length + 1), 0, randomValue(below, 5));
    if (list.length > 0 && below(3) === 0) list.splice(below(list.length), 1);
    return list;
  }
  if (value instanceof Map) {
    const map = new Map<unknown, unknown>();
    for (const [key, each] of value)
      if (below(5) > 0) map.set(key, below(3) === 0 ? changed(below, each, depth + 1) : each);
    if (below(3) === 0) map.set(randomValue(below, 3), randomValue(below, 3));
    return map;
  }
  if (value instanceof Set) {
    const set = new Set<unknown>();
    for (const each of value) if (below(4) > 0) set.add(each);
    if (below(3) === 0) set.add(randomValue(below, 3));
    return set;
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) return below(3) === 0 ? randomValue(below, 5) : value;
  const object = {};
  const define = (key: string, each: unknown) =>
    Object.defineProperty(object, key, { value: each, enumerable: true, writable: true, configurable: true });
  for (const [key, each] of Object.entries(value)) {
    if (below(6) > 0) define(key, below(3) === 0 ? changed(below, each, depth + 1) : each);
  }
  if (below(3) === 0) define(pick(below, keys), randomValue(below, 5));
  return object;
}

/**
 * Returns true if two values are equal in everything that a store keeps: types, order, holes, and which objects are the
 * same. Node's and vitest's comparisons leave out some of these.
 */
export function same(a: unknown, b: unknown, known = new Map<unknown, unknown>()): boolean {
  if (typeof a !== "object" || a === null || typeof b !== "object" || b === null) return Object.is(a, b);
  if (known.has(a) || known.has(b)) return known.get(a) === b && known.get(b) === a;
  known.set(a, b).set(b, a);
  const all = (left: readonly unknown[], right: readonly unknown[]) =>
    left.length === right.length && left.every((each, i) => same(each, right[i], known));
  const content = (value: object): unknown[] => {
    if (value instanceof Map) return [...value].flat();
    if (value instanceof Set) return [...value];
    if (value instanceof Date) return [value.getTime()];
    if (value instanceof RegExp) return [value.source, value.flags];
    if (value instanceof ArrayBuffer) return [...new Uint8Array(value)];
    if (ArrayBuffer.isView(value)) return [...new Uint8Array(value.buffer, value.byteOffset, value.byteLength)];
    if (Array.isArray(value)) return [value.length];
    const primitive: unknown = value.valueOf();
    return typeof primitive === "object" ? [] : [primitive];
  };
  // The order of an error's own keys says when they were set.
  const keysOf = (value: object) =>
    value instanceof Error ? Reflect.ownKeys(value).toSorted() : Reflect.ownKeys(value);
  const properties = (value: object): unknown[] =>
    ArrayBuffer.isView(value)
      ? []
      : keysOf(value).flatMap((key) => {
          const { enumerable } = Object.getOwnPropertyDescriptor(value, key)!;
          // Read it, because Node.js 24 keeps an error's stack behind a getter, unless somebody defines it anew.
          return [key, enumerable, (value as Record<PropertyKey, unknown>)[key]];
        });
  return (
    Object.getPrototypeOf(a) === Object.getPrototypeOf(b) &&
    all(content(a), content(b)) &&
    all(properties(a), properties(b))
  );
}
