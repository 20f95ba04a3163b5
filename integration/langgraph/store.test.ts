// LangGraph's store, beyond the rules of BaseStore, which conformance/src/contracts/langgraph-store states. How it compares in filters
// is in docs/langgraph-store.md.
import { InvalidNamespaceError } from "@langchain/langgraph-checkpoint";
import { copyStore, openStore } from "forkpoint";
import { openInspector } from "forkpoint/inspect";
import { ForkpointCache, ForkpointSaver, ForkpointStore, type ForkpointStoreOptions } from "forkpoint/langgraph";
import { describe, expect, it, onTestFinished } from "vitest";
import { everyKind, kinds, place, rejection, sharedKinds, until } from "./helpers.js";

/** True for the later of the two versions. It refuses more labels. */
const refusesColons = "validateNamespace" in (await import("@langchain/langgraph-checkpoint"));

function storeAt(target: string, options?: ForkpointStoreOptions): ForkpointStore {
  const store = new ForkpointStore(target, options);
  onTestFinished(() => store.close());
  return store;
}

const keysOf = (items: Array<{ key: string }>) => items.map(({ key }) => key);

describe.each(kinds)("on %s", (kind) => {
  it("refuses wrong namespaces with the error of LangGraph", async () => {
    const store = storeAt(place(kind));
    const wrong: unknown[] = [[], ["a", ""], ["a.b"], ["langgraph"], ["a", 1]];
    if (refusesColons) wrong.push(["a:b"], ["a\0"]);
    for (const namespace of wrong as string[][]) {
      expect(await rejection(store.put(namespace, "k", {}))).toBeInstanceOf(InvalidNamespaceError);
      const puts = [["good"], namespace].map((each) => ({ namespace: each, key: "k", value: {} }));
      expect(await rejection(store.batch(puts))).toBeInstanceOf(InvalidNamespaceError);
    }
    expect(await store.listNamespaces()).toEqual([]);
  });

  it("returns values that share an object, contain themselves, or have keys that look like types", async () => {
    const store = storeAt(place(kind));
    const shared = { s: 1 };
    const circle: Record<string, any> = {};
    circle["self"] = circle;
    const values: Record<string, any>[] = [
      { one: shared, two: shared },
      { $type: "Date", $gt: 1, "": 0 },
      Object.assign(Object.create(null) as object, { n: 1 }),
    ];
    for (const [n, value] of values.entries()) {
      await store.put(["v"], `${n}`, value);
      expect((await store.get(["v"], `${n}`))!.value).toEqual(value);
    }
    await store.put(["v"], "circle", circle);
    const found = (await store.get(["v"], "circle"))!.value;
    expect(found["self"]).toBe(found);
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
    const operators = [
      { a: { $gt: 1, b: 2 } },
      { a: { $regex: "x" } },
      { $and: [] },
      { $or: [{ a: 1 }] },
      { a: { $in: 1 } },
    ];
    const filters = [...operators, "x", 1, [], new Date(), new Map()];
    const values = ["x", 1, true, [], new Date(), new Map(), () => {}, undefined, new Error("x")];
    const types: unknown[] = [
      ...filters.map((filter) => ({ namespacePrefix: ["a"], filter })),
      ...values.map((value) => ({ namespace: ["a"], key: "k", value })),
      { namespacePrefix: "a" },
      { namespacePrefix: [1] },
      { namespace: ["a"], key: 1 },
      { namespace: ["a"], key: 1, value: {} },
      { namespace: ["a"] },
      { matchConditions: [{ matchType: "infix", path: [] }] },
      { matchConditions: "a" },
      null,
      "x",
    ];
    const ranges = [Number.NaN, 1.5, -1].flatMap((n) => [
      { namespacePrefix: ["a"], limit: n },
      { namespacePrefix: ["a"], offset: n },
      { matchConditions: [], limit: n, offset: 0 },
      { limit: 1, offset: 0, maxDepth: n },
    ]);
    const wrong = [
      ...types.map((one) => [one, TypeError] as const),
      ...ranges.map((one) => [one, RangeError] as const),
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

describe.each(kinds)("items that expire: %s", (kind) => {
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

describe.each(kinds)("the store in its database: %s", (kind) => {
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
