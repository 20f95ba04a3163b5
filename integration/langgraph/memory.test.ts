// Tests the store and the cache inside real graphs, without a model.
import { Annotation, START, StateGraph, getStore } from "@langchain/langgraph";
import { openStore } from "forkpoint";
import { ForkpointCache, ForkpointSaver, ForkpointStore } from "forkpoint/langgraph";
import { describe, expect, it, vi } from "vitest";
import { kinds, place, rejection, sequence, sharedKinds, thread } from "./helpers.js";

const State = Annotation.Root({ input: Annotation<string>, output: Annotation<unknown> });

describe.each(kinds)("a graph with a store: %s", (kind) => {
  it("puts and gets in one tick and over ticks", async () => {
    await using opened = await openStore(place(kind));
    const [checkpointer, store] = [new ForkpointSaver(opened), new ForkpointStore(opened)];
    const batches: number[] = [];
    const { batch } = store;
    store.batch = function (operations) {
      batches.push(operations.length);
      return batch.call(this, operations) as never;
    };
    const graph = sequence(State, {
      write: async (_, config) => {
        const memory = getStore(config)!;
        const found = await Promise.all([
          memory.put(["u", "1"], "a", { n: 1 }),
          memory.get(["u", "1"], "a"),
          memory.put(["u", "1"], "b", { n: 2 }),
          memory.search(["u"]),
        ]);
        return { output: [found[1], found[3]] };
      },
      read: async ({ output }, config) => {
        const memory = getStore(config)!;
        const one = await memory.get(["u", "1"], "a");
        await memory.delete(["u", "1"], "a");
        const rest = await memory.search(["u"], { filter: { n: { $gt: 1 } } });
        return { output: [...(output as unknown[]), one!.value, rest.map(({ key }) => key)] };
      },
    }).compile({ checkpointer, store });
    const { output } = await graph.invoke({ input: "x" }, thread());
    expect(output).toEqual([null, [], { n: 1 }, ["b"]]);
    expect(batches).toEqual([4, 1, 1, 1]);
    expect((await store.search(["u"])).map(({ key, value }) => [key, value])).toEqual([["b", { n: 2 }]]);
  });
});

describe.each(kinds)("two graphs with a node of the same name: %s", (kind) => {
  const graphOf = (answer: string, cache: ForkpointCache) => {
    const graph = new StateGraph(State)
      .addNode("answer", ({ input }) => ({ output: `${answer} ${input}` }), { cachePolicy: {} })
      .addEdge(START, "answer")
      .compile({ cache });
    return async (input: string) => (await graph.invoke({ input })).output;
  };

  it("get each other's results without a namespace, and their own ones with it", async () => {
    await using opened = await openStore(place(kind));
    const plain = new ForkpointCache(opened);
    expect(await graphOf("old", plain)("x")).toBe("old x");
    expect(await graphOf("new", plain)("x")).toBe("old x");
    const [v1, v2] = ["v1", "v2"].map((namespace) => new ForkpointCache(opened, { namespace }));
    for (let run = 0; run < 2; run++) {
      expect(await graphOf(run === 0 ? "old" : "not run", v1!)("x")).toBe("old x");
      expect(await graphOf(run === 0 ? "new" : "not run", v2!)("x")).toBe("new x");
    }
    await v1!.clear([]);
    expect(await graphOf("again", v1!)("x")).toBe("again x");
    expect(await graphOf("not run", v2!)("x")).toBe("new x");
    expect(await graphOf("not run", plain)("x")).toBe("old x");
    await v2!.clear([["__pregel_ns_writes", "answer"]]);
    await plain.clear([]);
    for (const cache of [plain, v1!, v2!]) expect(await graphOf("run", cache)("x")).toBe("run x");
  });

  it("forget a result without a ttl after a day, or after the option ttl", async () => {
    await using opened = await openStore(place(kind));
    const key: [string[], string] = [["n"], "k"];
    const now = Date.now();
    for (const ttl of [undefined, 60, Number.POSITIVE_INFINITY]) {
      const cache = new ForkpointCache(opened, { namespace: `${ttl}`, ...(ttl !== undefined && { ttl }) });
      await cache.set([{ key, value: 1 }]);
      for (const later of [50, 70, 86_000, 87_000, 1e9]) {
        vi.spyOn(Date, "now").mockReturnValue(now + later * 1_000);
        expect(await cache.get([key]), `${ttl}: ${later} s later`).toHaveLength(later < (ttl ?? 86_400) ? 1 : 0);
        vi.restoreAllMocks();
      }
    }
    for (const ttl of [0, -1, Number.NaN]) expect(() => new ForkpointCache(opened, { ttl })).toThrow(RangeError);
    for (const wrong of [{ ttl: "1" }, { namespace: "" }, { namespace: 1 }])
      expect(() => new ForkpointCache(opened, wrong as never)).toThrow(TypeError);
  });
});

describe.each(kinds)("the rules of BaseCache: %s", (kind) => {
  it("keeps values by namespace and key", async () => {
    await using cache = new ForkpointCache(place(kind));
    const keys: Array<[string[], string]> = [
      [[], ""],
      [["a"], "k"],
      [["a", "b"], "k"],
      [["a,b"], "k"],
      [["a.b"], "k"],
      [["a"], "b.k"],
      [["a", ""], "k"],
      [["__proto__"], "constructor"],
    ];
    await cache.set(keys.map((key, n) => ({ key, value: { n, date: [n], big: "x".repeat(n * 1_000) } })));
    const found = await cache.get([...keys, [["none"], "k"], [["a"], "none"]]);
    expect(found).toEqual(keys.map((key, n) => ({ key, value: { n, date: [n], big: "x".repeat(n * 1_000) } })));
    await cache.clear([["a"], ["none"]]);
    const left = await cache.get(keys);
    expect(left.map(({ key }) => key)).toEqual(
      keys.filter(([namespace]) => namespace.length !== 1 || namespace[0] !== "a"),
    );
    await cache.set([
      { key: [["a"], "k"], value: 1 },
      { key: [["a"], "k"], value: 2 },
    ]);
    expect(await cache.get([[["a"], "k"]])).toEqual([{ key: [["a"], "k"], value: 2 }]);
    await cache.clear([]);
    expect(await cache.get([...keys])).toEqual([]);
    expect(await cache.get([])).toEqual([]);
    await cache.set([]);
  });

  it("entries expire, and are removed by later saves", async () => {
    await using opened = await openStore(place(kind));
    const cache = new ForkpointCache(opened);
    const key = (n: number): [string[], string] => [["e"], `${n}`];
    await cache.set([1, 2, 3].map((n) => ({ key: key(n), value: n, ttl: n === 3 ? 600 : 0.02 })));
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    expect(await cache.get([1, 2, 3].map(key))).toEqual([{ key: key(3), value: 3 }]);
    for (let stored = 3; stored > 2; stored = (await opened.stats()).checkpoints)
      await cache.set([{ key: key(4), value: 4, ttl: 600 }]);
    expect((await cache.get([3, 4].map(key))).map(({ value }) => value)).toEqual([3, 4]);
  });

  it("limits on the number of checkpoints do not apply", async () => {
    await using opened = await openStore(place(kind), { keepLastN: 1 });
    const cache = new ForkpointCache(opened);
    for (const n of [1, 2, 3]) await cache.set([{ key: [["n"], `${n}`], value: n }]);
    expect(await cache.get([1, 2, 3].map((n) => [["n"], `${n}`]))).toHaveLength(3);
  });

  it("refuses wrong arguments before anything is stored", async () => {
    await using cache = new ForkpointCache(place(kind));
    const good = { key: [["a"], "k"] as [string[], string], value: 1 };
    for (const pair of [null, { key: "k", value: 1 }, { key: [["a"], 1], value: 1 }, { ...good, ttl: "1" }])
      expect(await rejection(cache.set([good, pair as never]))).toBeInstanceOf(TypeError);
    for (const ttl of [0, -1, Number.NaN])
      expect(await rejection(cache.set([good, { ...good, ttl }]))).toBeInstanceOf(RangeError);
    expect(await rejection(cache.set([good, { key: [["\ud800"], "k"], value: 1 }]))).toMatchObject({
      code: "INVALID_ARGUMENT",
    });
    for (const wrong of [undefined, "x", [["a", "b", "c"]]])
      expect(await rejection(cache.get(wrong as never))).toBeInstanceOf(TypeError);
    expect(await rejection(cache.clear([["a"], [1]] as never))).toBeInstanceOf(TypeError);
    expect(await cache.get([good.key, [["\ud800"], "k"]])).toEqual([]);
    expect(() => new ForkpointCache("memory:", { serde: {} } as never)).toThrow(TypeError);
  });
});

it.each(sharedKinds)(
  "a node with a cache policy is not run again when the database is opened again: %s",
  async (kind) => {
    const target = place(kind);
    let runs = 0;
    for (let opened = 0; opened < 2; opened++) {
      await using cache = new ForkpointCache(target);
      const graph = new StateGraph(State)
        .addNode("answer", ({ input }) => ({ output: `${input} ${++runs}` }), { cachePolicy: { ttl: 600 } })
        .addEdge(START, "answer")
        .compile({ cache });
      expect((await graph.invoke({ input: "x" })).output).toBe("x 1");
    }
  },
);
