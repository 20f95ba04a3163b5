// Tests the JSON form of values: every type, the exact way back, and values that are deep, wide, cyclic or hostile.
import { runInNewContext } from "node:vm";
import { isDeepStrictEqual } from "node:util";
import { ForkpointError } from "forkpoint";
import { describe, expect, test } from "vitest";
import { fromJsonForm, opaque, toJsonForm } from "../../ts/bridge/json-form/to-json-form.js";
import { random, randomValue, same } from "./random.js";

const shared = { n: 1 };
const cycle: Record<string, unknown> = { list: [] };
(cycle["list"] as unknown[]).push(cycle);
const sparse: unknown[] = [];
sparse[4_294_967_294] = "last";
const keyObject = { k: 1 };
const proto = JSON.parse('{"__proto__":{"polluted":true}}') as object;
const noStack = (error: Error): Error => {
  delete (error as { stack?: unknown }).stack;
  return error;
};

/** The value, and its form. */
const forms: Array<[string, unknown, unknown]> = [
  ["null", null, null],
  ["a text", "x\u0000\ud800", "x\u0000\ud800"],
  ["plain data", { a: [1, true, null], b: {} }, { a: [1, true, null], b: {} }],
  ["undefined", undefined, { $type: "Undefined" }],
  ["NaN", [Number.NaN], [{ $type: "Number", value: "NaN" }]],
  ["Infinity", Number.POSITIVE_INFINITY, { $type: "Number", value: "Infinity" }],
  ["-Infinity", Number.NEGATIVE_INFINITY, { $type: "Number", value: "-Infinity" }],
  ["-0", { n: -0 }, { n: { $type: "Number", value: "-0" } }],
  ["a BigInt", -(2n ** 70n), { $type: "BigInt", value: "-1180591620717411303424" }],
  ["a Date", new Date(0), { $type: "Date", value: "1970-01-01T00:00:00.000Z" }],
  ["a late Date", new Date(8.64e15), { $type: "Date", value: "+275760-09-13T00:00:00.000Z" }],
  ["an invalid Date", new Date(Number.NaN), { $type: "Date", value: null }],
  ["a RegExp", /a\/"b/gi, { $type: "RegExp", value: { source: 'a\\/"b', flags: "gi" } }],
  [
    "a Map",
    new Map<unknown, unknown>([
      ["a", 1],
      [2, "b"],
    ]),
    {
      $type: "Map",
      value: [
        ["a", 1],
        [2, "b"],
      ],
    },
  ],
  ["a Map with an object for a key", new Map([[keyObject, 1]]), { $type: "Map", value: [[{ k: 1 }, 1]] }],
  ["a Set", new Set([1, new Set()]), { $type: "Set", value: [1, { $type: "Set", value: [] }] }],
  ["bytes", Uint8Array.of(1, 255), { $type: "Bytes", view: "Uint8Array", value: "Af8=" }],
  [
    "a part of a buffer",
    new Uint8Array([9, 1, 9]).subarray(1, 2),
    { $type: "Bytes", view: "Uint8Array", value: "AQ==" },
  ],
  ["a Buffer", Buffer.from("hi"), { $type: "Bytes", view: "Buffer", value: "aGk=" }],
  ["an ArrayBuffer", Uint8Array.of(7).buffer, { $type: "Bytes", view: "ArrayBuffer", value: "Bw==" }],
  ["a DataView", new DataView(Uint8Array.of(7).buffer), { $type: "Bytes", view: "DataView", value: "Bw==" }],
  ["no bytes", new Float32Array(), { $type: "Bytes", view: "Float32Array", value: "" }],
  ["a boxed number", new Object(-0), { $type: "Boxed", value: { $type: "Number", value: "-0" } }],
  ["a boxed text", new Object("x"), { $type: "Boxed", value: "x" }],
  ["a hole", [1, , undefined], [1, { $type: "Hole" }, { $type: "Undefined" }]], // oxlint-disable-line no-sparse-arrays
  [
    "a list that is mostly holes",
    sparse,
    { $type: "Array", value: [], length: 4_294_967_295, properties: [["4294967294", "last"]] },
  ],
  [
    "a list with a named property",
    Object.assign([1], { $type: shared }),
    { $type: "Array", value: [1], length: 1, properties: [["$type", { n: 1 }]] },
  ],
  [
    "an Error",
    noStack(new RangeError("far", { cause: { a: undefined } })),
    { $type: "Error", value: { name: "RangeError", message: "far", cause: { a: { $type: "Undefined" } } } },
  ],
  [
    "an Error with properties of its own",
    noStack(Object.assign(Object.defineProperty(new Error(), "name", { value: "Mine" }), { code: "E" })),
    { $type: "Error", value: { name: "Mine", code: "E" } },
  ],
  [
    "a key $type",
    { $type: "Date", v: [-0] },
    {
      $type: "Object",
      value: [
        ["$type", "Date"],
        ["v", [{ $type: "Number", value: "-0" }]],
      ],
    },
  ],
  [
    "a shared object",
    { a: { b: [shared] }, "c d": shared },
    { a: { b: [{ n: 1 }] }, "c d": { $type: "Ref", value: "a.b[0]" } },
  ],
  ["a cycle", cycle, { list: [{ $type: "Ref", value: "" }] }],
  [
    "what is shared within a Map",
    [
      new Map<unknown, unknown>([
        ["x.y", shared],
        [keyObject, keyObject],
      ]),
      shared,
    ],
    [
      {
        $type: "Map",
        value: [
          ["x.y", { n: 1 }],
          [{ k: 1 }, { $type: "Ref", value: "[0][1][0]" }],
        ],
      },
      { $type: "Ref", value: '[0]["x.y"]' },
    ],
  ],
  [
    "what is shared within a Set",
    [new Set([shared]), shared],
    [
      { $type: "Set", value: [{ n: 1 }] },
      { $type: "Ref", value: "[0][0]" },
    ],
  ],
];

describe("the form of", () => {
  test.each(forms)("%s is JSON, and its value is the same again", (_, value, form) => {
    expect(toJsonForm(value)).toEqual(form);
    const text = JSON.stringify(form);
    expect(JSON.stringify(toJsonForm(value))).toBe(text);
    const back = fromJsonForm(JSON.parse(text));
    expect(same(back, value)).toBe(true);
    expect(JSON.stringify(toJsonForm(back))).toBe(text);
  });

  test("a key __proto__ stays a key, there and back", () => {
    for (const value of [
      proto,
      { ...proto, $type: 1 },
      Object.assign(new Error(), { e: proto }),
      new Map([["__proto__", 1]]),
    ]) {
      const form = JSON.parse(JSON.stringify(toJsonForm(value))) as object;
      const back = fromJsonForm(form) as object;
      expect(same(back, value)).toBe(true);
      expect((back as { polluted?: unknown }).polluted).toBe(undefined);
      expect((toJsonForm(value) as { polluted?: unknown }).polluted).toBe(undefined);
    }
    expect(Object.keys(toJsonForm(proto) as object)).toEqual(["__proto__"]);
  });

  test("an Error keeps its stack, its class, and whether it has a message", () => {
    const error = new TypeError("bad");
    const back = fromJsonForm(toJsonForm(error)) as Error;
    expect(back).toBeInstanceOf(TypeError);
    expect([back.stack, back.message, Object.keys(back)]).toEqual([error.stack, "bad", []]);
    expect(Object.hasOwn(fromJsonForm(toJsonForm(new Error())) as Error, "message")).toBe(false);
    expect(Object.hasOwn(fromJsonForm(toJsonForm(new Error(""))) as Error, "message")).toBe(true);
  });

  test("an opaque value is its tag, its size and how it begins, and has no way back", () => {
    const form = toJsonForm({ "my key": [opaque("msgpack", new Uint8Array(3_000).fill(1))] });
    const base64 = Buffer.alloc(1_024, 1).toString("base64");
    expect(form).toEqual({ "my key": [{ $type: "Opaque", tag: "msgpack", bytes: 3_000, base64 }] });
    expect(() => fromJsonForm(form)).toThrow(expect.objectContaining({ code: "UNSUPPORTED" }) as Error);
    expect(() => fromJsonForm(form)).toThrow('["my key"][0] cannot be read from its JSON form');
    expect(() => fromJsonForm(form)).toThrow('the serializer "msgpack"');
  });

  test("functions and symbols is that of a store: left out, and null in a list", () => {
    const value = { f: () => 1, s: Symbol("s"), list: [() => 1, 2], map: new Map([["f", () => 1]]), n: 1 };
    expect(toJsonForm(value)).toEqual({ list: [null, 2], map: { $type: "Map", value: [] }, n: 1 });
    expect(() => toJsonForm(() => 1)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }) as Error);
  });

  test("values of another realm, of classes and without a prototype", () => {
    const foreign: unknown = runInNewContext("({ d: new Date(0), m: new Map([[1, 2]]), e: new RangeError('x').name })");
    expect(toJsonForm(foreign)).toEqual({
      d: { $type: "Date", value: "1970-01-01T00:00:00.000Z" },
      m: { $type: "Map", value: [[1, 2]] },
      e: "RangeError",
    });
    class Point {
      x = 1;
      get y() {
        return 2;
      }
    }
    expect(toJsonForm([new Point(), { __proto__: null, a: 1 }])).toEqual([{ x: 1 }, { a: 1 }]);
  });

  test("what cannot be read names its place", () => {
    const hostile = {
      a: [
        {
          get b(): never {
            throw new Error("no entry");
          },
        },
      ],
    };
    expect(() => toJsonForm(hostile)).toThrow("a[0] has no JSON form: reading it threw Error: no entry");
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect(() => toJsonForm({ proxy })).toThrow("proxy has no JSON form: reading it threw TypeError");
    expect(() => toJsonForm({ m: new SharedArrayBuffer(1) })).toThrow("m has no JSON form: shared memory is not data");
  });

  test("typed arrays have memory of their own afterwards", () => {
    for (const value of [Uint8Array.of(1, 2), Buffer.from("ab"), new DataView(new ArrayBuffer(2))]) {
      expect((fromJsonForm(toJsonForm(value)) as Uint8Array).buffer.byteLength).toBe(2);
    }
  });
});

describe("a value of any depth", () => {
  const depth = 100_000;
  const wrap: Array<[string, (inner: unknown) => unknown, (outer: never) => unknown]> = [
    ["objects", (inner) => ({ a: inner }), (outer: { a: unknown }) => outer.a],
    ["objects with a key $type", (inner) => ({ $type: inner }), (outer: { $type: unknown }) => outer.$type],
    ["lists", (inner) => [inner], (outer: [unknown]) => outer[0]],
    ["Maps", (inner) => new Map([["k", inner]]), (outer: Map<string, unknown>) => outer.get("k")],
    ["keys of Maps", (inner) => new Map([[inner, 1]]), (outer: Map<unknown, unknown>) => [...outer.keys()][0]],
    ["Sets", (inner) => new Set([inner]), (outer: Set<unknown>) => [...outer][0]],
    ["causes", (inner) => noStack(new Error("e", { cause: inner })), (outer: Error) => outer.cause],
  ];

  test.each(wrap)("%s: there and back", (_, outside, inside) => {
    let value: unknown = "core";
    for (let i = 0; i < depth; i++) value = outside(value);
    let back = fromJsonForm(toJsonForm(value));
    for (let i = 0; i < depth; i++) back = inside(back as never);
    expect(back).toBe("core");
  });

  test("a list that is linked both ways has paths without end, and is refused", () => {
    type Node = { next?: Node; previous?: Node };
    const first: Node = {};
    let last = first;
    for (let i = 0; i < depth; i++) {
      last.next = { previous: last };
      last = last.next;
    }
    expect(() => toJsonForm(first)).toThrow(expect.objectContaining({ code: "UNSUPPORTED" }) as Error);
  });

  test("a refusal far within has a short message", () => {
    let form: unknown = { $type: "Secret" };
    for (let i = 0; i < depth; i++) form = [form];
    const error = failureOf(() => fromJsonForm(form));
    expect(error).toMatchObject({ code: "UNSUPPORTED" });
    expect(error.message.length).toBeLessThan(1_000);
  });
});

function failureOf(work: () => unknown): ForkpointError {
  try {
    work();
  } catch (error) {
    if (error instanceof Error && "code" in error) return error as ForkpointError;
    throw error;
  }
  throw new Error("nothing was thrown");
}

describe("a form that is none", () => {
  test.each<[unknown, string, string]>([
    [{ a: { $type: "Secret" } }, "UNSUPPORTED", "a cannot be read"],
    [{ a: { $type: 5 } }, "UNSUPPORTED", "a cannot be read"],
    [{ a: { $type: null } }, "UNSUPPORTED", "a cannot be read"],
    [[{ $type: "toString" }], "UNSUPPORTED", "[0] cannot be read"],
    [{ $type: "More", path: [], count: 1 }, "UNSUPPORTED", "the value cannot be read"],
    [{ $type: "Bytes", view: "SharedArrayBuffer", value: "" }, "UNSUPPORTED", "view"],
    [{ $type: "Bytes", view: "process", value: "" }, "UNSUPPORTED", "view"],
    [{ $type: "Bytes", view: "Float64Array", value: "AQ==" }, "INVALID_ARGUMENT", "1 bytes cannot be a Float64Array"],
    [{ $type: "Bytes", view: "Uint8Array", value: "A" }, "INVALID_ARGUMENT", "base64"],
    [{ $type: "Bytes", view: "Uint8Array", value: [1] }, "INVALID_ARGUMENT", "base64"],
    [{ d: { $type: "Date", value: "yesterday" } }, "INVALID_ARGUMENT", "d cannot be read"],
    [{ d: { $type: "Date", value: "2026-01-31T09:30" } }, "INVALID_ARGUMENT", "time zone"],
    [{ d: { $type: "Date", value: 0 } }, "INVALID_ARGUMENT", "d cannot be read"],
    [{ $type: "BigInt", value: "0x10" }, "INVALID_ARGUMENT", "BigInt"],
    [{ $type: "BigInt", value: 1 }, "INVALID_ARGUMENT", "BigInt"],
    [{ $type: "Number", value: "1" }, "INVALID_ARGUMENT", "Number"],
    [{ $type: "Number", value: "__proto__" }, "INVALID_ARGUMENT", "Number"],
    [{ $type: "RegExp", value: { source: "(", flags: "" } }, "INVALID_ARGUMENT", "regular expression"],
    [{ $type: "RegExp", value: "x" }, "INVALID_ARGUMENT", "RegExp"],
    [{ $type: "Map", value: [["a"]] }, "INVALID_ARGUMENT", "Map"],
    [
      {
        $type: "Map",
        value: [
          ["a", 1],
          ["a", 2],
        ],
      },
      "INVALID_ARGUMENT",
      "the same key twice",
    ],
    [{ $type: "Set", value: {} }, "INVALID_ARGUMENT", "Set"],
    [{ $type: "Set", value: [1, 1] }, "INVALID_ARGUMENT", "the same item twice"],
    [{ $type: "Error", value: "x" }, "INVALID_ARGUMENT", "Error"],
    [{ $type: "Object", value: [[1, 2]] }, "INVALID_ARGUMENT", "Object"],
    [{ $type: "Boxed", value: null }, "INVALID_ARGUMENT", "Boxed"],
    [{ $type: "Array", value: [1], length: 0, properties: [] }, "INVALID_ARGUMENT", "Array"],
    [{ $type: "Array", value: [], length: 2 ** 32, properties: [] }, "INVALID_ARGUMENT", "Array"],
    [{ $type: "Array", value: [], length: 1, properties: [["length", 0]] }, "INVALID_ARGUMENT", "length"],
    [{ $type: "Array", value: [], length: 1, properties: [["5", 0]] }, "INVALID_ARGUMENT", "beyond its length"],
    [{ a: { $type: "Hole" } }, "INVALID_ARGUMENT", "only a list can have holes"],
    [{ $type: "Ref", value: "" }, "INVALID_ARGUMENT", "leads to nothing"],
    [{ a: { $type: "Ref", value: "b" } }, "INVALID_ARGUMENT", "a cannot be read"],
    [{ a: { $type: "Ref", value: "b" }, b: 5 }, "INVALID_ARGUMENT", "leads to nothing"],
    [{ a: { $type: "Ref", value: "b" }, b: { $type: "Ref", value: "a" } }, "INVALID_ARGUMENT", "leads to nothing"],
    [{ a: { $type: "Ref", value: "b" }, b: { $type: "BigInt", value: "1" } }, "INVALID_ARGUMENT", "leads to a bigint"],
    [{ a: { $type: "Ref", value: "toString" } }, "INVALID_ARGUMENT", "leads to nothing"],
    [{ a: { $type: "Ref", value: "..[" } }, "INVALID_ARGUMENT", "leads to nothing"],
    [{ a: { $type: "Ref" } }, "INVALID_ARGUMENT", "leads to nothing"],
    [{ a: undefined }, "INVALID_ARGUMENT", "a cannot be read"],
    [[() => 1], "INVALID_ARGUMENT", "[0] cannot be read"],
  ])("%j", (form, code, message) => {
    const error = failureOf(() => fromJsonForm(form));
    expect(error).toBeInstanceOf(Error);
    expect(error.code).toBe(code);
    expect(error.message).toContain(message);
  });

  test("a Date may be written by hand", () => {
    const read = (value: string) => fromJsonForm({ $type: "Date", value }) as Date;
    expect(read("2026-01-31").toISOString()).toBe("2026-01-31T00:00:00.000Z");
    expect(read("2026-01-31T09:30+02:00").toISOString()).toBe("2026-01-31T07:30:00.000Z");
  });

  test("a reference may lead to what comes later", () => {
    const value = fromJsonForm({ a: { $type: "Ref", value: "b.c" }, b: { c: { $type: "Set", value: [1] } } }) as {
      a: unknown;
      b: { c: unknown };
    };
    expect(value.a).toBeInstanceOf(Set);
    expect(value.a).toBe(value.b.c);
  });

  test("a form with a cycle in itself ends", () => {
    const form: unknown[] = [];
    form.push(form);
    const value = fromJsonForm(form) as unknown[];
    expect(value[0]).toBe(value);
  });
});

test("2,000 random values have a form that is JSON, and an exact way back", () => {
  for (let salt = 0; salt < 2_000; salt++) {
    const value = randomValue(random(salt), 40);
    const form = toJsonForm(value);
    const text = JSON.stringify(form);
    const read = JSON.parse(text) as unknown;
    expect(isDeepStrictEqual(read, form), `the form of value ${salt} is JSON`).toBe(true);
    const back = fromJsonForm(read);
    expect(same(back, value), `value ${salt} comes back`).toBe(true);
    // The references tell which objects are the same.
    expect(JSON.stringify(toJsonForm(back)), `value ${salt} shares the same objects`).toBe(text);
  }
});
