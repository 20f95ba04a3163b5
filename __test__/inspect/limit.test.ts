// Tests what an answer leaves out of a large value, and that no answer is larger than its limit.
import { describe, expect, test } from "vitest";
import { toJsonForm } from "../../ts/bridge/json-form/to-json-form.js";
import { safeJson } from "../../ts/bridge/json-form/json-text.js";
import { type Limits, limitedJsonForm } from "../../ts/inspect/limit.js";
import { formatPath, valueAt } from "../../ts/bridge/json-form/path.js";
import { pick, random, randomValue } from "./random.js";

const cut = (value: unknown, limits?: Limits) => limitedJsonForm(toJsonForm(value), limits);
const more = (path: Array<string | number>, count: number, of: string) => ({ $type: "More", path, count, of });
const sizeOf = (form: unknown) => Buffer.byteLength(safeJson(form));
const numbers = (count: number) => Array.from({ length: count }, (_, i) => i);

describe("a value that is small", () => {
  const value = {
    a: { b: { c: 1 } },
    list: [1, [], {}],
    map: new Map<unknown, unknown>([
      ["k", 1],
      [{ k: 1 }, new Set([1])],
    ]),
    error: Object.assign(new Error("e"), { stack: "s" }),
    typed: { $type: 1 },
    named: Object.assign([1], { x: 1 }),
    date: new Date(0),
    bytes: Buffer.from("abc"),
    proto: JSON.parse('{"__proto__":{"x":1}}') as object,
    none: undefined,
    text: "\u001b",
  };

  test("is shown whole", () => {
    expect(cut(value, { depth: 4 })).toStrictEqual(toJsonForm(value));
    for (const leaf of [null, 1, "text", true, [], {}, new Map(), new Date(Number.NaN), 1n, undefined]) {
      expect(cut(leaf, { depth: 0 })).toStrictEqual(toJsonForm(leaf));
    }
  });
});

describe("depth", () => {
  const value = {
    a: { b: { c: { d: 1 } } },
    list: [[[[1, 2]]]],
    map: new Map<unknown, unknown>([
      ["k", { n: { m: 1 } }],
      [{ k: 1 }, {}],
    ]),
  };

  test.each<[number, unknown]>([
    [0, more([], 3, "Object")],
    [1, { a: more(["a"], 1, "Object"), list: more(["list"], 1, "List"), map: more(["map"], 2, "Map") }],
    [
      2,
      {
        a: { b: more(["a", "b"], 1, "Object") },
        list: [more(["list", 0], 1, "List")],
        map: {
          $type: "Map",
          value: [
            ["k", more(["map", "k"], 1, "Object")],
            [more(["map", 1, 0], 1, "Object"), {}],
          ],
        },
      },
    ],
    [
      3,
      {
        a: { b: { c: more(["a", "b", "c"], 1, "Object") } },
        list: [[more(["list", 0, 0], 1, "List")]],
        map: {
          $type: "Map",
          value: [
            ["k", { n: more(["map", "k", "n"], 1, "Object") }],
            [{ k: 1 }, {}],
          ],
        },
      },
    ],
    [9, toJsonForm(value)],
  ])("%i", (depth, form) => {
    expect(cut(value, { depth })).toStrictEqual(form);
  });

  test("is 3 unless said", () => {
    expect(cut(value)).toStrictEqual(cut(value, { depth: 3 }));
  });

  test("what was left out can be asked for by its path", () => {
    const form = toJsonForm(value);
    expect(limitedJsonForm(form, { path: ["map", 1, 0] })).toEqual({ k: 1 });
    expect(limitedJsonForm(form, { depth: 1, path: "a.b" })).toEqual({ c: more(["a", "b", "c"], 1, "Object") });
    expect(limitedJsonForm(form, { depth: 1, path: "list[-1]" })).toEqual([more(["list", 0, 0], 1, "List")]);
    expect(limitedJsonForm(form, { path: "a.x" })).toBe(undefined);
    expect(() => limitedJsonForm(form, { path: "a[" })).toThrow("the path");
  });
});

describe("items", () => {
  test("of each kind of container", () => {
    const entries = Object.fromEntries(numbers(5).map((n) => [`k${n}`, n]));
    const error = Object.assign(new Error("e"), { stack: "s", a: 1, b: 2 });
    expect(cut(numbers(5), { items: 2 })).toEqual([0, 1, more([], 3, "List")]);
    expect(cut({ x: entries }, { items: 2 })).toEqual({
      x: { $type: "Object", value: [["k0", 0], ["k1", 1], more(["x"], 3, "Object")] },
    });
    expect(cut({ ...entries, $type: "t" }, { items: 1 })).toEqual({
      $type: "Object",
      value: [["k0", 0], more([], 5, "Object")],
    });
    expect(cut(new Map(Object.entries(entries)), { items: 2 })).toEqual({
      $type: "Map",
      value: [["k0", 0], ["k1", 1], more([], 3, "Map")],
    });
    expect(cut(new Set(numbers(5)), { items: 4 })).toEqual({ $type: "Set", value: [0, 1, 2, 3, more([], 1, "Set")] });
    expect(cut(error, { items: 2 })).toEqual({
      $type: "Error",
      value: { name: "Error", message: "e" },
      more: more([], 3, "Error"),
    });
    expect(cut(Object.assign([1, 2, 3], { x: 1 }), { items: 2 })).toEqual({
      $type: "Array",
      value: [1, 2, more([], 2, "Array")],
      length: 3,
      properties: [],
    });
    expect(cut(numbers(2), { items: 2 })).toEqual([0, 1]);
    expect(cut(numbers(2), { items: 0 })).toEqual(more([], 2, "List"));
  });

  test("are 200 unless said, and a range has the next ones", () => {
    const form = toJsonForm({ list: numbers(450), map: new Map(numbers(450).map((n) => [n, { n: { n } }])) });
    const shown = limitedJsonForm(form) as { list: unknown[] };
    expect(shown.list).toEqual([...numbers(200), more(["list"], 250, "List")]);
    expect(limitedJsonForm(form, { path: "list[200:]" })).toEqual([
      ...numbers(400).slice(200),
      more(["list"], 50, "List"),
    ]);
    expect(limitedJsonForm(form, { path: "list[400:]" })).toEqual(numbers(450).slice(400));
    const range = { from: 300, to: 302 };
    expect(limitedJsonForm(form, { path: ["map", range], depth: 2 })).toEqual({
      $type: "Map",
      value: [
        [300, { n: more(["map", 300, 1, "n"], 1, "Object") }],
        [301, { n: more(["map", 301, 1, "n"], 1, "Object") }],
      ],
    });
    expect(limitedJsonForm(form, { path: ["map", range, 1, 1], depth: 1 })).toEqual({
      n: more(["map", 301, 1, "n"], 1, "Object"),
    });
    const objects = toJsonForm(Object.fromEntries(numbers(5).map((n) => [`k${n}`, { n }])));
    expect(limitedJsonForm(objects, { path: "[3:]", depth: 1 })).toEqual({
      k3: more(["k3"], 1, "Object"),
      k4: more(["k4"], 1, "Object"),
    });
  });
});

describe("large leaves", () => {
  test("a text above 64 KB is cut, and not within a character", () => {
    const text = `${"x".repeat(1_023)}\u{1f600}${"y".repeat(65_536)}`;
    expect(cut({ text })).toEqual({
      text: { ...more(["text"], text.length - 1_023, "Text"), text: "x".repeat(1_023) },
    });
    const fits = "x".repeat(65_534);
    expect(cut({ fits })).toEqual({ fits });
    expect(cut(`${fits}x`)).toEqual({ ...more([], 65_535 - 1_024, "Text"), text: "x".repeat(1_024) });
    expect(cut("\u0000".repeat(11_000))).toMatchObject({ $type: "More", of: "Text" });
    expect(cut("a longer text", { textBytes: 5 })).toEqual({ ...more([], 8, "Text"), text: "a lon" });
  });

  test("other large values are cut as well", () => {
    const bytes = cut([Buffer.alloc(100_000)]) as Array<{ count: number }>;
    expect(bytes).toEqual([more([0], bytes[0]!.count, "Bytes")]);
    expect(bytes[0]!.count).toBeGreaterThan(100_000);
    expect(cut({ n: 10n ** 70_000n })).toMatchObject({ n: { $type: "More", path: ["n"], of: "BigInt" } });
  });
});

describe("the whole answer", () => {
  test("is at most 512 KB, and outer levels come first", () => {
    const row = (n: number) => ({ id: n, text: "x".repeat(5_000), tags: numbers(20) });
    const value = { big: numbers(200).map(row), other: { a: { b: 1 } }, last: numbers(200).map(row) };
    const shown = cut(value, { depth: 9 }) as { big: unknown[]; other: unknown; last: unknown[] };
    expect(sizeOf(shown)).toBeLessThanOrEqual(524_288);
    expect(sizeOf(shown)).toBeGreaterThan(200_000);
    expect(shown.other).toEqual({ a: more(["other", "a"], 1, "Object") });
    expect([shown.big.length, shown.last.length]).toEqual([200, 200]);
    expect(shown.big[0]).toMatchObject({ id: 0 });
    expect(shown.last[199]).toEqual(more(["last", 199], 3, "Object"));
  });

  test("shows as many items as there is room for", () => {
    const texts = numbers(100).map((n) => `${n}`.padEnd(1_000));
    const shown = cut(texts, { bytes: 10_000 }) as unknown[];
    expect(sizeOf(shown)).toBeLessThanOrEqual(10_000);
    expect(shown.length).toBeGreaterThan(8);
    expect(shown.at(-1)).toEqual(more([], 101 - shown.length, "List"));
    const keys = Object.fromEntries(numbers(100).map((n) => [`${n} `.padEnd(1_000), n]));
    const object = cut(keys, { bytes: 10_000 }) as { $type: string; value: unknown[] };
    expect([object.$type, object.value.at(-1)]).toEqual(["Object", more([], 101 - object.value.length, "Object")]);
    expect(cut({ ["k".repeat(1e6)]: 1 })).toEqual(more([], 1, "Object"));
  });

  test("of a value of 100,000 levels or 1,000,000 items", () => {
    let deep: unknown = 1;
    for (let i = 0; i < 100_000; i++) deep = i % 2 === 0 ? [deep] : { a: deep };
    expect(sizeOf(limitedJsonForm(deep, { depth: 1_000 }))).toBeLessThanOrEqual(524_288);
    expect(limitedJsonForm(deep)).toEqual({ a: [{ a: more(["a", 0, "a"], 1, "List") }] });
    const wide = Array.from({ length: 1_000_000 }, () => [1]);
    const shown = limitedJsonForm(wide, { items: 1e6 });
    expect(sizeOf(shown)).toBeLessThanOrEqual(524_288);
  });
});

test("of 3,000 random values the size is kept, and what is shown and left out is what is there", () => {
  let [whole, partly] = [0, 0];
  for (let salt = 0; salt < 3_000; salt++) {
    const below = random(salt);
    const form = toJsonForm(randomValue(below, 60));
    const text = JSON.stringify(form);
    const limits = {
      depth: below(6),
      items: pick(below, [1, 2, 3, 200]),
      textBytes: pick(below, [20, 65_536]),
      bytes: pick(below, [300, 1_000, 2_000, 524_288]),
    };
    const shown = limitedJsonForm(form, limits);
    const name = `value ${salt} with ${JSON.stringify(limits)}`;
    // A single More may be longer than the least limit, because of the text that it begins with.
    expect(sizeOf(shown), name).toBeLessThanOrEqual(Math.max(limits.bytes, 2_000));
    expect(JSON.stringify(form), name).toBe(text);
    const left = mores(shown);
    if (left.length === 0) {
      whole += 1;
      expect(shown, name).toStrictEqual(form);
    } else partly += 1;
    for (const { path, count, of } of left) {
      const value = valueAt(form, path);
      expect(value, `${name}: ${formatPath(path)}`).not.toBe(undefined);
      expect(count, name).toBeGreaterThan(0);
      if (of === "List") expect(count, name).toBeLessThanOrEqual((value as unknown[]).length);
      if (of === "Text") expect(typeof value, name).toBe("string");
    }
  }
  expect(Math.min(whole, partly)).toBeGreaterThan(500);
});

interface More {
  path: Array<string | number>;
  count: number;
  of: string;
}

function mores(form: unknown): More[] {
  if (typeof form !== "object" || form === null) return [];
  if ((form as { $type?: unknown }).$type === "More") return [form as unknown as More];
  return Object.values(form).flatMap(mores);
}
