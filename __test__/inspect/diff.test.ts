// Tests the changes from one value to another: the rules, and that they lead from the value before to the one after.
import { describe, expect, test } from "vitest";
import type { Change } from "../../dist/types/inspect.js";
import { diffValues } from "../../ts/inspect/diff.js";
import { type Entry, type Pair, containerOf, entriesOf, objectForm } from "../../ts/bridge/json-form/form.js";
import { fromJsonForm, toJsonForm } from "../../ts/bridge/json-form/to-json-form.js";
import { parsePath, valueAt } from "../../ts/bridge/json-form/path.js";
import { changed, pick, random, randomValue } from "./random.js";

const signs = { add: "+", remove: "-", replace: "~" } as const;

/** A change in few words: its sign, its path, and the values. */
const said = (sign: string, path: string, ...values: unknown[]) =>
  `${sign} ${path}: ${values.map((value) => JSON.stringify(value)).join(" -> ")}`;

function diff(before: unknown, after: unknown): string[] {
  const { changes, truncated } = diffValues("state", toJsonForm(before), toJsonForm(after), 10_000);
  expect(truncated).toBe(false);
  return changes.map((change) => {
    const values = [change.before, change.after].filter((value) => value !== undefined);
    expect(change.part).toBe("state");
    expect(Object.hasOwn(change, "before")).toBe(change.op !== "add");
    expect(Object.hasOwn(change, "after")).toBe(change.op !== "remove");
    return said(signs[change.op], change.path.join("/"), ...values);
  });
}

const message = (n: number, content = `message ${n}`) => ({ id: n, role: "user", content });
const messages = (...numbers: number[]) => numbers.map((n) => message(n));

describe("the rule", () => {
  test.each<[string, unknown, unknown, string[]]>([
    ["equal values have no change", { a: [1, { b: null }] }, { a: [1, { b: null }] }, []],
    ["the order of keys is no change", { a: 1, b: 2 }, { b: 2, a: 1 }, []],
    ["a replaced leaf", { a: { b: 1 } }, { a: { b: 2 } }, ["~ a/b: 1 -> 2"]],
    [
      "keys in the order before, then added ones in theirs",
      { z: 1, m: 1, a: 1 },
      { q: 1, a: 2, b: 1, z: 2 },
      ["~ z: 1 -> 2", "- m: 1", "~ a: 1 -> 2", "+ q: 1", "+ b: 1"],
    ],
    ["-0 is not 0", { n: 0 }, { n: -0 }, ['~ n: 0 -> {"$type":"Number","value":"-0"}']],
    ["1 is no text", { n: 1 }, { n: "1" }, ['~ n: 1 -> "1"']],
    ["null is not undefined", { n: null }, { n: undefined }, ['~ n: null -> {"$type":"Undefined"}']],
    ["undefined is not missing", { n: undefined }, {}, ['- n: {"$type":"Undefined"}']],
    ["a BigInt is no number", [1n], [1], ['~ 0: {"$type":"BigInt","value":"1"} -> 1']],
    ["NaN is NaN", [Number.NaN], [Number.NaN], []],
    [
      "a Date is no text",
      { at: new Date(0) },
      { at: "1970-01-01T00:00:00.000Z" },
      ['~ at: {"$type":"Date","value":"1970-01-01T00:00:00.000Z"} -> "1970-01-01T00:00:00.000Z"'],
    ],
    [
      "bytes of another class differ",
      { b: Buffer.from("a") },
      { b: new Uint8Array(Buffer.from("a")) },
      ['~ b: {"$type":"Bytes","view":"Buffer","value":"YQ=="} -> {"$type":"Bytes","view":"Uint8Array","value":"YQ=="}'],
    ],
    ["an object is no list", { a: { 0: 1 } }, { a: [1] }, ['~ a: {"0":1} -> [1]']],
    ["an object is no Map", { a: {} }, { a: new Map() }, ['~ a: {} -> {"$type":"Map","value":[]}']],
    [
      "an appended message",
      { m: messages(1, 2) },
      { m: messages(1, 2, 3) },
      ['+ m/2: {"id":3,"role":"user","content":"message 3"}'],
    ],
    ["a message before all", messages(1, 2), messages(0, 1, 2), ['+ 0: {"id":0,"role":"user","content":"message 0"}']],
    [
      "a message in the middle",
      messages(1, 2, 4),
      messages(1, 2, 3, 4),
      ['+ 2: {"id":3,"role":"user","content":"message 3"}'],
    ],
    ["one less", messages(1, 2, 3), messages(1, 3), ['- 1: {"id":2,"role":"user","content":"message 2"}']],
    [
      "a list that drops its first and gains one",
      messages(1, 2, 3),
      messages(2, 3, 4),
      ['- 0: {"id":1,"role":"user","content":"message 1"}', '+ 2: {"id":4,"role":"user","content":"message 4"}'],
    ],
    ["the same of leaves", [1, 2, 3], [2, 3, 4], ["- 0: 1", "+ 2: 4"]],
    ["equal items, one more", [1, 1, 1], [1, 1, 1, 1], ["+ 3: 1"]],
    ["a replaced item", [1, 2, 3], [1, 9, 3], ["~ 1: 2 -> 9"]],
    ["a replaced item, and one more", [1, 2, 3], [1, 8, 9, 3], ["~ 1: 2 -> 8", "+ 2: 9"]],
    [
      "a changed message is compared inside",
      [...messages(1, 2), message(3, "old")],
      [...messages(1, 2), message(3, "new"), message(4)],
      ['~ 2/content: "old" -> "new"', '+ 3: {"id":4,"role":"user","content":"message 4"}'],
    ],
    [
      "items of one kind pair up, although others are between",
      [{ a: 1 }, "x", [1]],
      ["y", { a: 2 }, [2]],
      ['+ 0: "y"', "~ 1/a: 1 -> 2", '- 1: "x"', "~ 2/0: 1 -> 2"],
    ],
    ["another kind in the place", [{ a: 1 }], [[1]], ['~ 0: {"a":1} -> [1]']],
    ["a list within a list that moved", [0, [1, 2], 3], [3, [1, 2, 4]], ["- 0: 0", "- 1: [1,2]", "+ 1: [1,2,4]"]],
    ["a hole is not undefined", [, 1], [undefined, 1], ['~ 0: {"$type":"Hole"} -> {"$type":"Undefined"}']], // oxlint-disable-line no-sparse-arrays
    [
      "Maps by key, in any order",
      new Map<unknown, unknown>([
        ["a", { n: 1 }],
        ["b", 2],
        ["c", 3],
      ]),
      new Map<unknown, unknown>([
        ["c", 3],
        ["a", { n: 2 }],
        ["d", 4],
      ]),
      ["~ a/n: 1 -> 2", "- b: 2", "+ d: 4"],
    ],
    [
      "a key that is no text has the place of its entry",
      new Map<unknown, unknown>([
        ["a", 0],
        [1, { n: 1 }],
        [{ k: 1 }, 2],
      ]),
      new Map<unknown, unknown>([
        [2, "two"],
        [1, { n: 5 }],
      ]),
      ["- a: 0", "~ 1/1/n: 1 -> 5", '- 2: [{"k":1},2]', '+ 0: [2,"two"]'],
    ],
    [
      "the key 1 of a Map is not the key 1 of text",
      new Map<unknown, unknown>([[1, "a"]]),
      new Map<unknown, unknown>([["1", "a"]]),
      ['- 0: [1,"a"]', '+ 1: "a"'],
    ],
    [
      "Sets by item, in any order",
      { s: new Set<unknown>(["a", "b", { n: 1 }]) },
      { s: new Set<unknown>([{ n: 1 }, "a", "c"]) },
      ['- s/1: "b"', '+ s/2: "c"'],
    ],
    [
      "two equal objects are two items of a Set, and two keys of a Map",
      [
        new Set([{ n: 1 }, { n: 1 }]),
        new Map([
          [{ k: 1 }, 1],
          [{ k: 1 }, 2],
        ]),
      ],
      [
        new Set([{ n: 1 }]),
        new Map([
          [{ k: 1 }, 1],
          [{ k: 1 }, 3],
          [{ k: 1 }, 4],
        ]),
      ],
      ['- 0/1: {"n":1}', "~ 1/1/1: 2 -> 3", '+ 1/2: [{"k":1},4]'],
    ],
    [
      "Errors by what they have",
      Object.assign(new Error("a"), { stack: "s", code: 1 }),
      Object.assign(new Error("b"), { stack: "s", code: 2 }),
      ['~ message: "a" -> "b"', "~ code: 1 -> 2"],
    ],
    [
      "a list with properties as a whole",
      [Object.assign([1], { x: 1 })],
      [Object.assign([1], { x: 2 })],
      [
        '~ 0: {"$type":"Array","value":[1],"length":1,"properties":[["x",1]]} -> {"$type":"Array","value":[1],"length":1,"properties":[["x",2]]}',
      ],
    ],
    [
      "a long text is one replace",
      { t: "a".repeat(1e5) },
      { t: "a".repeat(99_999) },
      [said("~", "t", "a".repeat(1e5), "a".repeat(99_999))],
    ],
    ["a key $type", { $type: "x", n: 1 }, { $type: "x", n: 2 }, ["~ n: 1 -> 2"]],
    ["an object gains a key $type", { n: 1 }, { n: 1, $type: "Date" }, ['+ $type: "Date"']],
    [
      "a key __proto__",
      JSON.parse('{"__proto__":{"a":1}}'),
      JSON.parse('{"__proto__":{"a":2},"constructor":1}'),
      ["~ __proto__/a: 1 -> 2", "+ constructor: 1"],
    ],
    ["another kind of the whole", [1], { a: 1 }, ['~ : [1] -> {"a":1}']],
    ["a leaf", 1, 2, ["~ : 1 -> 2"]],
  ])("%s", (_, before, after, changes) => {
    expect(diff(before, after)).toEqual(changes);
    expect(diff(before, before)).toEqual([]);
    expect(diff(after, after)).toEqual([]);
  });

  test("a part that is not there", () => {
    const change = (before: unknown, after: unknown) => diffValues("writes", before, after, 10).changes;
    expect(change(undefined, undefined)).toEqual([]);
    expect(change(undefined, { a: 1 })).toEqual([{ part: "writes", op: "add", path: [], after: { a: 1 } }]);
    expect(change({ a: 1 }, undefined)).toEqual([{ part: "writes", op: "remove", path: [], before: { a: 1 } }]);
    expect(change(null, { a: 1 })).toEqual([
      { part: "writes", op: "replace", path: [], before: null, after: { a: 1 } },
    ]);
  });

  test("an object with its key $type written out equals one without the need to", () => {
    const written = { $type: "Object", value: [["a", 1]] };
    expect(diffValues("state", { a: 1 }, written, 10)).toEqual({ changes: [], truncated: false });
  });

  test("forms of one text differ from the text", () => {
    for (const [a, b] of [
      ["[1]", [1]],
      ['"1', 1],
      ["-0", -0],
      ["", null],
      ["{", {}],
      ["$", { $type: "Hole" }],
      ["null", null],
      ["true", true],
    ]) {
      expect(diffValues("state", [a], [b], 10).changes).toHaveLength(1);
    }
  });

  test("malformed forms are compared as they are", () => {
    const change = (before: unknown, after: unknown) => diffValues("state", { a: before }, { a: after }, 10).changes;
    expect(change({ $type: "Map", value: 5 }, { $type: "Map", value: 5 })).toEqual([]);
    expect(change({ $type: "Map", value: 5 }, { $type: "Map", value: 6 })).toHaveLength(1);
    expect(change({ $type: "More", path: [1] }, { $type: "More", path: [2] })).toHaveLength(1);
  });
});

describe("the limit", () => {
  const before = { a: 1, b: 1, c: 1 };
  const after = { a: 2, b: 2, c: 2 };
  test.each([
    [0, 0, true],
    [1, 1, true],
    [2, 2, true],
    [3, 3, false],
    [4, 3, false],
  ])("%i: %i changes", (limit, count, truncated) => {
    const found = diffValues("rest", before, after, limit);
    expect([found.changes.length, found.truncated]).toEqual([count, truncated]);
    expect(found.changes.map(({ path }) => path[0])).toEqual(["a", "b", "c"].slice(0, count));
  });

  test("is no truncation of what is equal", () => {
    expect(diffValues("rest", before, before, 0)).toEqual({ changes: [], truncated: false });
  });
});

describe("large and deep values", () => {
  const big = (n: number) => message(n, `${n} `.repeat(400));

  test("1,000 messages in 2 MB: the changes are few, whatever happened", () => {
    const list = Array.from({ length: 1_000 }, (_, n) => big(n));
    const before = toJsonForm({ messages: list });
    const after = (change: (copy: typeof list) => void) => {
      const copy = structuredClone(list);
      change(copy);
      return diffValues("state", before, toJsonForm({ messages: copy }), 100).changes.map(
        ({ op, path }) => `${signs[op]}${path.join("/")}`,
      );
    };
    expect(after(() => {})).toEqual([]);
    expect(after((copy) => copy.push(big(1_000)))).toEqual(["+messages/1000"]);
    expect(after((copy) => copy.shift())).toEqual(["-messages/0"]);
    expect(after((copy) => copy.splice(100, 0, big(-1)))).toEqual(["+messages/100"]);
    const three = after((copy) => {
      copy[900]!.content = "new";
      copy.splice(500, 2);
      copy.unshift(big(-1));
    });
    expect(three).toEqual(["+messages/0", "-messages/500", "-messages/501", "~messages/899/content"]);
  });

  test("up to 2,000 items by what they have in common, beyond by place", () => {
    const count = (length: number) => {
      const before = Array.from({ length }, (_, n) => n);
      const after = [-1, ...before.slice(1, length / 2), -2, ...before.slice(length / 2, -1), -3];
      return diffValues("state", before, after, 10_000).changes.length;
    };
    expect(count(1_998)).toBe(3);
    expect(count(2_100)).toBe(1_052);
    const random2000 = (salt: number) => {
      const below = random(salt);
      return Array.from({ length: 2_000 }, () => below(4));
    };
    const [before, after] = [random2000(1), random2000(2)];
    expect(apply(before, diffValues("state", before, after, 10_000).changes, after)).toEqual(after);
  });

  test("200,000 items that all differ, and a Map of as many", () => {
    const list = (add: number) => Array.from({ length: 200_000 }, (_, n) => n + add);
    expect(diffValues("state", list(0), list(0.5), 1_000).truncated).toBe(true);
    const map = (add: number) => ({ $type: "Map", value: list(0).map((n) => [`key ${n}`, n === 7 ? add : n]) });
    expect(diffValues("state", map(0), map(1), 1_000).changes.map(({ path }) => path)).toEqual([["key 7"]]);
  });

  test("100,000 levels", () => {
    const deep = (core: unknown, levels = 100_000) => {
      let value = core;
      for (let i = 0; i < levels; i++) value = i % 2 === 0 ? [value] : { a: value };
      return value;
    };
    const { changes } = diffValues("state", deep(1), deep(2), 10);
    expect(changes).toHaveLength(1);
    expect(changes[0]!.path).toHaveLength(100_000);
    expect(diffValues("state", deep(1), deep(1), 10).changes).toEqual([]);
    const map = (core: unknown) => {
      let value = core;
      for (let i = 0; i < 100_000; i++) value = { $type: "Map", value: [["k", { $type: "Set", value: [value] }]] };
      return value;
    };
    expect(diffValues("state", map(1), map(2), 10).changes.map(({ path }) => path)).toEqual([
      ["k", 0],
      ["k", 0],
    ]);
  });
});

/**
 * Applies changes to the form of a value. First what was removed is taken out, the last first: its paths are places in the
 * value before. Then, in order, what was added and replaced is put in: its paths are places in the value after. An entry of
 * a Map whose key is no text is found by the key that the value after has there.
 */
function apply(before: unknown, changes: readonly Change[], after: unknown): unknown {
  const holder: { root?: unknown } = { root: structuredClone(before) };
  const removed = changes.filter(({ op }) => op === "remove").toReversed();
  for (const { path } of removed) edit(holder, before, path, "remove", undefined);
  for (const { op, path, after: value } of changes) if (op !== "remove") edit(holder, after, path, op, value);
  return holder.root;
}

interface Slot {
  get(): unknown;
  set(value: unknown): void;
}

const text = JSON.stringify;

function edit(
  holder: { root?: unknown },
  named: unknown,
  path: Change["path"],
  op: Change["op"],
  value: unknown,
): void {
  let slot: Slot = { get: () => holder.root, set: (to) => void (holder.root = to) };
  let names = named;
  for (const [at, step] of path.entries()) {
    const last = at === path.length - 1;
    const form = slot.get();
    const parent = slot;
    switch (containerOf(form)) {
      case "List": {
        const list = form as unknown[];
        if (last && op === "remove") return void list.splice(step as number, 1);
        if (last && op === "add") return void list.splice(step as number, 0, value);
        slot = { get: () => list[step as number], set: (to) => void (list[step as number] = to) };
        break;
      }
      case "Set": {
        const list = (form as { value: unknown[] }).value;
        if (op === "remove") return void list.splice(step as number, 1);
        return void list.push(value);
      }
      case "Map": {
        const pairs = (form as { value: Pair[] }).value;
        const named = (names as { value: Pair[] }).value;
        const keys = named.map(([key]) => text(canonical(key)));
        const key = typeof step === "string" ? text(step) : keys[step]!;
        // Two keys may be equal, and yet be two objects.
        const nth = typeof step === "string" ? 0 : keys.slice(0, step).filter((each) => each === key).length;
        const index = pairs.flatMap((pair, i) => (text(canonical(pair[0])) === key ? [i] : []))[nth]!;
        if (last && op === "remove") return void pairs.splice(index, 1);
        if (last && op === "add") return void pairs.push(typeof step === "string" ? [step, value] : (value as Pair));
        const pair = pairs[index]!;
        if (typeof step === "string") slot = { get: () => pair[1], set: (to) => void (pair[1] = to) };
        else slot = { get: () => pair, set: () => expect.unreachable() };
        break;
      }
      case "Object":
      case "Error": {
        const entries = entriesOf(form as Record<string, unknown>);
        const isError = containerOf(form) === "Error";
        const put = (changed: readonly Entry[]) => {
          if (isError) (form as { value: unknown }).value = objectForm(changed);
          else parent.set(objectForm(changed));
        };
        if (last && op === "remove") return put(entries.filter(([key]) => key !== step));
        if (last && op === "add") return put([...entries, [step as string, value]]);
        slot = {
          get: () => entries.find(([key]) => key === step)![1],
          set: (to) => put(entries.map(([key, each]) => [key, key === step ? to : each])),
        };
        break;
      }
      default:
        expect.unreachable();
    }
    names = valueAt(names, [step]);
  }
  expect(op).toBe(path.length === 0 ? op : "replace");
  slot.set(value);
}

/** The form with its keys, entries and items in an order of their own, to compare what has none. */
function canonical(form: unknown): unknown {
  const sorted = (items: unknown[]) =>
    items.map((item) => canonical(item)).toSorted((a, b) => (text(a) < text(b) ? -1 : 1));
  switch (containerOf(form)) {
    case "List":
      return (form as unknown[]).map(canonical);
    case "Map":
      return ["Map", sorted((form as { value: Pair[] }).value)];
    case "Set":
      return ["Set", sorted((form as { value: unknown[] }).value)];
    case "Object":
    case "Error":
      return [containerOf(form), sorted(entriesOf(form as Record<string, unknown>))];
    default:
      return form;
  }
}

test("the changes lead from 3,000 random values to what became of them", () => {
  let count = 0;
  for (let salt = 0; salt < 3_000; salt++) {
    const below = random(salt);
    const value = randomValue(below, 40);
    const before = toJsonForm(value);
    const after = toJsonForm(
      pick(below, [changed(below, value), changed(below, changed(below, value)), randomValue(below, 20)]),
    );
    const { changes, truncated } = diffValues("state", before, after, 10_000);
    expect(truncated).toBe(false);
    count += changes.length;
    expect(canonical(apply(before, changes, after)), `value ${salt}`).toEqual(canonical(after));
    expect(changes.length === 0, `value ${salt}`).toBe(text(canonical(before)) === text(canonical(after)));
    for (const change of changes) {
      const [root, each] = change.op === "remove" ? [before, change.before] : [after, change.after];
      expect(at(root, change.path), `value ${salt}`).toBe(each);
      if (change.op === "replace") expect(text(change.before)).not.toBe(text(change.after));
    }
    expect(diffValues("state", before, fresh(before), 10).changes).toEqual([]);
  }
  expect(count).toBeGreaterThan(3_000);
});

/** Returns the form at a path, and a `Ref` as it is. */
function at(root: unknown, path: Change["path"]): unknown {
  const [last, parent] = [path.at(-1), valueAt(root, path.slice(0, -1))];
  if (last === undefined) return root;
  if (containerOf(parent) === "List") return (parent as unknown[])[last as number];
  const form = parent as { value: unknown[] };
  if (containerOf(parent) === "Set" || typeof last === "number") return form.value[last as number];
  if (containerOf(parent) === "Map") return (form.value as Pair[]).find(([key]) => key === last)![1];
  return entriesOf(parent as Record<string, unknown>).find(([key]) => key === last)![1];
}

const fresh = (form: unknown): unknown => JSON.parse(text(form)) as unknown;

test("what a diff names can be asked for by its path", () => {
  const before = toJsonForm({ list: [{ a: 1 }], map: new Map([["k y", 1]]) });
  const after = toJsonForm({ list: [0, { a: 2 }], map: new Map([["k y", 2]]) });
  const { changes } = diffValues("state", before, after, 10);
  expect(changes.map(({ path }) => valueAt(after, path))).toEqual([0, 2, 2]);
  expect(valueAt(after, parsePath('map["k y"]'))).toBe(2);
  expect(fromJsonForm(after)).toEqual({ list: [0, { a: 2 }], map: new Map([["k y", 2]]) });
});
