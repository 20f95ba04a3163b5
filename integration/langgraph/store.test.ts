// Tests the rules of `BaseStore` against LangGraph's own store and against this package. The places where ours differs are tested
// below, and listed in docs/langgraph-store.md.
import { type BaseStore, InMemoryStore, InvalidNamespaceError } from "@langchain/langgraph-checkpoint";
import { copyStore, openStore } from "forkpoint";
import { openInspector } from "forkpoint/inspect";
import { ForkpointCache, ForkpointSaver, ForkpointStore, type ForkpointStoreOptions } from "forkpoint/langgraph";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Kind, everyKind, kinds, place, rejection, sharedKinds, until } from "./helpers.js";

type Side = "InMemoryStore" | Kind;

/** On a server, only ours is tested. */
const sides: Side[] = [...(kinds.includes("postgres") ? [] : ["InMemoryStore" as const]), ...kinds];

/** True for the later of the two versions. It refuses more labels. */
const refusesColons = "validateNamespace" in (await import("@langchain/langgraph-checkpoint"));

function storeAt(target: string, options?: ForkpointStoreOptions): ForkpointStore {
  const store = new ForkpointStore(target, options);
  onTestFinished(() => store.close());
  return store;
}

const make = (side: Side): BaseStore => (side === "InMemoryStore" ? new InMemoryStore() : storeAt(place(side)));

const keysOf = (items: Array<{ key: string }>) => items.map(({ key }) => key);

/** Puts items one after the other. */
async function filled(store: BaseStore, items: Array<[namespace: string[], key: string, value: object]>) {
  for (const [namespace, key, value] of items) await store.put(namespace, key, value);
  return store;
}

describe.each(sides)("the rules of BaseStore: %s", (side) => {
  it("puts, gets, replaces and deletes", async () => {
    const store = make(side);
    expect(await store.get(["u", "1"], "k")).toBeNull();
    await store.put(["u", "1"], "k", { n: 1 });
    const before = (await store.get(["u", "1"], "k"))!;
    const { createdAt } = before;
    expect(before).toEqual({ value: { n: 1 }, key: "k", namespace: ["u", "1"], createdAt, updatedAt: createdAt });
    expect(createdAt).toBeInstanceOf(Date);
    while (Date.now() <= createdAt.getTime()) await new Promise((resolve) => setTimeout(resolve, 1));
    await store.put(["u", "1"], "k", { n: 2 });
    const after = (await store.get(["u", "1"], "k"))!;
    expect(after).toMatchObject({ value: { n: 2 }, createdAt });
    expect(after.updatedAt.getTime()).toBeGreaterThan(createdAt.getTime());
    await store.delete(["u", "1"], "k");
    await store.delete(["u", "1"], "k");
    expect(await store.get(["u", "1"], "k")).toBeNull();
    await store.put(["u", "1"], "k", { n: 3 });
    expect((await store.get(["u", "1"], "k"))!.createdAt.getTime()).toBeGreaterThan(createdAt.getTime());
  });

  it("keeps keys and namespaces apart", async () => {
    const store = make(side);
    const keys = ["", "a", "a.b", "..", "%", "_", "*", "\0", "ä😀", "$gt", "__proto__", "a/b", "'; --", "\\"];
    await filled(
      store,
      keys.map((key, n) => [["ns"], key, { n }]),
    );
    for (const [n, key] of keys.entries()) expect((await store.get(["ns"], key))!.value).toEqual({ n });
    expect(keysOf(await store.search(["ns"], { limit: 100 }))).toEqual(keys);
    const labels = ["a", "ab", "a b", "%", "_", "*", "ä😀", "a/b", "a\\", "\\", "__proto__"];
    await filled(
      store,
      labels.map((label, n) => [["l", label], "k", { n }]),
    );
    for (const [n, label] of labels.entries()) expect((await store.get(["l", label], "k"))!.value).toEqual({ n });
  });

  it("finds items by a prefix, in the order of their first save", async () => {
    const store = make(side);
    await filled(store, [
      [["u", "1"], "a", {}],
      [["u", "1"], "b", {}],
      [["u", "1", "notes"], "c", {}],
      [["other"], "d", {}],
    ]);
    await store.put(["u", "1"], "a", { again: true });
    expect(keysOf(await store.search(["u"]))).toEqual(["a", "b", "c"]);
    expect(keysOf(await store.search(["u", "1"]))).toEqual(["a", "b", "c"]);
    expect(keysOf(await store.search(["u", "1", "notes"]))).toEqual(["c"]);
    expect(keysOf(await store.search(["none"]))).toEqual([]);
    expect(keysOf((await store.batch([{ namespacePrefix: [] }]))[0]!)).toEqual(["a", "b", "c", "d"]);
    const [item] = await store.search(["other"]);
    expect(item).toMatchObject({ namespace: ["other"], key: "d", value: {} });
    expect(item!.score).toBeUndefined();
  });

  it("finds a page of items", async () => {
    const store = make(side);
    await filled(
      store,
      Array.from({ length: 25 }, (_, n) => [["n"], `k${n}`, { n, odd: n % 2 === 1 }]),
    );
    const page = async (options?: object) => (await store.search(["n"], options)).map(({ value }) => value["n"]);
    const range = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n);
    expect(await page()).toEqual(range(0, 10));
    expect(await page({ limit: 3, offset: 20 })).toEqual([20, 21, 22]);
    expect(await page({ limit: 10, offset: 20 })).toEqual(range(20, 25));
    expect(await page({ limit: 10, offset: 25 })).toEqual([]);
    expect(await page({ limit: 0 })).toEqual([]);
    expect(await page({ filter: { odd: true }, limit: 3, offset: 2 })).toEqual([5, 7, 9]);
    expect(await page({ filter: { n: { $gte: 20 } }, offset: 3 })).toEqual([23, 24]);
    expect(await page({ filter: { n: 7 }, query: "ignored without an index" })).toEqual([7]);
  });

  it.each([
    ["a text", { a: "x" }, ["text"]],
    ["a number", { a: 1 }, ["one"]],
    ["true", { a: true }, ["true"]],
    ["null", { a: null }, ["null"]],
    ["several keys", { a: 1, b: 2 }, ["one"]],
    ["several keys that don't match together", { a: 1, b: 3 }, []],
    ["no key", {}, ["text", "one", "ten", "true", "null", "missing", "literal"]],
    ["a key with a dot", { "a.b": 1 }, ["literal"]],
    ["$eq", { a: { $eq: 10 } }, ["ten"]],
    ["$ne", { a: { $ne: 1 } }, ["text", "ten", "true", "null", "missing", "literal"]],
    ["$gt", { a: { $gt: 1 } }, ["ten"]],
    ["$gte and $lt", { b: { $gte: 2, $lt: 3 } }, ["one"]],
    ["$lte", { b: { $lte: 2 } }, ["one"]],
    ["$in", { a: { $in: [1, "x", 99] } }, ["text", "one"]],
    ["$in of nothing", { a: { $in: [] } }, []],
    ["$nin", { a: { $nin: [1, 10, "x"] } }, ["true", "null", "missing", "literal"]],
    ["a key that is inherited", { toString: "x" }, []],
  ])("filters by %s", async (_, filter, wanted) => {
    const store = await filled(make(side), [
      [["f"], "text", { a: "x" }],
      [["f"], "one", { a: 1, b: 2 }],
      [["f"], "ten", { a: 10 }],
      [["f"], "true", { a: true }],
      [["f"], "null", { a: null }],
      [["f"], "missing", { c: 1 }],
      [["f"], "literal", { "a.b": 1 }],
    ]);
    expect(keysOf(await store.search(["f"], { filter }))).toEqual(wanted);
  });

  it("lists namespaces", async () => {
    const store = await filled(make(side), [
      [["b", "x"], "k", {}],
      [["a", "x"], "k", {}],
      [["a", "y", "z"], "k", {}],
      [["a", "x"], "k2", {}],
      [["a"], "k", {}],
      [["c", "x", "z"], "k", {}],
    ]);
    const all = [["a"], ["a", "x"], ["a", "y", "z"], ["b", "x"], ["c", "x", "z"]];
    expect(await store.listNamespaces()).toEqual(all);
    expect(await store.listNamespaces({ prefix: ["a"] })).toEqual(all.slice(0, 3));
    expect(await store.listNamespaces({ suffix: ["z"] })).toEqual([all[2], all[4]]);
    expect(await store.listNamespaces({ prefix: ["*", "x"] })).toEqual([all[1], all[3], all[4]]);
    expect(await store.listNamespaces({ prefix: ["a"], suffix: ["*", "z"] })).toEqual([all[2]]);
    expect(await store.listNamespaces({ prefix: ["a", "y", "z", "more"] })).toEqual([]);
    expect(await store.listNamespaces({ maxDepth: 1 })).toEqual([["a"], ["b"], ["c"]]);
    expect(await store.listNamespaces({ maxDepth: 2, prefix: ["a"] })).toEqual([["a"], ["a", "x"], ["a", "y"]]);
    expect(await store.listNamespaces({ limit: 2, offset: 1 })).toEqual(all.slice(1, 3));
    expect(await store.listNamespaces({ limit: 0 })).toEqual([]);
    expect(await store.listNamespaces({ offset: 9 })).toEqual([]);
  });

  it("reads the state before a batch, and stores the last put of a key", async () => {
    const store = make(side);
    const results = await store.batch([
      { namespace: ["b"], key: "k" },
      { namespace: ["b"], key: "k", value: { n: 1 } },
      { namespace: ["b"], key: "k" },
      { namespace: ["b"], key: "k", value: { n: 2 } },
      { namespacePrefix: ["b"] },
      { namespace: ["b"], key: "gone", value: { n: 3 } },
      { namespace: ["b"], key: "gone", value: null },
    ]);
    expect([results[0], results[2], results[4]]).toEqual([null, null, []]);
    expect((await store.get(["b"], "k"))!.value).toEqual({ n: 2 });
    expect(await store.get(["b"], "gone")).toBeNull();
  });

  it("refuses wrong namespaces with the error of LangGraph", async () => {
    const store = make(side);
    const wrong: unknown[] = [[], ["a", ""], ["a.b"], ["langgraph"], ["a", 1]];
    if (refusesColons) wrong.push(["a:b"], ["a\0"]);
    for (const namespace of wrong) {
      const error = await rejection(store.put(namespace as string[], "k", {}));
      expect(error).toBeInstanceOf(InvalidNamespaceError);
      // LangGraph's wrapper hands only operations to the store.
      if (side === "InMemoryStore") continue;
      const puts = [
        { namespace: ["good"], key: "k", value: {} },
        { namespace: namespace as string[], key: "k", value: {} },
      ];
      expect(await rejection(store.batch(puts))).toBeInstanceOf(InvalidNamespaceError);
    }
    expect(await store.get(["good"], "k")).toBeNull();
    await store.put(["a", "langgraph"], "k", {});
    expect(await store.listNamespaces()).toEqual([["a", "langgraph"]]);
  });

  it("finds nothing in an empty or reserved namespace", async () => {
    const store = make(side);
    await store.put(["a"], "k", {});
    for (const namespace of [["langgraph"], ["langgraph", "a"], ...(side === "InMemoryStore" ? [] : [[]])]) {
      expect(await store.get(namespace, "k")).toBeNull();
      await store.delete(namespace, "k");
    }
    if (side !== "InMemoryStore") expect(await store.listNamespaces()).toEqual([["a"]]);
  });
});

const ours = kinds;

describe.each(ours)("where ours differs from InMemoryStore: %s", (kind) => {
  it("a prefix ends at the border of a label (langgraphjs#2721)", async () => {
    const store = await filled(storeAt(place(kind)), [
      [["u", "1"], "mine", {}],
      [["u", "12"], "theirs", {}],
      [["u", "1%"], "pattern", {}],
      [["u1"], "joined", {}],
    ]);
    expect(keysOf(await store.search(["u", "1"]))).toEqual(["mine"]);
    expect(keysOf(await store.search(["u", "1"], { filter: {} }))).toEqual(["mine"]);
    expect(keysOf(await store.search(["u"]))).toEqual(["mine", "theirs", "pattern"]);
    for (const prefix of [["%"], ["_"], ["u", "_"], ["*"], [""], ["u", ""], ["u."], ["u", "1", ""]])
      expect(await store.search(prefix).catch(() => [])).toEqual([]);
  });

  it("labels are never joined", async () => {
    const store = storeAt(place(kind));
    const puts = [["a", "b"], ["a\\", "b"], ["a,b"], ["ab"]].map((namespace, n) => ({
      namespace,
      key: "k",
      value: { n },
    }));
    await store.batch(puts);
    for (const { namespace, value } of puts) expect((await store.get(namespace, "k"))!.value).toEqual(value);
    // A key that looks like the end of another namespace.
    await store.batch([
      { namespace: ["x"], key: "y..z", value: { n: 1 } },
      { namespace: ["x", "y"], key: "z", value: { n: 2 } },
      { namespace: ["x"], key: ".y", value: { n: 3 } },
    ]);
    expect((await store.get(["x"], "y..z"))!.value).toEqual({ n: 1 });
    expect((await store.get(["x", "y"], "z"))!.value).toEqual({ n: 2 });
    expect(await store.batch([{ namespace: ["x", ""], key: "y" }])).toEqual([null]);
    expect(keysOf(await store.search(["x"]))).toEqual(["y..z", "z", ".y"]);
    if (refusesColons) return;
    await store.batch([
      { namespace: ["c", "d"], key: "k", value: { n: 1 } },
      { namespace: ["c:d"], key: "k", value: { n: 2 } },
      { namespace: ["c\0d"], key: "k", value: { n: 3 } },
    ]);
    expect((await store.get(["c", "d"], "k"))!.value).toEqual({ n: 1 });
    expect((await store.get(["c:d"], "k"))!.value).toEqual({ n: 2 });
    expect((await store.get(["c\0d"], "k"))!.value).toEqual({ n: 3 });
  });

  it("copies values both ways, as they are", async () => {
    const store = storeAt(place(kind));
    const shared = { s: 1 };
    const values: Record<string, any>[] = [
      { date: new Date(7), nothing: undefined, list: [1, [2]], text: "ä\0😀" },
      { big: "x".repeat(10_000), n: 1 },
      { big: "x".repeat(10_000), date: new Date(7) },
      { lone: "\ud800", n: 1 },
      { zero: -0, nan: Number.NaN, infinite: -Infinity },
      { map: new Map([[1, new Set([2])]]), bytes: new Uint8Array([1, 2]) },
      { one: shared, two: shared },
      { $type: "Date", $gt: 1, "": 0 },
      JSON.parse('{"__proto__":{"a":1},"b":2}') as object,
      Object.assign(Object.create(null) as object, { n: 1 }),
      { n: 123456789.12345679, e: 1e300, small: 5e-324 },
      Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`k${n}`, n])),
    ];
    for (const [n, value] of values.entries()) await store.put(["v"], `k${n}`, value);
    for (const [n, value] of values.entries()) {
      const found = (await store.get(["v"], `k${n}`))!;
      expect(found.value, `k${n}`).toEqual(value);
      if (n === 4) expect(Object.is(found.value["zero"], -0)).toBe(true);
      found.value["changed"] = true;
      expect((await store.get(["v"], `k${n}`))!.value).toEqual(value);
    }
    const value = { list: [1] };
    const put = store.put(["v"], "k", value);
    value.list.push(2);
    await put;
    expect((await store.get(["v"], "k"))!.value).toEqual({ list: [1] });
    expect(await store.search(["v"], { limit: 100 })).toHaveLength(values.length + 1);
  });

  it("compares as its guide says, in all forms in which a value can be stored", async () => {
    const store = storeAt(place(kind));
    // JSON, large JSON, and what JSON cannot store.
    const forms = [{}, { big: "x".repeat(9_000) }, { date: new Date(1) }, { lone: "\ud800" }];
    for (const [form, more] of forms.entries()) {
      const values = [
        { a: { b: [1, { c: 2 }] } },
        { a: [1, 2] },
        { a: [] },
        { a: {} },
        { a: "10" },
        { a: 9 },
        { a: 0.1 + 0.2 },
        { a: "\uffff" },
        { a: "é" },
        { other: { a: 9 } },
      ];
      for (const [n, value] of values.entries()) await store.put(["f", `${form}`], `${n}`, { ...value, ...more });
    }
    const found = async (filter: object) => {
      const each = forms.map(async (_, form) => keysOf(await store.search(["f", `${form}`], { filter, limit: 100 })));
      const [first, ...rest] = await Promise.all(each);
      for (const keys of rest) expect(keys).toEqual(first);
      const all = await store.search(["f"], { filter, limit: 100 });
      expect(all).toHaveLength(first!.length * forms.length);
      return first!.map(Number);
    };
    expect(await found({ a: { b: [1, { c: 2 }] } })).toEqual([0]);
    expect(await found({ a: { $eq: { b: [1, { c: 2 }] } } })).toEqual([0]);
    expect(await found({ a: [1, 2] })).toEqual([1]);
    expect(await found({ a: [2, 1] })).toEqual([]);
    expect(await found({ a: [] })).toEqual([2]);
    expect(await found({ a: {} })).toEqual([3]);
    expect(await found({ a: { $ne: {} } })).toEqual([0, 1, 2, 4, 5, 6, 7, 8, 9]);
    expect(await found({ a: { $in: [[1, 2], 9] } })).toEqual([1, 5]);
    expect(await found({ a: { $nin: [[1, 2], 9, "é"] } })).toEqual([0, 2, 3, 4, 6, 7, 9]);
    expect(await found({ a: { $gt: 8 } })).toEqual([5]);
    expect(await found({ a: { $gt: "0" } })).toEqual([4, 7, 8]);
    expect(await found({ a: { $lt: "😀" } })).toEqual([4, 8]);
    expect(await found({ a: { $lt: Infinity } })).toEqual([5, 6]);
    expect(await found({ a: 0.1 + 0.2 })).toEqual([6]);
    expect(await found({ a: 0.3 })).toEqual([]);
    expect(await found({ a: { $gt: 0.3, $lt: 1 } })).toEqual([6]);
    expect(await found({ a: undefined })).toEqual([9]);
    expect(await found({ a: { $gt: Number.NaN } })).toEqual([]);
    expect(await found({ a: "é" })).toEqual([8]);
    expect(await found({ a: "\ud800" })).toEqual([]);
    expect(await found({ "\ud800": undefined })).toHaveLength(10);
    expect(keysOf(await store.search(["f"], { filter: { date: new Date(1) }, limit: 2 }))).toEqual(["0", "1"]);
    expect(await store.search(["f"], { filter: { date: new Date(2) } })).toEqual([]);
    expect(keysOf(await store.search(["f"], { filter: { lone: "\ud800" }, limit: 100 }))).toHaveLength(10);
    // The page is counted after the filter, over items whose values only TypeScript can compare.
    const paged = await store.search(["f"], { filter: { a: { $in: [9, "10"] } }, limit: 3, offset: 2 });
    expect(paged.map(({ namespace, key }) => namespace[1]! + key)).toEqual(["14", "15", "24"]);
  });

  it("refuses a wrong filter, page, value or operation before anything is stored", async () => {
    const store = storeAt(place(kind));
    const good = { namespace: ["good"], key: "k", value: {} };
    const circle: Record<string, unknown> = {};
    circle["self"] = circle;
    const wrong: Array<[unknown, typeof TypeError | typeof RangeError]> = [
      ...[{ a: { $gt: 1, b: 2 } }, { a: { $regex: "x" } }, { $and: [] }, { $or: [{ a: 1 }] }, { a: { $in: 1 } }].map(
        (filter): [unknown, typeof TypeError] => [{ namespacePrefix: ["a"], filter }, TypeError],
      ),
      ...["x", 1, [], new Date(), new Map()].map((filter): [unknown, typeof TypeError] => [
        { namespacePrefix: ["a"], filter },
        TypeError,
      ]),
      ...[Number.NaN, 1.5, -1].flatMap((n): Array<[unknown, typeof RangeError]> => [
        [{ namespacePrefix: ["a"], limit: n }, RangeError],
        [{ namespacePrefix: ["a"], offset: n }, RangeError],
        [{ matchConditions: [], limit: n, offset: 0 }, RangeError],
        [{ limit: 1, offset: 0, maxDepth: n }, RangeError],
      ]),
      ...["x", 1, true, [], new Date(), new Map(), () => {}, undefined, new Error("x")].map(
        (value): [unknown, typeof TypeError] => [{ namespace: ["a"], key: "k", value }, TypeError],
      ),
      [{ namespacePrefix: "a" }, TypeError],
      [{ namespacePrefix: [1] }, TypeError],
      [{ namespace: ["a"], key: 1 }, TypeError],
      [{ namespace: ["a"], key: 1, value: {} }, TypeError],
      [{ namespace: ["a"] }, TypeError],
      [{ matchConditions: [{ matchType: "infix", path: [] }] }, TypeError],
      [{ matchConditions: "a" }, TypeError],
      [null, TypeError],
      ["x", TypeError],
    ];
    for (const [operation, type] of wrong) {
      const error = await rejection(store.batch([good, operation as typeof good]));
      expect(error, JSON.stringify(operation)).toBeInstanceOf(type);
    }
    expect(await rejection(store.batch("x" as never))).toBeInstanceOf(TypeError);
    for (const [namespace, key] of [
      [["\ud800"], "k"],
      [["a"], "\udc00"],
      [["a".repeat(5_000)], "k"],
    ] as const)
      expect(await rejection(store.batch([good, { namespace: [...namespace], key, value: {} }]))).toMatchObject({
        code: "INVALID_ARGUMENT",
      });
    expect(await store.listNamespaces()).toEqual([]);
    // Nothing can be stored there.
    expect(await store.get(["\ud800"], "k")).toBeNull();
    expect(await store.get(["a"], "\udc00")).toBeNull();
    await store.delete(["a"], "\udc00");
    expect(await store.search(["\ud800"])).toEqual([]);
    expect(await store.listNamespaces({ prefix: ["\ud800"] })).toEqual([]);
    await store.put(["a"], "k", circle);
    const found = (await store.get(["a"], "k"))!.value;
    expect(found["self"]).toBe(found);
  });

  it("lists all namespaces without conditions, sorted by code units, and no empty one", async () => {
    const store = storeAt(place(kind));
    const namespaces = [["b"], ["B"], ["a", "b"], ["a-b"], ["é"], ["z"], ["a"]];
    for (const namespace of namespaces) await store.put(namespace, "k", {});
    const sorted = [["B"], ["a"], ["a", "b"], ["a-b"], ["b"], ["z"], ["é"]];
    expect(
      await store.batch([
        { limit: 100, offset: 0 },
        { namespace: ["a"], key: "none" },
      ]),
    ).toEqual([sorted, null]);
    await store.delete(["a"], "k");
    await store.delete(["z"], "k");
    expect(await store.listNamespaces()).toEqual([["B"], ["a", "b"], ["a-b"], ["b"], ["é"]]);
    expect(await store.listNamespaces({ maxDepth: 1 })).toEqual([["B"], ["a"], ["a-b"], ["b"], ["é"]]);
    expect(await store.search(["a"])).toHaveLength(1);
  });

  it("keeps the order of calls that are not awaited", async () => {
    const store = storeAt(place(kind));
    const calls = [
      store.put(["o"], "k", { n: 1 }),
      store.get(["o"], "k"),
      store.put(["o"], "k", { n: 2 }),
      store.search(["o"]),
      store.delete(["o"], "k"),
      store.get(["o"], "k"),
      store.put(["o"], "k", { n: 3 }),
      store.listNamespaces(),
    ] as const;
    const [, one, , two, , none, , listed] = await Promise.all(calls);
    expect(one!.value).toEqual({ n: 1 });
    expect(two.map(({ value }) => value)).toEqual([{ n: 2 }]);
    expect(none).toBeNull();
    expect(listed).toEqual([["o"]]);
    expect((await store.get(["o"], "k"))!.value).toEqual({ n: 3 });
    await Promise.all(Array.from({ length: 50 }, (_, n) => store.put(["o"], "last", { n })));
    expect((await store.get(["o"], "last"))!.value).toEqual({ n: 49 });
  });

  it("two stores write to one namespace, and the last commit wins", async () => {
    await using opened = await openStore(place(kind));
    const stores = [new ForkpointStore(opened), new ForkpointStore(opened)];
    const keys = Array.from({ length: 20 }, (_, n) => `k${n % 5}`);
    for (let round = 0; round < 5; round++) {
      await Promise.all(
        stores.flatMap((store, who) =>
          keys.map((key, n) => (n % 7 === 6 ? store.delete(["s"], key) : store.put(["s"], key, { who, round, n }))),
        ),
      );
    }
    const found = await stores[0]!.search(["s"], { limit: 100 });
    expect(await stores[1]!.search(["s"], { limit: 100 })).toEqual(found);
    expect(new Set(keysOf(found)).size).toBe(found.length);
  });

  it("finds what a simple model finds, and never an item of another tenant", async () => {
    const store = storeAt(place(kind));
    let seed = 42;
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      return Math.floor((seed / 2 ** 31) * below);
    };
    const labels = ["a", "b", "ab", "a\\", "\\", "\\e", "a b", "%", "_", "*", "ä", "😀", "1", "12"];
    const namespace = () => Array.from({ length: 1 + random(3) }, () => labels[random(labels.length)]!);
    const model = new Map<string, { namespace: string[]; key: string; value: Record<string, unknown> }>();
    for (let step = 0; step < 40; step++) {
      const batch = Array.from({ length: 8 }, (_, n) => {
        const value = random(5) === 0 ? null : { n: random(4), step, more: random(3) === 0 ? new Date(n) : n };
        return { namespace: namespace(), key: `k${random(3)}`, value };
      });
      await store.batch(batch);
      for (const { namespace: of, key, value } of new Map(
        batch.map((one) => [JSON.stringify([one.namespace, one.key]), one]),
      ).values()) {
        const name = JSON.stringify([of, key]);
        if (value === null) model.delete(name);
        else if (model.has(name)) model.get(name)!.value = value;
        else model.set(name, { namespace: of, key, value });
      }
      const prefix = random(4) === 0 ? [] : namespace().slice(0, 1 + random(2));
      const [wanted, offset] = [random(4), random(4)];
      const expected = [...model.values()].filter(({ namespace: of }) => prefix.every((label, at) => label === of[at]));
      const shown = (items: typeof expected) =>
        items.map((one) => ({ namespace: one.namespace, key: one.key, value: one.value }));
      const [all, some, greater] = await store.batch([
        { namespacePrefix: prefix, limit: 1_000 },
        { namespacePrefix: prefix, filter: { n: wanted }, limit: 3, offset },
        { namespacePrefix: prefix, filter: { n: { $gt: wanted } }, limit: 1_000 },
      ]);
      // Items of one batch are in its order, also in the model.
      expect(shown(all as typeof expected)).toEqual(shown(expected));
      expect(shown(some as typeof expected)).toEqual(
        shown(expected.filter(({ value }) => value["n"] === wanted).slice(offset, offset + 3)),
      );
      expect(shown(greater as typeof expected)).toEqual(
        shown(expected.filter(({ value }) => (value["n"] as number) > wanted)),
      );
    }
    const namespaces = [...new Set([...model.values()].map(({ namespace: of }) => JSON.stringify(of)))];
    expect((await store.listNamespaces({ limit: 1_000 })).map((of) => JSON.stringify(of)).toSorted()).toEqual(
      namespaces.toSorted(),
    );
  });

  it("pages through more items than a page has", async () => {
    const store = storeAt(place(kind));
    const value = (n: number) => ({ n, tenth: n % 10 === 0, date: n % 1_000 === 0 ? new Date(n) : null });
    const items = Array.from({ length: 2_600 }, (_, n) => ({ namespace: ["p"], key: `${n}`, value: value(n) }));
    for (let at = 0; at < items.length; at += 650) await store.batch(items.slice(at, at + 650));
    const numbers = async (prefix: string[], options: object) =>
      (await store.search(prefix, options)).map(({ value: found }) => found["n"]);
    const all = Array.from({ length: 2_600 }, (_, n) => n);
    expect(await numbers(["p"], { limit: Infinity })).toEqual(all);
    expect(await numbers(["p"], { limit: 5, offset: 2_590 })).toEqual(all.slice(2_590, 2_595));
    const tenth = all.filter((n) => n % 10 === 0);
    expect(await numbers(["p"], { filter: { tenth: true }, limit: 9_999 })).toEqual(tenth);
    expect(await numbers(["p"], { filter: { tenth: true }, limit: 3, offset: 200 })).toEqual(tenth.slice(200, 203));
    expect(await numbers(["p"], { filter: { n: 2_599 } })).toEqual([2_599]);
    expect(await numbers(["p"], { filter: { n: { $gte: 1_200, $lt: 2_100 } }, limit: 1_000 })).toEqual(
      all.slice(1_200, 2_100),
    );
    for (let n = 0; n < 80; n++) await store.put(["q", `${n}`], "k", { n: 10_000 + n });
    expect(await numbers(["q"], { limit: 100 })).toEqual(Array.from({ length: 80 }, (_, n) => 10_000 + n));
    expect(await numbers(["q"], { limit: 2, offset: 70, filter: { n: { $gt: 10_003 } } })).toEqual([10_074, 10_075]);
    const [found] = await store.batch([{ namespacePrefix: [], limit: 3, offset: 2_599 }]);
    expect(found!.map(({ value }) => value["n"] as number)).toEqual([2_599, 10_000, 10_001]);
    expect(await store.listNamespaces({ prefix: ["q"], limit: 1_000 })).toHaveLength(80);
  });

  it("takes no option for semantic search", async () => {
    const target = place(kind);
    expect(() => new ForkpointStore(target, { index: { dims: 3 } } as never)).toThrow(
      expect.objectContaining({ code: "UNSUPPORTED", message: expect.stringContaining("vector store") as unknown }),
    );
    for (const defaultTtl of [0, -1, Number.NaN, Infinity])
      expect(() => new ForkpointStore(target, { ttl: { defaultTtl } })).toThrow(RangeError);
    for (const ttl of ["1", { defaultTtl: "1" }, { refreshOnRead: 1 }, { other: 1 }])
      expect(() => new ForkpointStore(target, { ttl } as never)).toThrow(TypeError);
    const store = storeAt(target);
    await store.put(["a"], "k", { text: "hello" });
    const [item] = await store.search(["a"], { query: "hello" });
    expect(item).toMatchObject({ value: { text: "hello" }, score: undefined });
  });
});

describe.each(ours)("items that expire: %s", (kind) => {
  /** Waits until the time has passed. */
  const passed = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  const ttl = (ms: number, refreshOnRead?: boolean) => ({
    ttl: { defaultTtl: ms / 60_000, ...(refreshOnRead !== undefined && { refreshOnRead }) },
  });

  it("count nowhere", async () => {
    await using opened = await openStore(place(kind));
    const store = new ForkpointStore(opened, ttl(60, false));
    const forever = new ForkpointStore(opened);
    await store.put(["e", "short"], "k", { n: 1 });
    await forever.put(["e", "long"], "k", { n: 1 });
    await forever.put(["e", "both"], "old", { n: 2 });
    await store.put(["e", "both"], "new", { n: 1 });
    await until(async () => (await store.get(["e", "both"], "new")) === null);
    for (const one of [store, forever]) {
      expect(await one.get(["e", "short"], "k")).toBeNull();
      expect((await one.search(["e"])).map(({ namespace }) => namespace[1])).toEqual(["long", "both"]);
      expect(await one.search(["e"], { filter: { n: 1 } })).toHaveLength(1);
      expect(await one.search(["e"], { offset: 1 })).toHaveLength(1);
      expect(await one.listNamespaces()).toEqual([
        ["e", "both"],
        ["e", "long"],
      ]);
      expect(await one.listNamespaces({ maxDepth: 1 })).toEqual([["e"]]);
    }
    const later = Date.now();
    await forever.put(["e", "short"], "k", { n: 2 });
    const again = (await forever.get(["e", "short"], "k"))!;
    expect(again.createdAt.getTime()).toBeGreaterThanOrEqual(later);
    expect(keysOf(await forever.search(["e"]))).toEqual(["k", "old", "k"]);
  });

  it("stay while they are read, if reads refresh them", async () => {
    const store = storeAt(place(kind), ttl(2_000));
    await store.put(["r"], "k", { n: 1 });
    const began = Date.now();
    const { updatedAt } = (await store.get(["r"], "k"))!;
    for (let n = 0; Date.now() < began + 2_500; n++) {
      const [read] = n % 2 === 0 ? [await store.get(["r"], "k")] : await store.search(["r"]);
      expect(read).toMatchObject({ value: { n: 1 }, createdAt: updatedAt, updatedAt });
      await passed(50);
    }
  });

  it("are removed by later puts", async () => {
    const target = place(kind);
    const store = storeAt(target, ttl(20));
    await store.batch(
      Array.from({ length: 30 }, (_, n) => ({ namespace: ["s", `${n % 3}`], key: `${n}`, value: { n } })),
    );
    await passed(1_100);
    await until(async () => {
      await store.put(["s", "new"], "k", {});
      return (await store.stats()).checkpoints <= 1;
    });
    expect((await store.stats()).runs).toBeLessThanOrEqual(1);
  });
});

describe.each(ours)("the store in its database: %s", (kind) => {
  it("shares it with the saver and the cache", async () => {
    await using opened = await openStore(place(kind));
    const [saver, store, cache] = [new ForkpointSaver(opened), new ForkpointStore(opened), new ForkpointCache(opened)];
    await store.put(["a"], "k", { n: 1 });
    await cache.set([{ key: [["a"], "k"], value: 2 }]);
    expect((await store.get(["a"], "k"))!.value).toEqual({ n: 1 });
    expect(await cache.get([[["a"], "k"]])).toEqual([{ key: [["a"], "k"], value: 2 }]);
    expect((await saver.listThreads()).threads).toEqual([]);
    expect(await store.stats()).toMatchObject({ runs: 1, checkpoints: 1 });
    expect((await store.check()).ok).toBe(true);
    await store.close();
    expect(await rejection(store.get(["a"], "k"))).toMatchObject({ code: "CLOSED" });
    await cache.clear([]);
    expect(await cache.get([[["a"], "k"]])).toEqual([]);
  });

  it("keeps items that retention would remove", async () => {
    await using opened = await openStore(place(kind), { keepLastN: 1, ttlMs: 1, maxBytes: 1 });
    const store = new ForkpointStore(opened);
    for (let n = 0; n < 5; n++) await store.put(["r"], `${n}`, { n, text: "x".repeat(500) });
    await opened.prune({ keepLastN: 1, olderThan: Date.now() + 1_000 });
    expect(keysOf(await store.search(["r"]))).toEqual(["0", "1", "2", "3", "4"]);
  });
});

it.each(sharedKinds)("items are seen by the inspector, and copied: %s", async (kind) => {
  const target = place(kind);
  const store = storeAt(target);
  await store.put(["users", "7"], "food", { likes: "ramen" });
  await store.put(["users", "7"], "trip.v2", { when: new Date(7), big: "x".repeat(5_000) });
  await store.put(["users", "8"], "food", { likes: "rice" });
  await using inspector = await openInspector(target);
  const { items: runs } = await inspector.runs({ space: "langgraph-store" });
  expect(runs.map(({ run, checkpoints }) => [run, checkpoints])).toEqual([
    ["users.8", 1],
    ["users.7", 2],
  ]);
  const ref = { space: "langgraph-store", run: "users.7" } as const;
  const { items } = await inspector.checkpoints(ref);
  expect(items.map(({ id, label }) => [id, label])).toEqual([
    ["food", "food"],
    ["trip.v2", "trip.v2"],
  ]);
  expect(await inspector.checkpoint({ ...ref, id: "food" })).toMatchObject({ state: { likes: "ramen" } });
  const when = { $type: "Date", value: new Date(7).toISOString() };
  expect(await inspector.checkpoint({ ...ref, id: "trip.v2" })).toMatchObject({ state: { when } });
  expect(await rejection(inspector.fork({ ...ref, id: "food" }))).toMatchObject({ code: "UNSUPPORTED" });
  // Each item is a value of its own, small or large.
  const found = async (text: string) => {
    const hits: string[] = [];
    for await (const { run, id, path } of inspector.search(text)) hits.push(`${run} ${id} ${path.join(".")}`);
    return hits;
  };
  expect(await found("r")).toEqual(["users.8 food likes", "users.7 food likes"]);
  expect(await found("ramen")).toEqual(["users.7 food likes"]);
  expect(await found("xxx")).toEqual(["users.7 trip.v2 big"]);
  expect(await found("soup")).toEqual([]);
  for (const to of everyKind.filter((one) => one !== "memory")) {
    const copy = place(to);
    expect(await copyStore(target, copy)).toMatchObject({ checkpoints: 3 });
    const copied = storeAt(copy);
    expect(await copied.search(["users"])).toEqual(await store.search(["users"]));
    expect((await copied.get(["users", "7"], "trip.v2"))!.value).toMatchObject({ when: new Date(7) });
    await copied.close();
  }
});

it.each(sharedKinds)("values of an own serializer are filtered, and never stored in the clear: %s", async (kind) => {
  const hex = {
    name: "hex",
    serialize: (value: unknown) => Buffer.from(Buffer.from(JSON.stringify(value)).toString("hex")),
    deserialize: (bytes: Uint8Array) =>
      JSON.parse(Buffer.from(Buffer.from(bytes).toString(), "hex").toString()) as unknown,
  };
  const target = place(kind);
  const store = storeAt(target, { serializer: hex });
  for (let n = 0; n < 20; n++) await store.put(["h"], `${n}`, { n, secret: "s3cret" });
  expect(keysOf(await store.search(["h"], { filter: { n: { $gte: 15 } }, limit: 2, offset: 1 }))).toEqual(["16", "17"]);
  expect((await store.get(["h"], "3"))!.value).toEqual({ n: 3, secret: "s3cret" });
  await store.close();
  await using inspector = await openInspector(target);
  const { items } = await inspector.checkpoints({ space: "langgraph-store", run: "h" });
  expect(JSON.stringify(items)).not.toContain("s3cret");
});
