// Values that are made to break a store, on every backend.
// @module-tag threads
import { runInNewContext } from "node:vm";
import { type Checkpoint, type CheckpointStore, ForkpointError, type Serializer, type StoreOptions } from "forkpoint";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  checkpoint,
  expectSame,
  failure,
  holding,
  ids,
  kinds,
  open,
  place,
  rejection,
  run,
  wrongType,
} from "./helpers.js";

const graphId = "graph-a-1700000000000";

/** The keys of Object.prototype before a test. No test may change them. */
let prototypeBefore: PropertyKey[] = [];

beforeEach(() => {
  prototypeBefore = Reflect.ownKeys(Object.prototype);
});

afterEach(() => {
  expect(Reflect.ownKeys(Object.prototype)).toEqual(prototypeBefore);
  expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
});

/** Saves a value in a state and returns the value as read back. */
async function back(store: CheckpointStore, value: unknown): Promise<unknown> {
  const saved = holding(value);
  await store.save(saved);
  const read = (await store.get(saved.id))!;
  // `latest` reads the checkpoint through different code than `get`.
  expectSame(await store.latest(saved.runId), read);
  return read.state.scratch;
}

/** Expects that the value is refused at every position, that nothing is written, and that the store still works. */
async function refused(value: () => unknown, options?: StoreOptions, kind: (typeof kinds)[number] = "memory") {
  const store = open(place(kind), options);
  const errors = [
    await rejection(store.save(holding(value()))),
    await rejection(store.save(holding({ deep: [value()] }))),
    await rejection(store.save(checkpoint({ extra: { deep: value() } }))),
    await rejection(store.save(holding({ large: value(), padding }))),
  ];
  for (const error of errors) {
    expect(error, error.stack).toBeInstanceOf(ForkpointError);
    expect(error.code).toBe("INVALID_ARGUMENT");
    expect(error.message).toContain("cannot be stored");
    expect(error.message.length).toBeLessThan(1_000);
  }
  expect(await store.runs()).toEqual({ runs: [], cursor: null });
  const good = checkpoint();
  await store.save(good);
  expect(await store.get(good.id)).toStrictEqual(good);
  await failure(store.fork(good.id, { scratch: { bad: value() } }), "INVALID_ARGUMENT");
  expect((await store.runs()).runs).toHaveLength(1);
  return errors;
}

function nested(depth: number, wrap: (inner: unknown) => unknown): unknown {
  let value: unknown = "bottom";
  for (let i = 0; i < depth; i++) value = wrap(value);
  return value;
}

/** Measures the nesting of a value, without recursion. */
function depthOf(value: unknown): number {
  let depth = 0;
  for (let inner = value; inner !== "bottom"; depth++) {
    if (inner instanceof Map) [inner] = inner.values();
    else if (inner instanceof Set) [inner] = inner;
    else [inner] = Object.values(inner as object);
  }
  return depth;
}

function sparse(): unknown[] {
  const array: unknown[] = [];
  array[1] = "one";
  array[5] = undefined;
  array.length = 9;
  return array;
}

function circular(): Record<string, unknown> {
  const value: Record<string, unknown> = { list: [] };
  value["self"] = value;
  (value["list"] as unknown[]).push(value, value["list"]);
  return value;
}

class Point {
  #secret = 1;
  constructor(
    readonly x: number,
    readonly y: number,
  ) {}
  get length() {
    return this.x + this.#secret;
  }
}

class MyMap extends Map<number, number> {}
class MyDate extends Date {}
class MyArray extends Array<number> {}

/**
 * A class whose objects are serialised like LangChain's messages. A careless reader would treat such an object as an
 * instruction to construct a class.
 */
class Message {
  constructor(readonly content: string) {}
  toJSON() {
    return { lc: 1, type: "constructor", id: ["langchain_core", "messages", "HumanMessage"], kwargs: { ...this } };
  }
}

/** Text that is long enough to force structured clone for the whole value. Small values that JSON can hold are stored as JSON. */
const padding = "long ".repeat(1_000);

const loneHigh = "\ud83d";
const loneLow = "\ude00";

/** Values that the default serializer reads back unchanged. */
const kept: Record<string, () => unknown> = {
  "own __proto__, constructor and prototype keys": () =>
    JSON.parse('{"__proto__":{"polluted":1},"a":[{"__proto__":null,"constructor":{"prototype":{"polluted":1}}}]}'),
  "keys that mean something elsewhere": () => {
    const keys = ["", "length", "hasOwnProperty", "toString", "valueOf", "then", "name", "message", "size", "get"];
    return Object.fromEntries(keys.map((key, i) => [key, i]));
  },
  "a frozen and a sealed object": () => ({ frozen: Object.freeze({ a: 1 }), sealed: Object.seal([1]) }),
  "a circle": circular,
  "empty ones and booleans": () => [{}, [], [[]], { "": {} }, true, false, ""],
  "256 values": () => Array.from({ length: 256 }, (_, i) => i),
  "1,000 small objects": () => Array.from({ length: 1_000 }, (_, i) => ({ i })),
  "2,048 characters": () => "x".repeat(2_048),
  "2,049 characters": () => "x".repeat(2_049),
  "4,096 characters of two bytes": () => "é".repeat(4_096),
  "a circle through Map and Set": () => {
    const map = new Map<unknown, unknown>();
    map.set("self", map).set(map, new Set([map]));
    return map;
  },
  "sparse arrays": sparse,
  "an array with extra properties": () => Object.assign([1, 2], { extra: "kept", "-1": "also", "01": "too" }),
  "undefined in objects, arrays, Maps and Sets": () => ({
    a: undefined,
    b: [undefined, 1],
    c: new Map([[undefined, undefined]]),
    d: new Set([undefined]),
  }),
  undefined: () => undefined,
  null: () => null,
  "numbers that JSON has not": () => [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, 0],
  "numbers at the edges": () => [
    2 ** 53 + 2,
    Number.MAX_SAFE_INTEGER,
    1e21,
    5e-324,
    Number.MAX_VALUE,
    0.1 + 0.2,
    2 ** 31,
    -(2 ** 31) - 1,
  ],
  "big integers": () => [0n, -1n, 2n ** 64n, -(10n ** 10_000n)],
  Dates: () => [new Date(0), new Date(-1.5), new Date(8.64e15)],
  "regular expressions": () => [/a(?<n>b)?/dgimsuy, new RegExp("/\n", "v"), /(?:)/],
  "Map and Set, nested and ordered": () =>
    new Map<unknown, unknown>([
      [{ key: 1 }, new Set([new Map([[1, new Set(["x"])]])])],
      [Number.NaN, -0],
      ["z", 1],
      ["a", 2],
    ]),
  "boxed primitives": () => [Object(1), Object("text"), Object(true), Object(10n)],
  "a class instance's typed arrays and Buffers": () => ({
    buffer: Buffer.from("text"),
    empty: Buffer.alloc(0),
    all: [
      new Int8Array([-1]),
      new Uint8Array([255]),
      new Uint8ClampedArray([255]),
      new Int16Array([-1]),
      new Uint16Array([1]),
      new Int32Array([-1]),
      new Uint32Array([1]),
      new Float32Array([0.5, Number.NaN, -0]),
      new Float64Array([0.1, Number.NEGATIVE_INFINITY]),
      new BigInt64Array([-1n]),
      new BigUint64Array([2n ** 64n - 1n]),
    ],
    view: new DataView(new Uint8Array([1, 2, 3]).buffer, 1, 1),
    memory: new Uint8Array([1, 2, 3]).buffer,
    none: new ArrayBuffer(0),
  }),
  "odd strings": () => "\0,a\0b,\uFEFFbom,\u2028\u2029,\u00e9,e\u0301,\u{1f600},\u202e,\r\n,\x7f,".split(","),
  "lone surrogates in values": () => [loneHigh, loneLow, `a${loneHigh}b`, `${loneLow}${loneHigh}`],
  "lone surrogates in keys": () => ({ [loneHigh]: 1, [loneLow]: 2, [`a${loneLow}`]: new Map([[loneHigh, 3]]) }),
  "keys that a normalisation would make one": () => ({ "\u00e9": 1, "e\u0301": 2, "\u212b": 3, "\u00c5": 4 }),
  "keys that look like numbers": () => ({ b: 1, 2: 2, 1: 3, "-1": 4, "01": 5, 4294967295: 6, 4294967294: 7, 1.5: 8 }),
  "100,000 keys": () => Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`key ${i}`, i])),
  "100,000 elements": () => Array.from({ length: 100_000 }, (_, i) => ({ i })),
  "data that looks like somebody's envelope": () => ({
    a: { lc: 1, type: "constructor", id: ["langchain", "x"], kwargs: { polluted: 1 } },
    b: { lc: 2, type: "undefined" },
    c: { $type: "Date", value: 0, "@type": "x", __type: "Map", $ref: "#/a", json: 1, meta: 2 },
    d: { type: "Buffer", data: [1, 2] },
  }),
  "shared references": () => {
    const shared = { a: 1 };
    return { one: shared, two: [shared, shared], map: new Map([[shared, shared]]) };
  },
  "an Error and its kin": () => [new Error("message"), new TypeError("wrong"), new RangeError("far"), new Error("")],
};

/** Values that the default serializer changes, each with the documented result. */
const become: Record<string, [() => unknown, unknown]> = {
  "an object without a prototype": [
    () => Object.assign(Object.create(null), { a: Object.create(null) }) as unknown,
    { a: {} },
  ],
  "a class instance": [() => [new Point(1, 2)], [{ x: 1, y: 2 }]],
  "an instance of a subclass of a built-in": [
    () => [new MyMap([[1, 2]]), new MyDate(5), MyArray.of(1, 2)],
    [new Map([[1, 2]]), new Date(5), [1, 2]],
  ],
  "objects of another realm": [
    () => runInNewContext("({ date: new Date(5), list: [new Map([[1, /x/g]])], n: null })") as unknown,
    { date: new Date(5), list: [new Map([[1, /x/g]])], n: null },
  ],
  "a URL": [() => ({ url: new URL("https://example.org/ä?q") }), { url: "https://example.org/%C3%A4?q" }],
  "a message with toJSON": [
    () => [new Message("hi")],
    [
      {
        lc: 1,
        type: "constructor",
        id: ["langchain_core", "messages", "HumanMessage"],
        kwargs: { content: "hi" },
      },
    ],
  ],
  "toJSON that answers with other kinds of values": [
    () => [
      { toJSON: () => 1n },
      { toJSON: () => new Map([[1, { toJSON: () => "inner" }]]) },
      { toJSON: () => [new Date(5)] },
      { toJSON: () => null },
      { toJSON: () => undefined },
    ],
    [1n, new Map([[1, "inner"]]), [new Date(5)], null, undefined],
  ],
  "toJSON's own toJSON, which is not called again": [
    () => ({ toJSON: () => ({ a: 1, toJSON: () => "never" }) }),
    { a: 1 },
  ],
  "toJSON is told its key": [
    () => ({ k: { toJSON: (key: string) => key }, l: [{ toJSON: String }] }),
    { k: "k", l: ["0"] },
  ],
  "a toJSON that is not enumerable": [
    () => ({ value: Object.defineProperty({ a: 1 }, "toJSON", { value: () => "asked" }) }),
    { value: "asked" },
  ],
  "what toJSON answers, and the same by itself": [
    () => {
      const inner = { toJSON: () => "x" };
      return [{ toJSON: () => inner }, inner];
    },
    [{}, "x"],
  ],
  "a getter and a setter": [
    () => {
      const asked = Object.defineProperty({ plain: 1 }, "asked", { enumerable: true, get: () => ({ of: "a getter" }) });
      return [asked, Object.defineProperty({ plain: 1 }, "told", { enumerable: true, set: () => {} })];
    },
    [
      { plain: 1, asked: { of: "a getter" } },
      { plain: 1, told: undefined },
    ],
  ],
  "a getter of an array": [
    () => {
      const get = () => "value";
      const named = Object.defineProperty([], "x", { get, enumerable: true });
      return [Object.defineProperty([0], 0, { get, enumerable: true }), named];
    },
    [["value"], Object.assign([], { x: "value" })],
  ],
  "a toJSON that is no function": [() => ({ toJSON: "text", a: 1 }), { toJSON: "text", a: 1 }],
  "functions and symbols, left out of objects": [
    () => ({ f: () => 1, s: Symbol("s"), [Symbol("key")]: 1, kept: { m() {} }, a: 1 }),
    { kept: {}, a: 1 },
  ],
  "functions and symbols in arrays, which keep their length": [() => [() => 1, Symbol("s"), 1], [null, null, 1]],
  "a function by name in an array": [() => Object.assign([1], { f() {}, a: 1 }), Object.assign([1], { a: 1 })],
  "functions and symbols in Maps and Sets": [
    () => [
      new Map<unknown, unknown>([
        ["f", () => 1],
        [Symbol("s"), 1],
        ["a", 1],
      ]),
      new Set([() => 1, 1]),
    ],
    [new Map([["a", 1]]), new Set([1])],
  ],
  "what is not enumerable": [() => Object.defineProperty({ a: 1 }, "hidden", { value: 1 }), { a: 1 }],
  "inherited properties": [
    () => Object.create({ inherited: 1 }, { own: { value: 1, enumerable: true } }) as unknown,
    { own: 1 },
  ],
  arguments: [
    function () {
      return [arguments];
    } as () => unknown,
    [{}],
  ],
  "a Proxy of data": [() => new Proxy({ a: [1], b: { c: 2 } }, {}), { a: [1], b: { c: 2 } }],
  "a Proxy of an array": [() => [new Proxy(sparse(), {})], [sparse()]],
  "a view of a part of memory": [() => new Uint8Array(100).fill(7).subarray(10, 12), new Uint8Array([7, 7])],
};

// Text files hold them as JSON, and the others as V8 writes them.
describe.each([...new Set([kinds[0]!, "jsonl"] as const)])("values in %s", (kind) => {
  test.each(Object.entries(kept))("%s: kept exactly, in a small value and in a large one", async (_, make) => {
    const store = open(place(kind));
    for (const value of [make, () => [make(), padding]]) {
      const saved = { ...holding(value()), nodeResults: { node: { value: value() } } as never };
      await store.save(saved);
      const read = (await store.get(saved.id))!;
      // `latest` reads the checkpoint through different code than `get`.
      expectSame(await store.latest(saved.runId), read);
      for (const each of [read.state.scratch, (read.nodeResults as Record<string, any>)["node"].value]) {
        expectSame(each, value());
        expectSame(Reflect.ownKeys(Object(each)), Reflect.ownKeys(Object(value())));
      }
    }
  });

  test.each(Object.entries(become))("%s: stored as documented, small and large", async (_, [make, expected]) => {
    const store = open(place(kind));
    expectSame(await back(store, make()), expected);
    expectSame(await back(store, [make(), padding]), [expected, padding]);
  });

  test("all of them in one checkpoint, in a file, outside of the state too", async () => {
    const target = place(kind === "jsonl" ? kind : "sqlite");
    const values = Object.fromEntries(Object.entries(kept).map(([name, make]) => [name, make()]));
    const saved = checkpoint({ values, state: { input: values } as Checkpoint["state"] });
    const store = open(target);
    await store.save(saved);
    await store.close();
    const read = (await open(target).get(saved.id))! as Checkpoint & { values: unknown };
    expectSame(read.values, values);
    expectSame(read.state.input, values);
  });

  test("an invalid Date", async () => {
    const store = open(place(kind));
    const saved = holding(new Date(Number.NaN));
    await store.save(saved);
    const read = (await store.get(saved.id))!.state.scratch as Date;
    expect(read).toBeInstanceOf(Date);
    expect(read.getTime()).toBeNaN();
  });

  test("a sparse array whose only element has the index 4,000,000,000", async () => {
    const far: unknown[] = [];
    far[4_000_000_000] = "far";
    const read = (await back(open(place(kind)), { far })) as { far: unknown[] };
    expect([read.far.length, Object.keys(read.far), read.far[4_000_000_000]]).toEqual([
      4_000_000_001,
      ["4000000000"],
      "far",
    ]);
  });

  test("an Error keeps its name, message, stack and cause", async () => {
    const reason = { code: 7, at: new Date(5), url: new URL("x:y"), f: () => 1 };
    const cause = new TypeError("because", { cause: reason });
    const error = new RangeError("message", { cause });
    const read = (await back(open(place(kind)), error)) as RangeError & { cause: TypeError };
    expect(read).toBeInstanceOf(RangeError);
    expect([read.name, read.message, read.stack]).toEqual([error.name, error.message, error.stack]);
    expect(read.cause).toBeInstanceOf(TypeError);
    expect(read.cause.message).toBe("because");
    expect(read.cause.cause).toEqual({ code: 7, at: new Date(5), url: "x:y" });
  });

  test("shared references stay shared, and are nobody else's", async () => {
    const shared = { a: 1 };
    const read = (await back(open(place(kind)), { one: shared, two: [shared], url: [new URL("x:y"), shared] })) as {
      one: object;
      two: object[];
      url: object[];
    };
    expect(read.two[0]).toBe(read.one);
    expect(read.url[1]).toBe(read.one);
    expect(read.one).not.toBe(shared);
  });

  test("an object with toJSON that is met twice is asked once", async () => {
    let calls = 0;
    const asked = { toJSON: () => ({ call: ++calls }) };
    const read = (await back(open(place(kind)), [asked, asked])) as object[];
    expect(read).toEqual([{ call: 1 }, { call: 1 }]);
    expect(calls).toBe(1);
    // So is a whole state.
    let states = 0;
    const state = { ...checkpoint().state, toJSON: () => (states++, state) };
    const store = open(place(kind));
    await store.save(checkpoint({ id: "asked", state }));
    expect([states, (await store.get("asked"))!.state]).toEqual([1, checkpoint().state]);
  });

  test("getters are called once", async () => {
    const store = open(place(kind));
    const calls: Record<string, number> = {};
    const counting = (name: string, value: unknown = name) => ({
      enumerable: true,
      get() {
        calls[name] = (calls[name] ?? 0) + 1;
        return value;
      },
    });
    const whole = checkpoint();
    const saved = Object.defineProperties({ ...whole } as Checkpoint, {
      id: counting("id", whole.id),
      runId: counting("runId", whole.runId),
      graphId: counting("graphId", whole.graphId),
      nodeId: counting("nodeId", whole.nodeId),
      timestamp: counting("timestamp", 5),
      state: counting("state", Object.defineProperties({}, { input: counting("input") })),
      extra: counting("extra", { list: [Object.defineProperty({}, "deep", counting("deep"))] }),
      memorySnapshot: counting("memorySnapshot", Object.defineProperty({}, "reads", counting("reads", []))),
    });
    await store.save(saved);
    const names = ["id", "runId", "graphId", "nodeId", "timestamp", "state", "input", "extra", "deep"];
    expect(calls).toEqual(Object.fromEntries([...names, "memorySnapshot", "reads"].map((name) => [name, 1])));
    expect(await store.get(whole.id)).toEqual({
      ...whole,
      timestamp: 5,
      state: { input: "input" },
      extra: { list: [{ deep: "deep" }] },
      memorySnapshot: { reads: [] },
    });
  });

  test("typed arrays own their memory, and no more than they show", async () => {
    const store = open(place(kind));
    const memory = new ArrayBuffer(1 << 20);
    const value = [
      new Uint8Array(memory, 16, 4),
      Buffer.from(memory, 16, 4),
      Buffer.from("from the pool"),
      new Float64Array(memory, 8, 2),
      new DataView(memory, 3, 5),
    ];
    const read = (await back(store, value)) as typeof value;
    expectSame(read, value);
    for (const view of read) {
      expect(view.byteOffset).toBe(0);
      expect(view.buffer.byteLength).toBe(view.byteLength);
    }
    expect(new Set(read.map(({ buffer }) => buffer)).size).toBe(value.length);
    const [listed] = await store.list(graphId);
    expect(listed!.stateSize).toBeLessThan(2_000);

    // The store shares memory neither with the value that was saved nor with a value that was read.
    new Uint8Array(memory).fill(9);
    (read[0] as Uint8Array).fill(9);
    const [again] = (await store.get(listed!.id))!.state.scratch as typeof value;
    expect(again).toEqual(new Uint8Array(4));
  });

  test("functions and symbols are left out with one warning for each place, of 100 places", async () => {
    const { code, lines, errors } = await run("warning.mjs", []);
    expect({ code, errors }).toEqual({ code: 0, errors: "" });
    const warnings = lines.map((line) => JSON.parse(line) as Record<"name" | "code" | "message", string>);
    for (const { name, code } of warnings) expect([name, code]).toEqual(["ForkpointWarning", "FORKPOINT_LEFT_OUT"]);
    const many = Array.from({ length: 96 }, (_, index) => `state.scratch.many[${index}] is a function`);
    expect(warnings.map(({ message }) => message.split(",")[0])).toEqual([
      "state.scratch.tools[0].run is a function",
      "state.scratch.other is a function",
      "state.scratch.symbol is a symbol",
      "state.scratch.more is a function",
      ...many,
    ]);
    expect(warnings).toHaveLength(100);
    const last = warnings.filter(({ message }) => message.endsWith("Further places are not reported."));
    expect(last).toEqual([warnings.at(-1)]);
    expect(lines.join()).not.toContain("secret");
  });
});

const detached = (make: (memory: ArrayBuffer) => unknown) => () => {
  const memory = new ArrayBuffer(8);
  const value = make(memory);
  structuredClone(null, { transfer: [memory] });
  return value;
};

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

const bad = () => new WeakMap();

const refusals: Record<string, [() => unknown, RegExp]> = {
  "a Promise": [() => Promise.resolve(1), /a Promise is not data/],
  "a WeakMap": [() => new WeakMap(), /a WeakMap is not data/],
  "a toJSON that answers with a WeakMap": [() => ({ toJSON: () => new WeakMap() }), /a WeakMap is not data/],
  "a toJSON that answers with a Promise": [() => ({ toJSON: async () => 1 }), /a Promise is not data/],
  "a WeakSet": [() => new WeakSet(), /a WeakSet is not data/],
  "a WeakRef": [() => new WeakRef({}), /a WeakRef is not data/],
  "a Blob": [() => new Blob(["text"]), /a Blob is not data/],
  Headers: [() => new Headers({ a: "b" }), /Headers is not data/],
  URLSearchParams: [() => new URLSearchParams("a=b"), /URLSearchParams is not data/],
  "an AbortSignal": [() => new AbortController().signal, /AbortSignal is not data/],
  "a generator": [
    function* () {
      yield 1;
    },
    /Generator is not data/,
  ],
  "an iterator": [() => [1].values(), /Iterator is not data/],
  "a boxed symbol": [() => Object(Symbol("s")) as unknown, /symbol is not data/],
  "shared memory": [() => new SharedArrayBuffer(4), /shared memory/],
  "a view of shared memory": [() => new Int32Array(new SharedArrayBuffer(4)), /shared memory/],
  "bytes of shared memory": [() => new Uint8Array(new SharedArrayBuffer(4)), /shared memory/],
  "a Buffer of shared memory": [() => Buffer.from(new SharedArrayBuffer(4)), /shared memory/],
  "detached memory": [detached((memory) => memory), /transferred away/],
  "a view of detached memory": [detached((memory) => new Uint8Array(memory)), /transferred away/],
  "a Buffer of detached memory": [detached((memory) => Buffer.from(memory)), /transferred away/],
  "a DataView of detached memory": [detached((memory) => new DataView(memory)), /transferred away/],
  "a getter that throws": [
    () => ({
      get broken() {
        throw new Error("from the getter");
      },
    }),
    /broken cannot be stored: .*from the getter/,
  ],
  "a toJSON that throws": [
    () => ({
      toJSON() {
        throw new Error("from toJSON");
      },
    }),
    /from toJSON/,
  ],
  "something thrown that is no Error": [
    () => ({
      toJSON() {
        // oxlint-disable-next-line no-throw-literal -- hostile code throws what it likes
        throw "a string";
      },
    }),
    /a string/,
  ],
  "a Proxy without an end": [
    () => {
      const endless: object = new Proxy(
        {},
        {
          get: (_, key) => (key === "toJSON" ? undefined : endlessly()),
          ownKeys: () => ["deeper"],
          getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }),
        },
      );
      // Each level is a new object, so the value contains no circular reference.
      const endlessly = (): object => new Proxy(endless, {});
      return endless;
    },
    /nested deeper/,
  ],
  "a toJSON that answers with itself, deeper": [
    () => {
      const value = { toJSON: () => ({ again: value }) };
      return value;
    },
    // Either of the two limits may be reached first.
    /nested (deeper|too deeply)/,
  ],
};

describe("values that cannot be stored", () => {
  test.each(Object.entries(refusals))("%s is refused, nothing is written, the store works", async (_, refusal) => {
    const [make, message] = refusal;
    const [inState, deep, outside] = await refused(make);
    expect(inState!.message).toMatch(message);
    expect(inState!.message).toMatch(/^state(\.|$| )/);
    expect(deep!.message).toMatch(message);
    expect(outside!.message).toMatch(message);
    expect(outside!.message).toMatch(/^checkpoint(\.|$| )/);
  });

  test.each(["sqlite", "jsonl"] as const)("and so in %s", async (kind) => {
    const store = open(place(kind));
    for (const [make] of Object.values(refusals)) await failure(store.save(holding([make()])), "INVALID_ARGUMENT");
    expect(await store.runs()).toEqual({ runs: [], cursor: null });
    await refused(() => new WeakMap(), {}, kind);
  });

  test("the message names the path and not the content", async () => {
    const store = open("memory:");
    const message = async (scratch: unknown) => (await rejection(store.save(holding(scratch)))).message;
    expect(await message({ a: [{ "b c": new Map([["secret", bad()]]) }] })).toContain('state.scratch.a[0]["b c"][0] ');
    expect(await message(new Set(["secret", bad()]))).toContain("state.scratch[1] ");
    expect(await message({ "\n": { $: bad() } })).toContain('state.scratch["\\n"].$ ');
    expect((await message({ ["k".repeat(5_000)]: bad() })).length).toBeLessThan(500);
    expect(await message({ secret: 1, bad: bad() })).not.toContain("secret");
  });

  test("what was thrown is the cause", async () => {
    const cause = new Error("from the getter");
    const value = Object.defineProperty({}, "a", {
      enumerable: true,
      get() {
        throw cause;
      },
    });
    expect((await failure(open("memory:").save(holding(value)), "INVALID_ARGUMENT")).cause).toBe(cause);
  });

  test("a refused save leaves the checkpoint that has the id", async () => {
    for (const kind of kinds) {
      const store = open(place(kind));
      const saved = checkpoint();
      await store.save(saved);
      const broken = { ...saved, state: { ...saved.state, scratch: Promise.resolve() } };
      await failure(store.save(broken), "INVALID_ARGUMENT");
      expect(await store.get(saved.id)).toStrictEqual(saved);
      expect(await store.list(graphId)).toHaveLength(1);
    }
  });
});

const nests: Record<string, (inner: unknown) => unknown> = {
  objects: (inner) => ({ inner }),
  arrays: (inner) => [inner],
  Maps: (inner) => new Map([["inner", inner]]),
  Sets: (inner) => new Set([inner]),
};

describe("depth", () => {
  test.each(Object.entries(nests))("%s are kept up to 1,000 levels, and kept or refused beyond", async (_, wrap) => {
    const store = open("memory:");
    const beyond = Array.from({ length: 20 }, (_, n) => 1_100 + 100 * n);
    for (const depth of [127, 128, 129, 199, 200, 201, 500, 1_000, ...beyond]) {
      const saved = holding(nested(depth, wrap));
      const refusal = await store.save(saved).then(
        () => undefined,
        ({ code }: ForkpointError) => code,
      );
      if (refusal === undefined) expect(depthOf((await store.get(saved.id))!.state.scratch)).toBe(depth);
      else expect([refusal, depth > 1_000]).toEqual(["INVALID_ARGUMENT", true]);
    }
  });

  test.each(Object.entries(nests))("%s nested 10,000 and 100,000 levels are refused", async (_, wrap) => {
    for (const depth of [10_000, 100_000]) {
      const errors = await refused(() => nested(depth, wrap));
      for (const error of errors) expect(error.message).toMatch(/nested (deeper than \d+|too deeply)/);
    }
  });

  test("JSON: a nested value is stored whole or rejected", async () => {
    const store = open("memory:", { serializer: "json" });
    for (const depth of [1_000, 3_000, 10_000, 100_000]) {
      const saved = holding(nested(depth, nests["objects"]!));
      const error = await store.save(saved).then(
        () => undefined,
        (reason: ForkpointError) => reason,
      );
      if (error === undefined) expect(depthOf((await store.get(saved.id))!.state.scratch)).toBe(depth);
      else expect(error).toMatchObject({ code: "INVALID_ARGUMENT", name: "ForkpointError" });
      if (depth === 1_000) expect(error).toBeUndefined();
      expect((await store.get(saved.id)) === null).toBe(error !== undefined);
    }
  });
});

/** Makes a checkpoint that takes this many bytes as JSON. */
function sized(bytes: number): Checkpoint {
  const saved = holding("");
  // A checkpoint is stored in two parts: the state, and the rest, in which these fields are null.
  const rest = { ...saved, id: null, runId: null, timestamp: null, state: null };
  const small = JSON.stringify(saved.state).length + JSON.stringify(rest).length;
  saved.state.scratch = "x".repeat(bytes - small);
  return saved;
}

describe("size", () => {
  test.each(["v8", "json"] as const)("%s: a string of 20 MB", async (serializer) => {
    const target = place("sqlite");
    const text = "0123456789abcde\u00e9".repeat((20 << 20) / 16);
    const wide = `${text.slice(0, 1 << 20)}\u{1f600}`;
    const store = open(target, { serializer, durability: "off" });
    const saved = holding({ text, wide });
    await store.save(saved);
    await store.close();
    const read = (await open(target, { serializer }).get(saved.id))!.state.scratch as { text: string; wide: string };
    // `toBe` would print 20 MB if it failed.
    expect([read.text === text, read.wide === wide]).toEqual([true, true]);
  });

  test.each(kinds)("%s: a checkpoint beyond maxPayloadBytes is refused, one within is stored", async (kind) => {
    const store = open(place(kind), { maxPayloadBytes: 10_000, serializer: "json" });
    const [within, beyond] = [sized(10_000), sized(10_001)];
    const error = await failure(store.save(beyond), "INVALID_ARGUMENT");
    expect(error.message).toContain("10001 bytes");
    expect(error.message).toContain("maxPayloadBytes (10000)");
    expect(error.message).toContain(beyond.id);
    expect(await store.runs()).toEqual({ runs: [], cursor: null });
    await store.save(within);
    expect(await store.get(within.id)).toEqual(within);
    await failure(store.fork(within.id, { input: { more: "x".repeat(100) } }), "INVALID_ARGUMENT");
    await store.save(checkpoint({ id: "beside" }));
    expect(ids(await store.list(graphId))).toEqual(["beside", within.id]);
    // A value that was stored under a higher limit can be read.
    expect(await store.list(graphId, { limit: 1 })).toHaveLength(1);
  });

  test("the stateSize of a small state is its size as JSON", async () => {
    const store = open("memory:");
    const one = holding({ text: "ü" });
    await store.save(one);
    expect((await store.list(one.graphId))[0]!.stateSize).toBe(Buffer.byteLength(JSON.stringify(one.state)));
  });

  test("without the option the limit is 64 MiB", async () => {
    const store = open("memory:");
    const error = await failure(store.save(holding("x".repeat(64 << 20))), "INVALID_ARGUMENT");
    expect(error.message).toContain(`maxPayloadBytes (${64 << 20})`);
    expect((await store.runs()).runs).toEqual([]);
  });

  test("a record beyond the limit of the store that reads it is read", async () => {
    const target = place("sqlite");
    const large = holding("x".repeat(50_000));
    const writer = open(target);
    await writer.save(large);
    await writer.close();
    expect(await open(target, { maxPayloadBytes: 1_000 }).get(large.id)).toEqual(large);
  });
});

/** JSON with inverted bytes, which no JSON parser accepts. */
const inverted = (value: unknown) => Buffer.from(JSON.stringify(value)).map((byte) => ~byte);

/** A serializer as a user might write it. */
function custom(overrides: Record<string, unknown> = {}): Serializer {
  return {
    name: "inverted",
    serialize: inverted,
    deserialize: (bytes: Uint8Array) => JSON.parse(Buffer.from(bytes.map((byte) => ~byte)).toString()) as unknown,
    ...overrides,
  } as Serializer;
}

describe("serializers", () => {
  const jsonWrites: Record<string, () => unknown> = {
    "what JSON holds": () => ({ a: [1, "x", null, true, { b: -1.5 }], "": {}, "\u2028": "\0" }),
    "what JSON changes": () => ({ n: Number.NaN, z: -0, d: new Date(5), u: undefined, m: new Map(), f: () => 1 }),
    "holes and undefined": () => [sparse(), undefined],
    "hostile keys": () => JSON.parse('{"__proto__":{"polluted":1},"constructor":1,"length":2}') as unknown,
    "lone surrogates": () => ({ [loneHigh]: loneLow, text: `a${loneHigh}b` }),
    "an envelope": () => ({ lc: 1, type: "constructor", id: ["x"], $type: "Date" }),
    toJSON: () => [new URL("https://example.org"), new Message("hi"), Buffer.from("x")],
    numbers: () => [2 ** 53 + 2, 1e21, 5e-324, 0.1 + 0.2],
    "numeric keys": () => ({ b: 1, 2: 2, 1: 3 }),
  };

  test.each(Object.entries(jsonWrites))("json: %s, as JSON has it", async (_, make) => {
    const read = await back(open("memory:", { serializer: "json" }), make());
    const expected = JSON.parse(JSON.stringify({ made: make() })) as { made: unknown };
    expectSame(read, expected.made);
  });

  test.each([
    ["BigInt", () => 1n],
    ["a circle", circular],
    ["a getter that throws", refusals["a getter that throws"]![0]],
    ["a toJSON that throws", refusals["a toJSON that throws"]![0]],
    ["a revoked Proxy", revoked],
  ])("json: %s is refused", async (_, make) => {
    await refused(make, { serializer: "json" });
  });

  test.each(["v8", "json"] as const)("%s: a state that becomes no object is refused", async (serializer) => {
    const store = open("memory:", { serializer });
    for (const toJSON of [() => undefined, () => () => 1, () => Symbol("s")]) {
      const state = { toJSON } as unknown as Checkpoint["state"];
      const error = await rejection(store.save(checkpoint({ state })));
      expect(error).toMatchObject({ code: "INVALID_ARGUMENT" });
    }
    expect((await store.runs()).runs).toEqual([]);
  });

  test.each(kinds)("%s: a custom one is given what it wrote", async (kind) => {
    const store = open(place(kind), { serializer: custom() });
    const saved = checkpoint({ extra: 1 });
    await store.save(saved);
    expect(await store.get(saved.id)).toStrictEqual(saved);
    const forked = (await store.latest(await store.fork(saved.id, { scratch: { b: 2 } })))!;
    expect(forked.state.scratch).toEqual({ notes: ["a", "b"], b: 2 });
    const [listed] = await store.listByRun(saved.runId);
    expect(listed!.stateSize).toBe(JSON.stringify(saved.state).length);
  });

  test.each([
    ["a string", "text"],
    ["an array", [1, 2]],
    ["undefined", undefined],
    ["a Promise", Promise.resolve(new Uint8Array())],
    ["an ArrayBuffer", new ArrayBuffer(1)],
    ["a Uint16Array", new Uint16Array(1)],
  ])("a custom one that makes %s is refused, and nothing is written", async (_, made) => {
    const store = open("memory:", { serializer: custom({ serialize: () => made }) });
    const error = await rejection(store.save(checkpoint()));
    expect(error).toBeInstanceOf(TypeError);
    expect(error.code).toBe("INVALID_ARGUMENT");
    expect(error.message).toContain('"inverted"');
    expect((await store.runs()).runs).toEqual([]);
  });

  test("a custom one may use one buffer again and again, and one that reads no object is told", async () => {
    const buffer = Buffer.alloc(65_536);
    const serialize = (value: unknown) => buffer.subarray(0, buffer.write(JSON.stringify(value)));
    const deserialize = (bytes: Uint8Array) => JSON.parse(Buffer.from(bytes).toString()) as unknown;
    const store = open("memory:", { serializer: custom({ serialize, deserialize }) });
    const saved = checkpoint();
    await store.save(saved);
    expect(await store.get(saved.id)).toEqual(saved);
    const wrong = open("memory:", { serializer: custom({ deserialize: () => null }) });
    await wrong.save(saved);
    expect((await rejection(wrong.get(saved.id))).message).toContain("inverted");
  });

  test("every record knows its serializer", async () => {
    const target = place("sqlite");
    const options = [{}, { serializer: "json" as const }, { serializer: custom() }];
    const saved = options.map((_, i) => checkpoint({ id: `by-${i}` }));
    for (const [i, option] of options.entries()) {
      const store = open(target, option);
      await store.save(saved[i]!);
      await store.close();
    }
    // Every store lists all checkpoints. It can read the checkpoints of the built-in serializers and of its own
    // serializer.
    for (const [i, option] of options.entries()) {
      const store = open(target, option);
      expect(ids(await store.list(graphId))).toEqual(["by-2", "by-1", "by-0"]);
      expect(await store.get("by-0")).toEqual(saved[0]);
      expect(await store.get("by-1")).toEqual(saved[1]);
      if (i === 2) expect(await store.get("by-2")).toEqual(saved[2]);
      else {
        for (const read of [store.get("by-2"), store.latest("run-1"), store.fork("by-2", { input: { a: 1 } })]) {
          const error = await failure(read, "UNSUPPORTED");
          expect(error.message).toContain('"inverted"');
          expect(error.message).toContain('"by-2"');
        }
      }
      await store.close();
    }
  });

  test("a fork with a patch of a record of another serializer is written in the store's own", async () => {
    const target = place("sqlite");
    const source = checkpoint();
    const writer = open(target, { serializer: "json" });
    await writer.save(source);
    await writer.close();
    const store = open(target, { serializer: custom() });
    const runs = [await store.fork(source.id), await store.fork(source.id, { input: { more: 1 } })] as const;
    expect((await store.latest(runs[0]))!.state).toEqual(source.state);
    expect((await store.latest(runs[1]))!.state).toEqual({ ...source.state, input: { question: "why", more: 1 } });
    expect(await store.get(source.id)).toEqual(source);
    const reader = open(target);
    expect((await reader.latest(runs[0]))!.state).toEqual(source.state);
    await failure(reader.latest(runs[1]), "UNSUPPORTED");
  });

  test("a fork without a patch needs no serializer", async () => {
    const target = place("sqlite");
    const source = checkpoint();
    const writer = open(target, { serializer: custom() });
    await writer.save(source);
    const runId = await open(target).fork(source.id);
    expect((await writer.latest(runId))!.state).toEqual(source.state);
  });
});

/** Values that are not strings, and strings that cannot be stored. */
const noText = {
  toString() {
    throw new Error("never called");
  },
};
const noStrings: unknown[] = [undefined, null, 1, Number.NaN, true, 1n, Symbol("id"), { $gt: "" }, ["a"], () => "a"];
noStrings.push(Object("a"), noText, Object.create(null));

test("what is no string is no id", async () => {
  const store = open("memory:");
  const saved = checkpoint();
  await store.save(saved);
  for (const value of noStrings) {
    const id = value as string;
    const none = value === undefined || value === null;
    for (const field of ["id", "runId", "graphId", "nodeId"]) await wrongType(store.save(checkpoint({ [field]: id })));
    await wrongType(store.get(id));
    await wrongType(store.latest(id));
    await wrongType(store.load(id));
    await wrongType(store.load(id, "node-1"));
    if (!none) await wrongType(store.load("run-1", id));
    await wrongType(store.list(id));
    if (!none) await wrongType(store.list(graphId, { runId: id }));
    await wrongType(store.listByRun(id));
    await wrongType(store.delete(id));
    await wrongType(store.fork(id));
    if (value !== undefined) await wrongType(store.runs({ graphIdPrefix: id }));
    if (!none) await wrongType(store.runs({ cursor: id }));
  }
  expect(ids(await store.list(graphId))).toEqual([saved.id]);
});

test("a cursor is one of an earlier page", async () => {
  const store = open("memory:");
  for (const cursor of ["0", "-1", "01", "1.5", "", " 1", "1 ", "1e3", "x", "99999999999999999", "' OR 1=1"])
    await wrongType(store.runs({ cursor }));
});

describe.each(kinds)("ids in %s", (kind) => {
  test("an empty id cannot be written", async () => {
    const store = open(place(kind));
    for (const field of ["id", "runId", "graphId", "nodeId"]) {
      const error = await failure(store.save(checkpoint({ [field]: "" })), "INVALID_ARGUMENT");
      expect(error.message).toContain(`checkpoint.${field} is empty`);
    }
    expect((await store.runs()).runs).toEqual([]);
  });

  const halves = [loneHigh, loneLow, `a${loneHigh}`, `${loneLow}a`];
  const long = ["r".repeat(4_097), "é".repeat(2_049), "r".repeat(10_000_000)];
  test.each([
    // A careless conversion would turn the halves into this id.
    ["half of a surrogate pair", halves, "\uFFFD"],
    ["more than 4,096 bytes", long, "é".repeat(2_048)],
  ])("%s is refused on save and finds nothing", async (_, wrong, right) => {
    const store = open(place(kind));
    const others = wrong === halves && { graphId: right, nodeId: right };
    const saved = checkpoint({ id: right, runId: right, ...others });
    await store.save(saved);
    for (const id of wrong) {
      for (const field of ["id", "runId", "graphId", "nodeId"]) {
        const error = await failure(store.save(checkpoint({ [field]: id })), "INVALID_ARGUMENT");
        expect(error.message).toContain(`checkpoint.${field}`);
        if (wrong === long) expect(error.message).toContain(` has ${Buffer.byteLength(id)} bytes`);
        expect(error.message.length).toBeLessThan(500);
      }
      expect(await store.get(id)).toBeNull();
      expect(await store.latest(id)).toBeNull();
      expect(await store.load(right, id)).toBeNull();
      expect(await store.list(id)).toEqual([]);
      expect(await store.list(saved.graphId, { runId: id })).toEqual([]);
      expect(await store.listByRun(id)).toEqual([]);
      expect(await store.delete(id)).toBeUndefined();
      if (wrong === long) expect(await store.runs({ graphIdPrefix: id })).toEqual({ runs: [], cursor: null });
      expect((await failure(store.fork(id), "NOT_FOUND")).message.length).toBeLessThan(1_000);
    }
    expect(await store.get(right)).toEqual(saved);
    expect((await store.runs()).runs).toHaveLength(1);
  });
});
