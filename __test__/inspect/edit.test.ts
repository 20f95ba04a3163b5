// Tests edits of values: what they change, what stays, and what they refuse.
import { describe, expect, test } from "vitest";
import type { PathStep } from "../../dist/types/inspect.js";
import { edited } from "../../ts/inspect/edit.js";
import { fromJsonForm, toJsonForm } from "../../ts/bridge/json-form/to-json-form.js";
import { formatPath, parsePath, valueAt } from "../../ts/bridge/json-form/path.js";
import { pick, random, randomValue, same } from "./random.js";

const key = { k: 1 };
const make = () => ({
  n: 1,
  list: ["a", "b", { c: 1 }],
  map: new Map<unknown, unknown>([
    ["k", { n: 1 }],
    [key, "by object"],
  ]),
  set: new Set<unknown>(["one", { two: 2 }]),
  error: Object.assign(new RangeError("far"), { stack: "s", code: { n: 1 } }),
  typed: { $type: "x", inner: [5] },
  named: Object.assign([10, 20], { index: 0 }),
  date: new Date(0),
});
type State = ReturnType<typeof make>;

const setAt = (form: unknown, path: string | readonly PathStep[], value: unknown) =>
  edited(form, { set: [[path, value]] });
const mergePatch = (form: unknown, patch: unknown) => edited(form, { patch });

/** Sets the value at a path, as a program does with a value, and returns the value. */
const set = (path: string, value: unknown, state: unknown = make()) =>
  fromJsonForm(setAt(toJsonForm(state), path, value));

describe("set", () => {
  test.each<[path: string, value: unknown, change: (state: State) => void]>([
    ["n", 2, (state) => (state.n = 2)],
    [".n", null, (state) => (state.n = null as never)],
    ["new", { a: [1] }, (state) => Object.assign(state, { new: { a: [1] } })],
    ['["a b"]', "x", (state) => Object.assign(state, { "a b": "x" })],
    ["list[0]", "z", (state) => (state.list[0] = "z")],
    ["list[-1].c", 9, (state) => ((state.list[2] as { c: number }).c = 9)],
    ["list[3]", "more", (state) => state.list.push("more")],
    ["map.k.n", 2, (state) => ((state.map.get("k") as { n: number }).n = 2)],
    ["map.k", 5, (state) => state.map.set("k", 5)],
    ["map.new", 5, (state) => state.map.set("new", 5)],
    ["map[1][1]", "other", (state) => state.map.set([...state.map.keys()][1], "other")],
    ["map[-2][1].n", 7, (state) => ((state.map.get("k") as { n: number }).n = 7)],
    ["map[2]", ["third", 3], (state) => state.map.set("third", 3)],
    ["set[1].two", 3, (state) => (([...state.set][1] as { two: number }).two = 3)],
    ["set[2]", "three", (state) => state.set.add("three")],
    ["error.message", "near", (state) => (state.error.message = "near")],
    ["error.code.n", 2, (state) => (state.error.code.n = 2)],
    ['typed["$type"]', 5, (state) => (state.typed.$type = 5 as never)],
    ["typed.inner[1]", 6, (state) => state.typed.inner.push(6)],
    ["typed.added", true, (state) => Object.assign(state.typed, { added: true })],
    ["named[1]", 21, (state) => (state.named[1] = 21)],
    ["named[2]", 30, (state) => state.named.push(30)],
    ["named.index", 1, (state) => (state.named.index = 1)],
    ["date", { $type: "Date", value: "2026-01-01T00:00:00.000Z" }, (state) => (state.date = new Date("2026-01-01"))],
    ["n", { $type: "Undefined" }, (state) => (state.n = undefined as never)],
    ["n", -0, (state) => (state.n = -0)],
  ])("%s = %j", (path, value, change) => {
    const expected = make();
    change(expected);
    const form = toJsonForm(make());
    const before = JSON.stringify(form);
    const given = JSON.stringify(value);
    expect(same(fromJsonForm(setAt(form, path, value)), expected)).toBe(true);
    expect(same(fromJsonForm(setAt(form, parsePath(path), value)), expected)).toBe(true);
    expect([JSON.stringify(form), JSON.stringify(value)]).toEqual([before, given]);
  });

  test("the empty path is the whole value", () => {
    expect(setAt({ a: 1 }, "", [2])).toEqual([2]);
    expect(setAt(1, [], null)).toBe(null);
  });

  test.each<[path: string, message: string]>([
    ["missing.x", "the value has no missing"],
    ["list[3].x", "list has no [3]"],
    ["list[4]", "list has no [4]"],
    ["list[-4]", "list has no [-4]"],
    ["list.length", "list has no length"],
    ["list.x", "list has no x"],
    ["[0]", "the value has no [0]"],
    ["n.x", "n has no x, because it contains no other values"],
    ["n.x.y", "n has no x, because it contains no other values"],
    ["date.value", "date has no value, because it contains no other values"],
    ["list[0][0]", "list[0] has no [0], because it contains no other values"],
    ["list[2].d.e", "list[2] has no d"],
    ["map.none.x", "map has no none"],
    ["map[3]", "map has no [3]"],
    ["set.x", "set has no x"],
    ["set[3]", "set has no [3]"],
    ["error[0]", "error has no [0]"],
    ["named[3]", "named has no [3]"],
    ["toString.x", "the value has no toString"],
    ["__proto__.polluted", "the value has no __proto__"],
    ["constructor.prototype.x", "the value has no constructor"],
    ['["a \\u001b"].x', 'the value has no ["a \\u001b"]'],
  ])("%s: there is no such place", (path, message) => {
    expect(() => set(path, 1)).toThrow(expect.objectContaining({ code: "NOT_FOUND" }) as Error);
    expect(() => set(path, 1)).toThrow(`cannot be set: ${message}. `);
  });

  test("a range, and a wrong path, are refused", () => {
    for (const path of ["list[0:1]", "list[:].x", "a..b", "a["]) {
      expect(() => set(path, 1)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }) as Error);
    }
  });

  test("a key __proto__ and a key $type are keys as any other", () => {
    const value = set('["__proto__"]', { polluted: true }, { a: 1 }) as object;
    expect(Object.keys(value)).toEqual(["a", "__proto__"]);
    expect((value as { polluted?: unknown }).polluted).toBe(undefined);
    expect(set('["$type"]', "Date", { value: null })).toEqual({ value: null, $type: "Date" });
  });

  test("what is no form is refused when the value is made", () => {
    expect(() => set("n", { $type: "Secret" })).toThrow(expect.objectContaining({ code: "UNSUPPORTED" }) as Error);
    expect(() => set("map[0]", 5)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }) as Error);
    expect(() => set("set[0]", { $type: "Ref", value: "no" })).toThrow("leads to nothing");
  });

  test("an opaque value beside stays as it is", () => {
    const form = { a: { $type: "Opaque", tag: "t", bytes: 1, base64: "AA==" }, b: 1 };
    expect(setAt(form, "b", 2)).toEqual({ ...form, b: 2 });
  });
});

describe("shared objects", () => {
  const shared = () => {
    const object = { x: 1, in: { y: 1 } };
    return { a: object, b: object, c: [object.in] };
  };
  type Shared = ReturnType<typeof shared>;
  const check = (path: string, value: unknown, change: (state: Shared) => void) => {
    const expected = shared();
    change(expected);
    expect(same(set(path, value, shared()), expected)).toBe(true);
  };

  test("a change within one is seen at all of its places, by whatever path", () => {
    check("a.x", 2, (state) => (state.a.x = 2));
    check("b.x", 2, (state) => (state.b.x = 2));
    check("c[0].y", 2, (state) => (state.c[0]!.y = 2));
    check("b.in.y", 2, (state) => (state.a.in.y = 2));
  });

  test("one that is replaced at one place stays at the others", () => {
    check("a", 5, (state) => (state.a = 5 as never));
    check("b", 5, (state) => (state.b = 5 as never));
    check("a.in", 5, (state) => (state.a.in = 5 as never));
    check("c[0]", 5, (state) => (state.c[0] = 5 as never));
    const form = setAt(toJsonForm(shared()), "a", 5);
    expect(form).toEqual({ a: 5, b: { x: 1, in: { y: 1 } }, c: [{ $type: "Ref", value: "b.in" }] });
  });

  test("edits follow each other", () => {
    const edit = edited(toJsonForm(shared()), {
      set: [
        ["a", { x: 9 }],
        ["b.x", 2],
        ["c[0].y", 3],
        ["a.x", 10],
        ["d", { $type: "Ref", value: "a" }],
        ["d.z", 1],
      ],
      patch: { b: { in: { w: 4 } } },
    });
    const state = fromJsonForm(edit) as { a: object; b: { in: object }; c: object[]; d: object };
    expect(state).toEqual({
      a: { x: 10, z: 1 },
      b: { x: 2, in: { y: 3, w: 4 } },
      c: [{ y: 3, w: 4 }],
      d: { x: 10, z: 1 },
    });
    expect(state.d).toBe(state.a);
    expect(state.c[0]).toBe(state.b.in);
  });

  test("a reference within what is set leads through the new value", () => {
    const ref = (value: string) => ({ $type: "Ref", value });
    const value = set("a", { p: { q: 1 }, r: ref("a.p"), s: ref("b") }, shared()) as {
      a: { p: object; r: object; s: object };
      b: object;
    };
    expect(value.a.r).toBe(value.a.p);
    expect(value.a.s).toBe(value.b);
    expect(value.a.p).toEqual({ q: 1 });
  });

  test("cycles", () => {
    const state: Record<string, unknown> = { n: { m: 1 } };
    state["self"] = state;
    (state["n"] as Record<string, unknown>)["up"] = state;
    const value = set("self.self.n.m", 2, state) as { n: { m: number; up: unknown }; self: unknown };
    expect([value.n.m, value.self === value, value.n.up === value]).toEqual([2, true, true]);
    const cut = set("self", null, state) as { n: { up: unknown }; self: unknown };
    expect([cut.self, cut.n.up === cut]).toEqual([null, true]);
  });
});

describe("patch", () => {
  // The examples of RFC 7396, appendix A, but for those whose patch is no object.
  test.each([
    [{ a: "b" }, { a: "c" }, { a: "c" }],
    [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
    [{ a: "b" }, { a: null }, {}],
    [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
    [{ a: ["b"] }, { a: "c" }, { a: "c" }],
    [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
    [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
    [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: "b", c: null }, { a: "b" }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
    [{ a: "foo" }, {}, { a: "foo" }],
    [null, { a: [null] }, { a: [null] }],
    [{ a: 1 }, { a: { b: { c: 1, d: null } } }, { a: { b: { c: 1 } } }],
  ])("%j with %j is %j", (form, patch, merged) => {
    const texts = JSON.stringify([form, patch]);
    expect(mergePatch(form, patch)).toStrictEqual(merged);
    expect(JSON.stringify([form, patch])).toBe(texts);
  });

  test.each([[null], ["text"], [1], [true], [[]], [{ $type: "Date", value: null }], [{ $type: "Map", value: [] }]])(
    "refuses the patch %j",
    (patch) => {
      expect(() => mergePatch({}, patch)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }) as Error);
      expect(() => mergePatch({}, patch)).toThrow("a merge patch must be an object");
    },
  );

  test("values of other types replace, and are not merged", () => {
    const state = { at: new Date(0), bytes: Buffer.from("a"), set: new Set([1]), o: { $type: "x", n: 1, gone: 1 } };
    const patch = toJsonForm({ at: new Date(5), bytes: new Map([["a", 1]]), set: { a: 1 } });
    const typed = {
      o: {
        $type: "Object",
        value: [
          ["$type", "y"],
          ["gone", null],
          ["new", { z: 1 }],
        ],
      },
    };
    const merged = mergePatch(mergePatch(toJsonForm(state), patch), typed);
    const expected = {
      at: new Date(5),
      bytes: new Map([["a", 1]]),
      set: { a: 1 },
      o: { $type: "y", n: 1, new: { z: 1 } },
    };
    expect(same(fromJsonForm(merged), expected)).toBe(true);
  });

  test("an object for a Map or an Error is refused, because the rest of it would be lost", () => {
    const form = toJsonForm({ a: { map: new Map([["k", 1]]), error: new Error("e") } });
    expect(() => mergePatch(form, { a: { map: { k: 2 } } })).toThrow(
      "the patch has an object at a.map, but the state has a Map there",
    );
    expect(() => mergePatch(form, { a: { error: {} } })).toThrow("at a.error, but the state has an Error there");
    expect(() => mergePatch(toJsonForm(new Map()), {})).toThrow("at the value, but the state has a Map there");
    expect(mergePatch(form, { a: { map: null, error: 5 } })).toEqual({ a: { error: 5 } });
  });

  test("a shared object is merged once, and is still shared", () => {
    const object: Record<string, unknown> = { x: 1 };
    const merged = mergePatch(toJsonForm({ a: object, b: object }), { a: { y: 2 }, b: { z: 3 } });
    expect(merged).toEqual({ a: { x: 1, y: 2, z: 3 }, b: { $type: "Ref", value: "a" } });
    expect(mergePatch(toJsonForm({ a: object, b: object }), { a: null })).toEqual({ b: { x: 1 } });
  });

  test("a key __proto__ sets no prototype", () => {
    const merged = mergePatch(
      {},
      JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"x":1}}}'),
    ) as object;
    expect(Object.keys(merged)).toEqual(["__proto__", "constructor"]);
    expect(Object.getPrototypeOf(merged)).toBe(Object.prototype);
    expect(({} as { polluted?: unknown }).polluted).toBe(undefined);
  });

  test("100,000 levels, and 100,000 keys", () => {
    const deep = (core: unknown) => {
      let value = core;
      for (let i = 0; i < 100_000; i++) value = { a: value };
      return value;
    };
    const path = Array.from({ length: 100_000 }, () => "a");
    expect(valueAt(mergePatch(deep({ x: 1 }), deep({ y: 2 })), path)).toEqual({ x: 1, y: 2 });
    expect(valueAt(setAt(deep({ x: 1 }), [...path, "x"], 2), path)).toEqual({ x: 2 });
    const wide = (add: number) => Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`key ${i}`, i + add]));
    expect(mergePatch(wide(0), wide(1))).toEqual(wide(1));
  });
});

/** Returns the paths of all containers and values in a form, but for what is within references. */
function paths(form: unknown, path: PathStep[] = []): PathStep[][] {
  const value = fromJsonForm(form);
  const seen = new Set<unknown>();
  const found: PathStep[][] = [];
  const walk = (each: unknown, path: PathStep[]) => {
    found.push(path);
    if (typeof each !== "object" || each === null || seen.has(each)) return;
    seen.add(each);
    if (Array.isArray(each)) {
      if (each.length < 100 && Object.keys(each).length === each.length)
        each.forEach((item, i) => walk(item, [...path, i]));
    } else if (each instanceof Map) {
      let i = 0;
      for (const [key, item] of each) {
        walk(item, typeof key === "string" ? [...path, key] : [...path, i, 1]);
        i += 1;
      }
    } else if (each instanceof Set) [...each].forEach((item, i) => walk(item, [...path, i]));
    else if (Object.getPrototypeOf(each) === Object.prototype) {
      for (const [key, item] of Object.entries(each)) walk(item, [...path, key]);
    }
  };
  walk(value, path);
  return found;
}

/** Sets a value in a value, as a program does. Returns the root. */
function setIn(root: unknown, path: readonly PathStep[], value: unknown): unknown {
  if (path.length === 0) return value;
  let at: unknown = root;
  for (const [i, step] of path.entries()) {
    const last = i === path.length - 1;
    if (at instanceof Map) {
      const key: unknown = typeof step === "string" ? step : [...at.keys()][step as number];
      if (last || (typeof step === "number" && i === path.length - 2)) return (at.set(key, value), root);
      at = typeof step === "number" ? { 1: at.get(key) } : at.get(key);
    } else if (at instanceof Set) {
      const items = [...at];
      if (last) {
        items[step as number] = value;
        at.clear();
        for (const item of items) at.add(item);
        return root;
      }
      at = items[step as number];
    } else {
      const object = at as Record<PropertyKey, unknown>;
      if (last) {
        Object.defineProperty(object, step as string, { value, enumerable: true, writable: true, configurable: true });
        return root;
      }
      at = Object.getOwnPropertyDescriptor(object, step as string)!.value;
    }
  }
  return root;
}

test("3,000 edits of random values do what a program does that sets the same", () => {
  for (let salt = 0; salt < 3_000; salt++) {
    const form = toJsonForm(randomValue(random(salt), 40));
    const below = random(salt + 1_000_000);
    const path = pick(below, paths(form));
    const value = { set: below(1e6) };
    const after = setAt(form, path, value);
    const expected = setIn(fromJsonForm(form), path, { ...value });
    expect(JSON.stringify(after), `value ${salt} at ${formatPath(path as string[])}`).toBe(
      JSON.stringify(toJsonForm(expected)),
    );
    expect(valueAt(after, path)).toEqual(value);
  }
});
