// The side of Node.js of tests/value_json.rs.
//
// `write`: writes a line for each value: its name, the serializer's tag, and the bytes in hex, with tabs between them.
// `check`: reads such lines with the value's JSON as the fourth column, and checks that the JSON means the same value.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { types } from "node:util";
import { formatOf } from "../../../dist/bridge/serializer.js";

const format = formatOf("v8");

// ---- values -----------------------------------------------------------------------------------------------------------

/** A random generator that gives the same numbers in every run. */
function randomOf(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

// A text with characters outside Latin-1. V8 holds each part of it as UTF-16.
const WIDE =
  "Zażółć gęślą jaźń 😀 and a long tail of plain ASCII text, which is cut into lines.\nSecond line of the text\n";

// A processor's NaN has other bits than the constant.
const NAN_OF_A_CALCULATION = Math.sqrt(Number("-1"));

function withHole(list) {
  delete list[1];
  return list;
}

/** States as agents have them. Each must have a JSON form. */
function* ordinary() {
  yield { messages: [{ role: "user", content: "hi" }], step: 3, done: false };
  yield { messages: [{ role: "user", content: "x".repeat(3000), at: new Date(1_769_860_800_123) }], usage: undefined };
  yield { lines: WIDE.split("\n"), head: WIDE.slice(0, 20), tail: WIDE.slice(20), padding: "y".repeat(3000) };
  yield { [WIDE.slice(24, 50)]: 1, padding: undefined };
  yield { scores: [0.5, 1, 2, -0, NaN], loss: NAN_OF_A_CALCULATION, best: Infinity, worst: -Infinity, at: Date.now() };
  yield { embedding: new Float32Array([0.5, 1, -2]), image: Buffer.from("png"), raw: new Uint8Array([1, 2, 3]).buffer };
  yield { tools: new Map([["search", { calls: 2, args: [{ q: "a" }] }]]), seen: new Set(["a", "b", 3]) };
  yield {
    plan: Array(3).fill(0),
    ids: Array.from({ length: 20 }, (_, at) => at),
    sparse: withHole([1, 2, 3]),
    empty: Array(5),
    u: undefined,
  };
  const shared = { id: 1 };
  const cyclic = {
    list: [shared, shared],
    map: new Map([
      ["a b", shared],
      [shared, shared],
    ]),
    set: new Set([shared]),
  };
  cyclic.self = cyclic;
  yield cyclic;
  const error = new TypeError("failed", { cause: { code: "E", again: shared } });
  yield { error, plain: new Error("x"), inner: new Error("outer", { cause: new RangeError("inner") }), of: error };
  yield {
    big: -(2n ** 70n),
    zero: 0n,
    small: 12n,
    pattern: /a\/b+[ż]/giu,
    boxed: [Object(1), Object("ż"), Object(2n), Object(true)],
  };
  yield { $type: "Date", value: 1, u: undefined };
  yield { schema: { $type: "object", properties: { a: { $type: "string" } } } };
  yield { 5: "b", 2147483648: 1, 4294967294: 2, 4294967295: 3, "01": 4, "-1": 5, "": 6, u: undefined };
  yield JSON.parse('{"__proto__":1,"constructor":2,"a\\"b":{"c":[1]},"\\ud800":"\\udc00x","u":null}');
  const extra = [1, 2];
  extra.name = { x: 1 };
  const match = /b(?<n>.)/.exec("abc");
  const far = [];
  far[100_000] = shared;
  yield { extra, match, far, shared, u: undefined };
  yield new (class Agent {
    goals = ["a", "b"];
    memory = new Map([[1, { text: "m" }]]);
    when = new Date(NaN);
  })();
  const smi = { score: 0.5 };
  yield { a: smi, b: { score: 1 }, c: { score: 2 }, u: undefined };
  let deep = {};
  for (let level = 0; level < 1_480; level++) deep = level % 2 === 0 ? { deep } : [deep];
  yield { deep, u: undefined };
  for (const View of [Int8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float64Array]) {
    yield { view: new View([1, 2, 3]) };
  }
  yield { view: new BigInt64Array([1n]), other: new BigUint64Array([2n]), data: new DataView(new ArrayBuffer(3)) };
}

/** Values that may have no JSON form, and the reason. */
function* rare() {
  yield ["a bigint of more than 8,192 bits", { big: 2n ** 9000n }];
  yield ["UTF-16 that holds only control characters", { text: (WIDE + "\u0001".repeat(20)).slice(-20), u: undefined }];
  yield ["very many references with long paths", manyReferences()];
}

function manyReferences() {
  const shared = {};
  const name = "n".repeat(500);
  return { [name]: shared, list: Array.from({ length: 1000 }, () => shared), u: undefined };
}

/** A value that consists of random parts of all kinds. */
function generated(random, depth, known) {
  const below = (count) => Array.from({ length: random(count) }, () => generated(random, depth - 1, known));
  const word = () => ["a", "key two", "ż", "5", "$type", "value", "\n", "é", WIDE.slice(30, 50), "\ud800"][random(10)];
  const keep = (object) => (known.push(object), object);
  switch (random(depth > 0 ? 24 : 14)) {
    case 0:
      return random(1000) - 500;
    case 1:
      return random(2 ** 32) * (random(2) ? 1 : -1);
    case 2:
      return random(1000) / 8;
    case 3:
      return [NaN, -0, Infinity, -Infinity, 2 ** 31, -(2 ** 31), 1e21, 5e-324, 2 ** 53][random(9)];
    case 4:
      return [null, undefined, true, false][random(4)];
    case 5:
      return BigInt(random(2 ** 32)) ** BigInt(random(9)) * (random(2) ? 1n : -1n);
    case 6:
      return word();
    case 7:
      return word() + word();
    case 8:
      return WIDE.slice(random(40), 40 + random(60));
    case 9:
      return keep(new Date(random(2 ** 32) * 1000 - random(2 ** 32) * 2000));
    case 10:
      return keep(/x+/gs);
    case 11:
      return keep(Buffer.from(word()));
    case 12:
      return keep(new Float64Array([random(10), 0.1]));
    case 13:
      return known.length > 0 ? known[random(known.length)] : 0;
    case 14:
    case 15:
    case 16: {
      const object = keep({});
      for (let left = random(6); left > 0; left--) object[word()] = generated(random, depth - 1, known);
      return object;
    }
    case 17:
    case 18: {
      const list = keep([]);
      for (let left = random(6); left > 0; left--) list.push(generated(random, depth - 1, known));
      if (random(4) === 0) list[word()] = 1;
      return list;
    }
    case 19:
      return keep(Object.assign(Array(random(5)), below(4)));
    case 20: {
      const list = keep([]);
      for (let left = random(4); left > 0; left--) list[random(30)] = generated(random, depth - 1, known);
      return list;
    }
    case 21: {
      const map = keep(new Map());
      for (let left = random(4); left > 0; left--)
        map.set(generated(random, depth - 1, known), generated(random, depth - 1, known));
      return map;
    }
    case 22:
      return keep(new Set(below(4)));
    default:
      return keep(new RangeError(word(), { cause: generated(random, depth - 1, known) }));
  }
}

function write(name, value) {
  const { tag, bytes } = format.serialize(value, "value");
  process.stdout.write(`${name}\t${tag}\t${Buffer.from(bytes).toString("hex")}\n`);
}

// ---- the reader of the `$type` form -----------------------------------------------------------------------------------

function define(object, key, value) {
  Object.defineProperty(object, key, { value, enumerable: true, writable: true, configurable: true });
}

/** Returns the path to a property. */
function step(path, name) {
  if (!/^[A-Za-z_$][A-Za-z0-9_$]*$/.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === "" ? name : `${path}.${name}`;
}

/** Makes the value that a JSON text means. */
function read(text) {
  const known = new Map();
  const keep = (path, object) => (known.set(path, object), object);
  const items = (list, path, array) => {
    array.length = list.length;
    list.forEach((item, at) => {
      if (item?.$type !== "Hole") array[at] = value(item, `${path}[${at}]`);
    });
    return array;
  };
  const pairs = (list, path, object) => {
    for (const [key, item] of list) {
      const index = Array.isArray(object) && String(key >>> 0) === key;
      define(object, key, value(item, index ? `${path}[${key}]` : step(path, key)));
    }
    return object;
  };

  function value(json, path) {
    if (typeof json !== "object" || json === null) return json;
    if (Array.isArray(json)) return items(json, path, keep(path, []));
    if (!Object.hasOwn(json, "$type")) return pairs(Object.entries(json), path, keep(path, {}));
    const { $type, value: content } = json;
    switch ($type) {
      case "Undefined":
        return undefined;
      case "Number":
        return Number(content);
      case "BigInt":
        return BigInt(content);
      case "Ref":
        assert(known.has(content), `no ${content}`);
        return known.get(content);
      case "Date":
        return keep(path, new Date(content ?? NaN));
      case "RegExp":
        return keep(path, new RegExp(content, json.flags));
      case "Boxed":
        return keep(path, Object(value(content, path)));
      case "Object":
        return pairs(content, path, keep(path, {}));
      case "Array": {
        const array = keep(path, []);
        if (content !== undefined) items(content, path, array);
        if (json.length !== undefined) array.length = json.length;
        return pairs(json.properties, path, array);
      }
      case "Set": {
        const set = keep(path, new Set());
        content.forEach((member, at) => set.add(value(member, `${path}[${at}]`)));
        return set;
      }
      case "Map": {
        const map = keep(path, new Map());
        content.forEach(([key, item], at) => {
          const newKey = value(key, `${path}[#${at}]`);
          map.set(newKey, value(item, typeof key === "string" ? step(path, key) : `${path}[${at}]`));
        });
        return map;
      }
      case "Error": {
        const error = keep(
          path,
          new { Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError }[
            content.name ?? "Error"
          ](content.message),
        );
        for (const key of ["message", "stack"]) {
          if (key in content)
            Object.defineProperty(error, key, { value: content[key], configurable: true, writable: true });
          else delete error[key];
        }
        if ("cause" in content) {
          Object.defineProperty(error, "cause", {
            value: value(content.cause, step(path, "cause")),
            configurable: true,
            writable: true,
          });
        }
        return error;
      }
      case "Bytes": {
        const bytes = Buffer.from(content, "base64");
        if (json.view === "Buffer") return keep(path, bytes);
        const buffer = new Uint8Array(bytes).buffer;
        return keep(path, json.view === "ArrayBuffer" ? buffer : new globalThis[json.view](buffer));
      }
      default:
        throw new Error(`unknown $type ${$type}`);
    }
  }
  return value(JSON.parse(text), "");
}

// ---- the comparison ---------------------------------------------------------------------------------------------------

/** Checks that two values are equal, and that the same objects occur in them several times. */
function same(value, expected, where, seen = new Map()) {
  if (typeof expected !== "object" || expected === null) return assert(Object.is(value, expected), where);
  if (seen.has(expected)) return assert.equal(seen.get(expected), value, where);
  seen.set(expected, value);
  assert.equal(Object.getPrototypeOf(value), Object.getPrototypeOf(expected), where);
  if (expected instanceof Date) assert(Object.is(value.getTime(), expected.getTime()), where);
  else if (expected instanceof RegExp) assert.equal(String(value), String(expected), where);
  else if (expected instanceof ArrayBuffer || ArrayBuffer.isView(expected))
    return assert.deepEqual(value, expected, where);
  else if (types.isBoxedPrimitive(expected)) assert(Object.is(value.valueOf(), expected.valueOf()), where);
  else if (expected instanceof Error) {
    for (const key of ["message", "stack", "cause"]) {
      assert.equal(Object.hasOwn(value, key), Object.hasOwn(expected, key), `${where} ${key}`);
      same(value[key], expected[key], `${where} ${key}`, seen);
    }
  } else if (expected instanceof Map || expected instanceof Set) {
    same([...value], [...expected], `${where}()`, seen);
  }
  assert.deepEqual(Object.keys(value), Object.keys(expected), where);
  for (const key of Object.keys(expected)) same(value[key], expected[key], `${where}.${key.slice(0, 20)}`, seen);
}

// ---- the two commands -------------------------------------------------------------------------------------------------

if (process.argv[2] === "write") {
  for (const value of ordinary()) write("ordinary", value);
  for (const [name, value] of rare()) write(name, value);
  for (let seed = 1; seed <= 800; seed++) {
    const random = randomOf(seed);
    // The values of even seeds are copied by ts/bridge/snapshot.ts, those of odd ones are often written directly.
    const known = [];
    const root = { value: generated(random, 4, known) };
    if (seed % 2 === 0) root.map = new Map();
    write("generated", root);
  }
} else {
  for (const line of readFileSync(0, "utf8").split("\n")) {
    if (line === "") continue;
    const [name, tag, hex, json] = line.split("\t");
    const expected = formatOf(tag).deserialize(Buffer.from(hex, "hex"));
    same(read(json), expected, `${name} ${json.slice(0, 1000)}`);
  }
}
