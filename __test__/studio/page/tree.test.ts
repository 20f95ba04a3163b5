// Tests the rows of the tree of a state: what is open, what an answer has left out, and what a search has found.
import { describe, expect, test } from "vitest";
import { toJsonForm } from "forkpoint/inspect";
import { insideOf, sizeOf } from "../../../tools/studio/forms.js";
import { addSizes } from "../../../tools/studio/sizes.js";
import { type TreeView, firstOpen, foundRows, joined, rowsOf } from "../../../tools/studio/page/tree.js";
import { limitedJsonForm } from "../../../ts/inspect/limit.js";

const view = (open: string[] = [], loaded: TreeView["loaded"] = new Map()): TreeView => ({
  loaded,
  open: new Set(open),
});
const ids = (form: unknown, seen: TreeView) => rowsOf(form, seen).map(({ id }) => id);

describe("rows", () => {
  const form = { a: 1, list: [{ x: 1 }, "two"], "odd key": { deep: { er: null } }, none: {}, empty: [] };

  test("are the entries of the root, and of what is open", () => {
    expect(ids(form, view())).toEqual(["a", "list", '["odd key"]', "none", "empty"]);
    expect(ids(form, view(["list"]))).toEqual(["a", "list", "list[0]", "list[1]", '["odd key"]', "none", "empty"]);
    expect(ids(form, view(["list", "list[0]", '["odd key"].deep'])).slice(1, 4)).toEqual([
      "list",
      "list[0]",
      "list[0].x",
    ]);
  });

  test("know what ARIA asks for", () => {
    const rows = rowsOf(form, view(["list"]));
    expect(rows.map(({ depth, at, of, state }) => [depth, at, of, state])).toEqual([
      [1, 1, 5, "leaf"],
      [1, 2, 5, "open"],
      [2, 1, 2, "closed"],
      [2, 2, 2, "leaf"],
      [1, 3, 5, "closed"],
      [1, 4, 5, "leaf"],
      [1, 5, 5, "leaf"],
    ]);
  });

  test("of values that JSON lacks", () => {
    const value = {
      map: new Map<unknown, unknown>([
        ["key", { v: 1 }],
        [{ o: 1 }, ["x"]],
      ]),
      set: new Set([{ s: 1 }]),
      error: new RangeError("no"),
      typed: { $type: "x", y: 1 },
      when: new Date(0),
    };
    const form = toJsonForm(value);
    const all = view(["map", "map.key", "map[1][1]", "set", "set[0]", "error", "typed"]);
    expect(ids(form, all).filter((id) => !id.startsWith("error."))).toEqual(
      "map map.key map.key.v map[1][1] map[1][1][0] set set[0] set[0].s error typed typed.$type typed.y when".split(
        " ",
      ),
    );
    const pair = rowsOf(form, all).find(({ id }) => id === "map[1][1]")!;
    expect([pair.step, pair.key, pair.depth]).toEqual([1, { o: 1 }, 2]);
  });

  test("of hostile keys have paths of their own", () => {
    const odd = JSON.parse('{"__proto__":{"a":1},"constructor":1,"":2,"a.b":3,"<b>":4,"\\u202e":5}') as object;
    expect(ids(odd, view(["__proto__"]))).toEqual([
      "__proto__",
      "__proto__.a",
      "constructor",
      '[""]',
      '["a.b"]',
      '["<b>"]',
      '["\\u202e"]',
    ]);
  });

  test("of a root that is no container are none", () => {
    for (const root of [1, "text", null, { $type: "Date", value: null }]) expect(rowsOf(root, view())).toEqual([]);
  });
});

describe("what an answer leaves out", () => {
  const value = {
    list: Array.from({ length: 10 }, (_, n) => ({ n })),
    wide: Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`k${n}`, n])),
    map: { $type: "Map", value: Array.from({ length: 5 }, (_, n) => [`m${n}`, n]) },
    pairs: { $type: "Map", value: Array.from({ length: 5 }, (_, n) => [{ n }, n]) },
    set: { $type: "Set", value: [1, 2, 3, 4, 5] },
    lists: [[1], [2], [3], [4], [5]],
    text: "x".repeat(200_000),
    bytes: { $type: "Bytes", view: "Buffer", value: "A".repeat(100_000) },
  };
  const cut = limitedJsonForm(value, { depth: 2, items: 3 });
  addSizes(value, cut, 0);

  test("is a row that asks for more, and says how much", () => {
    const open = ["list", "wide", "map", "pairs", "set", "lists"];
    // The root has more than three entries itself.
    const parts = Object.fromEntries(
      Object.entries(value).map(([key, each]) => [key, limitedJsonForm({ [key]: each }, { depth: 2, items: 3 })]),
    );
    for (const [key, more] of [
      ["list", 7],
      ["wide", 6],
      ["map", 2],
      ["pairs", 2],
      ["set", 2],
      ["lists", 2],
    ] as const) {
      const rows = rowsOf(parts[key], view(open));
      expect(rows, key).toHaveLength(5);
      expect(rows.at(-1), key).toMatchObject({
        id: `${key}…`,
        more: { count: more, shown: 3 },
        depth: 2,
        state: "leaf",
      });
    }
    // Items that are left out are no end of a list.
    expect(
      rowsOf(parts["lists"], view(open))
        .slice(1, 4)
        .map(({ state }) => state),
    ).toEqual(["closed", "closed", "closed"]);
    expect(rowsOf(parts["text"], view()).map(({ state }) => state)).toEqual(["leaf"]);
    expect(rowsOf(parts["bytes"], view()).map(({ state }) => state)).toEqual(["leaf"]);
  });

  test("counts for the sizes", () => {
    const whole = sizeOf(toJsonForm(value));
    const rows = rowsOf(cut, view());
    const total = rows.reduce((sum, { size }) => sum + size, 0);
    expect(Math.abs(total - whole)).toBeLessThan(whole / 100);
    expect(rows.at(-1)!.more).toMatchObject({ count: 5 });
    for (const form of ["lists", "wide", "pairs"] as const) {
      const part = { [form]: value[form] };
      const short = limitedJsonForm(part, { depth: 1, items: 3 });
      addSizes(part, short, 0);
      expect(Math.abs(sizeOf(short) - sizeOf(part)), form).toBeLessThan(40);
    }
  });

  test("is appended in its order, with the numbers it has", () => {
    for (const [key, expected] of [
      ["list", Array.from({ length: 10 }, (_, n) => `list[${n}]`)],
      ["wide", Array.from({ length: 9 }, (_, n) => `wide.k${n}`)],
      ["pairs", Array.from({ length: 5 }, (_, n) => `pairs[${n}][1]`)],
      ["set", Array.from({ length: 5 }, (_, n) => `set[${n}]`)],
    ] as const) {
      const whole = { [key]: value[key] };
      const first = (limitedJsonForm(whole, { depth: 2, items: 3 }) as Record<string, unknown>)[key];
      const start = { form: first, inside: insideOf(first, 1)! };
      const second = joined(start, limitedJsonForm(whole, { depth: 2, items: 4, path: `${key}[3:7]` }));
      const third = joined(second, limitedJsonForm(whole, { depth: 2, items: 9, path: `${key}[7:16]` }));
      const last = second.inside.rest === null ? second : third;
      const rows = rowsOf(whole, view([key], new Map([[key, last]])));
      expect(
        rows.slice(1).map(({ id }) => id),
        key,
      ).toEqual(expected);
    }
  });

  test("is never asked for without end", () => {
    const start = {
      form: [],
      inside: { kind: "List" as const, entries: [], rest: insideOf(limitedJsonForm([1, 2], { items: 1 }), 0)!.rest },
    };
    // Meanwhile the list has become shorter.
    expect(joined(start, []).inside.rest).toBeNull();
  });
});

test("what is loaded later takes the place of what was left out", () => {
  const form = limitedJsonForm({ a: { b: { c: 1 } } }, { depth: 1 });
  expect(rowsOf(form, view(["a"])).map(({ id }) => id)).toEqual(["a"]);
  const loaded = { b: { c: 1 } };
  const seen = view(["a", "a.b"], new Map([["a", { form: loaded, inside: insideOf(loaded, 1)! }]]));
  expect(ids(form, seen)).toEqual(["a", "a.b", "a.b.c"]);
});

test("at first, as many levels are open as stay short", () => {
  const small = { a: { b: { c: 1 } }, d: [1, 2] };
  expect([...firstOpen(small, 30)].toSorted()).toEqual(["a", "a.b", "d"]);
  const large = { many: Array.from({ length: 100 }, (_, n) => n), few: { x: 1 } };
  expect([...firstOpen(large, 30)]).toEqual(["few"]);
  expect([...firstOpen("text", 30)]).toEqual([]);
});

test("what a search has found is a tree of its own, all open", () => {
  const rows = foundRows([
    { path: ["a", "list", 3, "name"], value: "x" },
    { path: ["a", "list", 7], value: 1 },
    { path: ["b"], value: null },
  ]);
  expect(rows.map(({ id, depth, state }) => [id, depth, state])).toEqual([
    ["a", 1, "open"],
    ["a.list", 2, "open"],
    ["a.list[3]", 3, "open"],
    ["a.list[3].name", 4, "leaf"],
    ["a.list[7]", 3, "leaf"],
    ["b", 1, "leaf"],
  ]);
  expect(foundRows([])).toEqual([]);
});

test("sizes are measured at any depth", () => {
  let deep: unknown = 1;
  for (let n = 0; n < 20_000; n++) deep = { inside: deep };
  const cut = limitedJsonForm({ deep }, { depth: 1 });
  addSizes({ deep }, cut, 0);
  expect((cut as { deep: { bytes: number } }).deep.bytes).toBeGreaterThan(200_000);
  const wide = { list: Array.from({ length: 50_000 }, (_, n) => [n]) };
  const short = limitedJsonForm(wide, { depth: 1 });
  addSizes(wide, short, 0);
  expect(sizeOf(short)).toBeGreaterThan(300_000);
});
