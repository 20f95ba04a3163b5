// Tests path expressions, and what they lead to.
import { describe, expect, test } from "vitest";
import type { PathStep } from "../../dist/types/inspect.js";
import { toJsonForm } from "../../ts/bridge/json-form/to-json-form.js";
import { formatPath, parsePath, valueAt } from "../../ts/bridge/json-form/path.js";
import { pick, random } from "./random.js";

describe("parsePath", () => {
  test.each<[string, PathStep[]]>([
    ["", []],
    [".", []],
    ["a", ["a"]],
    [".a", ["a"]],
    ["messages[-1].content", ["messages", -1, "content"]],
    ['a["any key"].b', ["a", "any key", "b"]],
    ['["a"]["b"]', ["a", "b"]],
    ['.["a"]', ["a"]],
    [".[0]", [0]],
    ["[0][1]", [0, 1]],
    ["[-0]", [0]],
    ["a[2:5]", ["a", { from: 2, to: 5 }]],
    ["a[-2:]", ["a", { from: -2, to: null }]],
    ["a[:-1].b", ["a", { from: null, to: -1 }, "b"]],
    ["a[:]", ["a", { from: null, to: null }]],
    ["0.-1", ["0", "-1"]],
    ["a b.c-d.größe.\u{1f600}", ["a b", "c-d", "größe", "\u{1f600}"]],
    ['["a]\\"\\u0041\\n."]', ['a]"A\n.']],
    ['[""]', [""]],
    ["__proto__.constructor", ["__proto__", "constructor"]],
    ["[999999999999999]", [999_999_999_999_999]],
  ])("%j", (text, steps) => {
    expect(parsePath(text)).toStrictEqual(steps);
  });

  test.each<[string, number, string]>([
    ["a..b", 3, "a key"],
    ["a.", 3, "a key"],
    ["..", 2, "a key"],
    ["a[", 3, "a key in double quotes"],
    ["a[]", 3, "a key in double quotes"],
    ["a[0", 3, "a key in double quotes"],
    ["a[01]", 3, "a key in double quotes"],
    ["a[1.5]", 3, "a key in double quotes"],
    ["a[1e3]", 3, "a key in double quotes"],
    ["a[x]", 3, "a key in double quotes"],
    ["a['x']", 3, "a key in double quotes"],
    ["a[ 0]", 3, "a key in double quotes"],
    ["a[1:2:3]", 3, "a key in double quotes"],
    ["a[9999999999999999]", 3, "a key in double quotes"],
    ["a[*]", 3, "a key in double quotes"],
    ['a["x]', 6, "a closing quote"],
    ['a["x"', 6, '"]"'],
    ['a["\\x"]', 3, "as JSON writes it"],
    ['a["x\n"]', 3, "as JSON writes it"],
    ["a[0]b", 5, '"." or "["'],
    ['a"b"', 2, '"." or "["'],
    ['"b"', 1, 'a key, "." or "["'],
    ["]", 1, 'a key, "." or "["'],
  ])("refuses %j at column %i", (text, column, expected) => {
    const parse = () => parsePath(text);
    expect(parse).toThrow(expect.objectContaining({ name: "ForkpointError", code: "INVALID_ARGUMENT" }) as Error);
    expect(parse).toThrow(`the path ${JSON.stringify(text)} is invalid at column ${column}: expected `);
    expect(parse).toThrow(expected);
  });

  test("shows nothing in its message that a terminal acts on", () => {
    expect(() => parsePath(`a[\u001b[31m${"x".repeat(1e6)}`)).toThrow(/^[\x20-\x7e]{1,400}$/);
    for (const value of [undefined, null, 5, ["a"]])
      expect(() => parsePath(value as unknown as string)).toThrow(TypeError);
  });
});

test("formatPath writes what parsePath reads", () => {
  expect(formatPath([])).toBe("");
  expect(formatPath(["messages", 0, "content"])).toBe("messages[0].content");
  expect(formatPath(["0", "a b", "", "größe", "\u001b", "x.y", -1])).toBe(
    '["0"]["a b"][""].größe["\\u001b"]["x.y"][-1]',
  );
  const keys = ["a", "größe", "-", "$x", "", "a b", '"', "]", ".", "\ud800", "\u0000", "__proto__", "0", 0, 7, -3];
  for (let salt = 0; salt < 2_000; salt++) {
    const below = random(salt);
    const path = Array.from({ length: below(6) }, () => pick(below, keys));
    expect(parsePath(formatPath(path))).toStrictEqual(path);
  }
});

describe("valueAt", () => {
  const shared = { deep: [1, { x: "found" }] };
  const key = { id: 7 };
  const sparse: unknown[] = [];
  sparse[4_000] = "far";
  const state = toJsonForm({
    list: ["a", "b", "c", "d"],
    "any key": { "": 1 },
    map: new Map<unknown, unknown>([
      ["k", { n: 1 }],
      [key, "by object"],
      ["length", 3],
    ]),
    set: new Set(["one", { two: 2 }]),
    error: new RangeError("far", { cause: { why: "moon" } }),
    typed: { $type: "x", inner: [5] },
    named: Object.assign([10, 20], { index: 0 }),
    sparse,
    shared,
    again: shared,
    nothing: undefined,
    date: new Date(0),
    text: "text",
    none: null,
    holes: [, 1], // oxlint-disable-line no-sparse-arrays
    ...(JSON.parse('{"__proto__":{"own":true}}') as object),
  });
  const at = (text: string) => valueAt(state, parsePath(text));

  test.each<[string, unknown]>([
    ["list[0]", "a"],
    ["list[-1]", "d"],
    ["list[1:3]", ["b", "c"]],
    ["list[-2:]", ["c", "d"]],
    ["list[:-3]", ["a"]],
    ["list[3:1]", []],
    ["list[2:99]", ["c", "d"]],
    ["list[1:][0]", "b"],
    ['["any key"][""]', 1],
    ["map.k.n", 1],
    ["map.length", 3],
    ["map[1]", [{ id: 7 }, "by object"]],
    ["map[1][0].id", 7],
    ["map[-2][1]", "by object"],
    ["map[:1]", { $type: "Map", value: [["k", { n: 1 }]] }],
    ["set[1].two", 2],
    ["set[:1]", { $type: "Set", value: ["one"] }],
    ["error.message", "far"],
    ["error.name", "RangeError"],
    ["error.cause.why", "moon"],
    ['typed["$type"]', "x"],
    ["typed.inner[0]", 5],
    ["typed[:1]", { $type: "Object", value: [["$type", "x"]] }],
    ["named[1]", 20],
    ["named[-1]", 20],
    ["named.index", 0],
    ["named[1:]", { $type: "Array", value: [20], length: 1, properties: [] }],
    ["sparse[4000]", "far"],
    ["sparse[-1]", "far"],
    ["sparse[5]", { $type: "Hole" }],
    ["sparse[3999:]", { $type: "Array", value: [], length: 2, properties: [["1", "far"]] }],
    ["again", { deep: [1, { x: "found" }] }],
    ["again.deep[1].x", "found"],
    ["nothing", { $type: "Undefined" }],
    ["date", { $type: "Date", value: "1970-01-01T00:00:00.000Z" }],
    ["none", null],
    ["holes[0]", { $type: "Hole" }],
    ["__proto__.own", true],
    ["__proto__[:]", { own: true }],
  ])("%s", (path, value) => {
    expect(at(path)).toEqual(value);
  });

  const nowhere = [
    'missing list[4] list[-5] list.length list.0 list["0"] list.map text.length text[0] none.x map.constructor map.size',
    'map.k.toString map[3] map.zz set.size set[2] error.toString date.value date["$type"] typed.value named.length',
    "sparse[4001] toString constructor.name __proto__.toString nothing.x text[0:1] date[:] [0] missing.x.y",
  ];
  test.each(nowhere.flatMap((paths) => paths.split(" ")))("finds nothing at %s", (path) => {
    expect(at(path)).toBe(undefined);
  });

  test("the whole value is at the empty path", () => {
    for (const value of [state, null, "x", [1]]) expect(valueAt(value, [])).toBe(value);
    const ref = { a: { $type: "Ref", value: "" } };
    expect(valueAt(ref, ["a", "a", "a"])).toBe(ref);
  });

  test("references that lead to each other, to themselves or to nothing have no value", () => {
    const ref = (value: unknown) => ({ $type: "Ref", value });
    const form = {
      a: ref("b"),
      b: ref("a"),
      c: ref("c"),
      d: ref("a.x"),
      e: ref("no"),
      f: ref("[0:1]"),
      g: ref(5),
      h: ref(".."),
      i: ref("j"),
      j: 1,
    };
    for (const key of "abcdefghi") {
      expect(valueAt(form, [key])).toBe(undefined);
      expect(valueAt(form, [key, "x"])).toBe(undefined);
    }
    expect(valueAt(ref(""), ["x"])).toBe(undefined);
  });

  test("malformed forms have nothing inside", () => {
    for (const value of [5, null, {}, "x", [[1]], undefined]) {
      for (const $type of ["Map", "Error", "Object", "Array", "Set"]) {
        if ($type === "Error" && value !== null && value?.constructor === Object) continue;
        if ($type === "Set" && Array.isArray(value)) continue;
        expect(valueAt({ $type, value }, ["a"])).toBe(undefined);
        expect(valueAt({ $type, value }, [0])).toBe(undefined);
        expect(valueAt({ $type, value }, [{ from: 0, to: 1 }])).toBe(undefined);
      }
    }
  });

  test("a path of 100,000 steps, and a Map of 100,000 keys", () => {
    let deep: unknown = "core";
    for (let i = 0; i < 100_000; i++) deep = i % 2 === 0 ? [deep] : { a: deep };
    const path = parsePath("a[0]".repeat(50_000).replaceAll("]a", "].a"));
    expect(path).toHaveLength(100_000);
    expect(valueAt(deep, path)).toBe("core");
    const map = new Map(Array.from({ length: 100_000 }, (_, i) => [`key ${i}`, i]));
    expect(valueAt(toJsonForm(map), ["key 99999"])).toBe(99_999);
  });
});
