// A state reads back exactly as the serializer stores it.
import { Annotation, START, StateGraph } from "@langchain/langgraph";
import { MemorySaver, type SerializerProtocol, uuid6 } from "@langchain/langgraph-checkpoint";
import { ToolMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { all, checkpoint, kinds, metadata, open, place, rejection, saver, thread } from "./helpers.js";

/** LangGraph's own serializer, which it does not export. */
const plus = new MemorySaver().serde;

/** Serialises and deserialises a value, and returns the result. */
async function kept(value: unknown): Promise<unknown> {
  return plus.loadsTyped(...(await plus.dumpsTyped(value)));
}

/** The JSON text of a value. Comparing it shows differences that `toEqual` ignores. */
const exact = (value: unknown) => JSON.stringify(value);

const values: Record<string, unknown> = {
  nothing: null,
  no: false,
  zero: 0,
  number: -1.5e300,
  empty: "",
  text: "line\nline\ttab \u0000 NUL \u2028 é 漢字 😀 \u202E",
  "a lone surrogate": "\uD800",
  list: [1, [2, [3, []]], null],
  record: { a: { b: { c: {} } }, "": 1, "a.b": 2, constructor: "no", ключ: "значение" },
  bytes: Uint8Array.from({ length: 256 }, (_, i) => i),
  "no bytes": new Uint8Array(0),
  "bytes inside": { deep: [new Uint8Array([0, 255])] },
  map: new Map<unknown, unknown>([
    ["a", new Set([1, 2])],
    [3, new Map([["é", new Uint8Array([1])]])],
  ]),
  set: new Set(["a", 1, null]),
  date: new Date(1_700_000_000_123),
  expression: /^a+$/giu,
  error: new Error("what went wrong"),
  undefined: undefined,
  "undefined inside": { a: undefined, b: [undefined, 1] },
  "not a number": [Number.NaN, Number.POSITIVE_INFINITY, -0],
  "a hole": [{ at: new Date(0) }, , 1], // oxlint-disable-line no-sparse-arrays
  "an invalid date": [new Date(Number.NaN)],
  "an error of a class": { error: Object.assign(new TypeError("m", { cause: 1 }), { code: "E" }) },
  "an object of a class": new (class Money {
    cents = 1;
  })(),
  "a URL": { url: new URL("https://example.com") },
  "a Buffer inside": { file: Buffer.from("a") },
  "what has no properties": [new ArrayBuffer(1), Promise.resolve(1), new Headers({ a: "b" }), new Float32Array(0)],
  "a map of a class": new (class Prices extends Map<string, number> {})([["a", 1]]),
  "a function and a symbol inside": [{ f() {}, s: Symbol("s") }, () => 1],
  "a record of LangGraph": [{ lc: 2, type: "undefined" }, JSON.parse('{"__proto__": {"a": 1}}')],
  long: "0123456789abcdef".repeat(20_000),
};

describe.each(kinds)("on %s", (kind) => {
  describe("every value is read as LangGraph's serializer keeps it", () => {
    it.each(Object.keys(values))("%s", async (name) => {
      const value = values[name];
      const checkpointer = saver(kind);
      const put = checkpoint({ channel_values: { it: value, other: 1 }, channel_versions: { it: 1, other: 1 } });
      const at = await checkpointer.put(thread(), put, metadata({ it: value }), { it: 1, other: 1 });
      await checkpointer.putWrites(at, [["it", value]], "task");
      const expected = await kept(value);
      const read = (await checkpointer.getTuple(at))!;
      expect(read.checkpoint.channel_values).toEqual({ it: expected, other: 1 });
      expect(read.pendingWrites).toEqual([["task", "it", expected]]);
      expect((read.metadata as { it?: unknown }).it).toEqual(expected);
      expect(exact(read.checkpoint.channel_values["it"])).toBe(exact(expected));
      const [listed] = await all(checkpointer.list(thread()));
      expect(listed).toEqual(read);
    });
  });

  it("every save keeps a key whose value is undefined, as MemorySaver does", async () => {
    const [checkpointer, memory] = [saver(kind), new MemorySaver()];
    const it = { gone: undefined, items: Array.from({ length: 20 }, (_, n) => ({ n })) };
    let [at, other] = [thread(), thread()];
    for (let version = 1; version <= 6; version++) {
      it.items.push({ n: version });
      const put = checkpoint({ channel_values: { it }, channel_versions: { it: version } });
      at = (await checkpointer.put(at, put, metadata(), { it: version })) as typeof at;
      other = (await memory.put(other, put, metadata())) as typeof other;
      const read = (await checkpointer.getTuple(at))!.checkpoint.channel_values;
      expect(read, `save ${version}`).toStrictEqual((await memory.getTuple(other))!.checkpoint.channel_values);
      expect(Object.keys(read["it"] as object)).toEqual(["gone", "items"]);
    }
  });

  it("a graph's state of such values survives every step", async () => {
    const State = Annotation.Root({
      bytes: Annotation<Uint8Array>,
      map: Annotation<Map<string, unknown>>,
      set: Annotation<Set<unknown>>,
      date: Annotation<Date | string>,
      "ключ é 😀": Annotation<string>,
      steps: Annotation<number>({ reducer: (a, b) => a + b, default: () => 0 }),
    });
    const app = new StateGraph(State)
      .addNode("a", ({ bytes }) => ({ bytes: Uint8Array.of(...bytes, 2), steps: 1 }))
      .addNode("b", ({ map, set }) => ({ map: new Map([...map, ["b", set]]), steps: 1 }))
      .addEdge(START, "a")
      .addEdge("a", "b")
      .compile({ checkpointer: saver(kind) });
    const input = {
      bytes: new Uint8Array([0, 1]),
      map: new Map<string, unknown>([["a", null]]),
      set: new Set(["é"]),
      date: new Date(0),
      "ключ é 😀": "漢字",
    };
    const result = await app.invoke(input, thread());
    const { values: read } = await app.getState(thread());
    // A date becomes a string, because JsonPlusSerializer has no format for dates.
    expect(read).toEqual({ ...result, date: new Date(0).toISOString() });
    expect(read.bytes).toEqual(new Uint8Array([0, 1, 2]));
    expect(read.map).toEqual(new Map<string, unknown>([...input.map, ["b", input.set]]));
  });

  describe("a BigInt, for which LangGraph's serializer stores an error message instead of the value,", () => {
    it("is refused in a checkpoint, naming its channel, and nothing is stored", async () => {
      const checkpointer = saver(kind);
      const put = checkpoint({
        channel_values: { fine: 1, balance: { cents: 10n } },
        channel_versions: { fine: 1, balance: 1 },
      });
      const error = await rejection(checkpointer.put(thread(), put, metadata(), { fine: 1, balance: 1 }));
      expect(error.message).toContain("balance");
      expect(await checkpointer.getTuple(thread())).toBeUndefined();
      expect(await all(checkpointer.list({}))).toEqual([]);
    });

    it("is refused in a write, naming its channel, and none of the writes is stored", async () => {
      const checkpointer = saver(kind);
      const at = await checkpointer.put(thread(), checkpoint(), metadata(), {});
      const error = await rejection(
        checkpointer.putWrites(
          at,
          [
            ["fine", 1],
            ["balance", 10n],
          ],
          "task",
        ),
      );
      expect(error.message).toContain("balance");
      expect((await checkpointer.getTuple(at))!.pendingWrites).toEqual([]);
    });

    it("is refused in metadata", async () => {
      const checkpointer = saver(kind);
      await rejection(checkpointer.put(thread(), checkpoint(), metadata({ cost: 10n }), {}));
      expect(await all(checkpointer.list({}))).toEqual([]);
    });

    it("is no reason to refuse a text that only looks like that message", async () => {
      const checkpointer = saver(kind);
      const text = "[unable to serialize, circular reference is too complex to analyze]";
      const put = checkpoint({ channel_values: { text }, channel_versions: { text: 1 } });
      const at = await checkpointer.put(thread(), put, metadata({ text }), { text: 1 });
      await checkpointer.putWrites(at, [["text", text]], "task");
      const read = (await checkpointer.getTuple(at))!;
      expect(read.checkpoint.channel_values).toEqual({ text });
      expect(read.pendingWrites).toEqual([["task", "text", text]]);
    });
  });

  describe("a value that LangGraph's serializer writes as something else is refused with its path", () => {
    const cycle: Record<string, unknown> = { name: "ada" };
    cycle["boss"] = { team: [cycle] };
    const list: unknown[] = [1];
    list.push(list);
    const map = new Map<string, unknown>();
    map.set("me", { map });
    const frozen = Object.freeze({ cycle });
    const tool = (artifact: unknown) => [new ToolMessage({ content: "found", tool_call_id: "c", artifact })];
    const mine = new Error("mine");
    const throws = () => {
      throw mine;
    };
    const deep = Array.from({ length: 20_000 }).reduce((inner) => ({ inner }), {});
    const refused: Array<[value: unknown, path: string, why: string]> = [
      [cycle, "boss.team[0] in ", "it contains itself"],
      [list, "[1] in ", "it contains itself"],
      [map, "[0].map in ", "it contains itself"],
      [frozen, "cycle.boss.team[0] in ", "it contains itself"],
      [tool(cycle), "[0].artifact.boss.team[0] in ", "it contains itself"],
      [new Float32Array([1, 2]), "", "a Float32Array is not JSON data"],
      [{ docs: [{ embedding: new Float32Array([1]) }] }, "docs[0].embedding in ", "a Float32Array is not JSON data"],
      [tool(new Int16Array(1)), "[0].artifact in ", "a Int16Array is not JSON data"],
      [{ cost: { cents: 10n } }, "cost.cents in ", "a BigInt is not JSON data"],
      [[new Set([1n])], "[0][0] in ", "a BigInt is not JSON data"],
      [tool({ "a key": 1n }), '[0].artifact["a key"] in ', "a BigInt is not JSON data"],
      [{ user: { toJSON: throws } }, "user in ", "its toJSON threw Error: mine"],
      [
        { user: Object.defineProperty({}, "mail", { enumerable: true, get: throws }) },
        "user.mail in ",
        "threw Error: mine",
      ],
      [deep, "inner.inner.inner", "nested deeper than"],
    ];

    it.each(refused.map(([, path, why], index) => [`${path}it: ${why}`, index] as const))("%s", async (_, index) => {
      const [value, path, why] = refused[index]!;
      const checkpointer = saver(kind);
      // The first save comes before the saver knows LangGraph's serializer, the second one after.
      for (const id of [uuid6(0), uuid6(1)]) {
        const put = checkpoint({ id, channel_values: { it: value }, channel_versions: { it: 1 } });
        const error = await rejection(checkpointer.put(thread(), put, metadata(), { it: 1 }));
        expect(error).toMatchObject({ name: "ForkpointError", code: "INVALID_ARGUMENT" });
        expect(error.message).toContain(path);
        expect(error.message).toContain('channel "it" cannot be stored: ');
        expect(error.message).toContain(why);
        if (why.includes("mine")) expect(error.cause).toBe(mine);
      }
      const at = await checkpointer.put(thread(), checkpoint(), metadata(), {});
      const error = await rejection(checkpointer.putWrites(at, [["it", value]], "task"));
      expect(error.message).toContain(path);
      expect(error.message).toContain('the write to channel "it" cannot be stored: ');
      expect((await rejection(checkpointer.put(at, checkpoint(), metadata({ it: value }), {}))).message).toContain(
        "the metadata cannot be stored: ",
      );
    });

    it("but not a value that only looks like one", async () => {
      const shared = { at: new Date(0) };
      const error = Object.assign(new Error("m"), { request: cycle, bytes: new Float32Array(1) });
      for (const value of [["[Circular]", shared, shared], { 0: shared, 1: shared }, { error, text: "[Circular]" }]) {
        const checkpointer = saver(kind);
        for (const id of [uuid6(0), uuid6(1)]) {
          const put = checkpoint({ id, channel_values: { it: value }, channel_versions: { it: 1 } });
          const at = await checkpointer.put(thread(), put, metadata(), { it: 1 });
          const read = (await checkpointer.getTuple(at))!;
          expect(read.checkpoint.channel_values).toEqual({ it: await kept(value) });
        }
      }
    });
  });

  describe("channels", () => {
    it("a checkpoint without any is kept", async () => {
      const checkpointer = saver(kind);
      const put = checkpoint();
      const at = await checkpointer.put(thread(), put, metadata(), {});
      expect(await checkpointer.getTuple(at)).toEqual({
        config: at,
        checkpoint: put,
        metadata: metadata(),
        pendingWrites: [],
      });
    });

    it("one that is not new is read from the parent, or from where its version was stored", async () => {
      const checkpointer = saver(kind);
      const first = checkpoint({ channel_values: { a: 1, b: "b" }, channel_versions: { a: 1, b: 1 } });
      let at = await checkpointer.put(thread(), first, metadata(), { a: 1, b: 1 });
      for (let version = 2; version < 10; version++) {
        const next = checkpoint({ channel_values: { a: version, b: "b" }, channel_versions: { a: version, b: 1 } });
        at = await checkpointer.put(at, next, metadata(), { a: version });
        expect((await checkpointer.getTuple(at))!.checkpoint).toEqual(next);
      }
      expect((await all(checkpointer.list(thread()))).map((tuple) => tuple.checkpoint.channel_values)).toEqual(
        [9, 8, 7, 6, 5, 4, 3, 2, 1].map((a) => ({ a, b: "b" })),
      );
    });

    it("one that is new and has no value is empty from there on, and not before", async () => {
      const checkpointer = saver(kind);
      const first = checkpoint({ channel_values: { a: 1, b: 2 }, channel_versions: { a: 1, b: 1 } });
      const before = await checkpointer.put(thread(), first, metadata(), { a: 1, b: 1 });
      const second = checkpoint({ channel_values: { a: 1 }, channel_versions: { a: 1, b: 2 } });
      const without = await checkpointer.put(before, second, metadata(), { b: 2 });
      const third = checkpoint({ channel_values: { a: 2 }, channel_versions: { a: 2, b: 2 } });
      const after = await checkpointer.put(without, third, metadata(), { a: 2 });
      for (const [config, expected] of [
        [before, first],
        [without, second],
        [after, third],
      ] as const) {
        expect((await checkpointer.getTuple(config))!.checkpoint).toEqual(expected);
      }
    });

    it("their versions, and what was seen of them, are kept as they are", async () => {
      const checkpointer = saver(kind);
      const put = checkpoint({
        channel_values: { a: 1 },
        channel_versions: { a: 7, "branch:to:b": 3, "ё.é": 1 },
        versions_seen: { __input__: {}, "node.with.dots": { a: 6, "branch:to:b": 2 }, узел: {} },
      });
      const at = await checkpointer.put(thread(), put, metadata(), { a: 7 });
      expect((await checkpointer.getTuple(at))!.checkpoint).toEqual(put);
    });

    it("versions may be texts, as other savers and LangGraph in Python count them", async () => {
      const checkpointer = saver(kind);
      const version = `${"1".padStart(32, "0")}.0123456789`;
      const put = checkpoint({ channel_values: { a: 1 }, channel_versions: { a: version } });
      const at = await checkpointer.put(thread(), put, metadata(), { a: version });
      expect((await checkpointer.getTuple(at))!.checkpoint).toEqual(put);
    });

    it.each(["__proto__", "constructor", "toString", "", "a.b", "a\u0000b", "'; DROP TABLE x --"])(
      "one may be called %j",
      async (name) => {
        const checkpointer = saver(kind);
        const record = (value: unknown) => Object.fromEntries([[name, value]]);
        const put = checkpoint({ channel_values: record("v"), channel_versions: record(1) as Record<string, number> });
        const at = await checkpointer.put(thread(), put, metadata(), record(1) as Record<string, number>);
        await checkpointer.putWrites(at, [[name, "w"]], "task");
        const read = (await checkpointer.getTuple(at))!;
        expect(Object.entries(read.checkpoint.channel_values)).toEqual([[name, "v"]]);
        // LangGraph's serializer writes the versions, and loses a key named "__proto__".
        if (name !== "__proto__") expect(Object.entries(read.checkpoint.channel_versions)).toEqual([[name, 1]]);
        expect(read.pendingWrites).toEqual([["task", name, "w"]]);
        expect(({} as Record<string, unknown>)["v"]).toBeUndefined();
      },
    );

    it("a checkpoint that is put again is what it was put as last", async () => {
      const checkpointer = saver(kind);
      const first = checkpoint({ channel_values: { a: 1 }, channel_versions: { a: 1 } });
      await checkpointer.put(thread(), first, metadata({ step: 1 }), { a: 1 });
      const again = { ...first, channel_values: { a: 2 }, channel_versions: { a: 2 } };
      const at = await checkpointer.put(thread(), again, metadata({ step: 2 }), { a: 2 });
      expect(await checkpointer.getTuple(at)).toMatchObject({ checkpoint: again, metadata: { step: 2 } });
      expect(await all(checkpointer.list(thread()))).toHaveLength(1);
    });
  });

  it("does not see what becomes of a checkpoint afterwards, nor does one reader see what another does to it", async () => {
    const checkpointer = saver(kind);
    const list = ["one"];
    const put = checkpoint({ channel_values: { list }, channel_versions: { list: 1 } });
    const tags = { tags: ["x"] };
    const at = await checkpointer.put(thread(), put, metadata(tags), { list: 1 });
    list.push("two");
    tags.tags.push("y");
    put.channel_versions["list"] = 9;
    const first = (await checkpointer.getTuple(at))!;
    expect(first.checkpoint).toMatchObject({ channel_values: { list: ["one"] }, channel_versions: { list: 1 } });
    expect(first.metadata).toMatchObject({ tags: ["x"] });
    (first.checkpoint.channel_values["list"] as string[]).push("three");
    (first.metadata as unknown as typeof tags).tags.push("z");
    const second = (await checkpointer.getTuple(at))!;
    expect(second.checkpoint.channel_values).toEqual({ list: ["one"] });
    expect(second.metadata).toMatchObject({ tags: ["x"] });
  });

  describe("a serializer of one's own", () => {
    /** A serializer that keeps its values in memory and can read only its own bytes. */
    function remembering() {
      const made = new Map<string, unknown>();
      const key = (type: string, bytes: Uint8Array) => `${type}:${Buffer.from(bytes).toString("hex")}`;
      const read: string[] = [];
      const serde: SerializerProtocol = {
        async dumpsTyped(value) {
          const type = Array.isArray(value) ? "x-list/é" : value instanceof Uint8Array ? "bytes" : "x-other";
          // The bytes contain every possible byte value. They do not contain the serialised value.
          const bytes =
            value === null ? new Uint8Array(0) : Uint8Array.from({ length: 257 }, (_, i) => (i * made.size) % 256);
          made.set(key(type, bytes), structuredClone(value));
          return [type, bytes];
        },
        async loadsTyped(type, data) {
          expect(data).toBeInstanceOf(Uint8Array);
          const which = key(type, data as Uint8Array);
          read.push(which);
          if (!made.has(which)) throw new Error(`not what was given: ${which}`);
          return structuredClone(made.get(which));
        },
      };
      return { serde, made, read };
    }

    it("gets its types and its bytes back as they were", async () => {
      const { serde, read } = remembering();
      const checkpointer = saver(kind, { serde });
      const bytes = new Uint8Array([0, 128, 255]);
      const channels = { list: [1], text: "t", none: null, bytes };
      const versions = { list: 1, text: 1, none: 1, bytes: 1 };
      const put = checkpoint({ channel_values: channels, channel_versions: versions });
      const at = await checkpointer.put(thread(), put, metadata(), versions);
      await checkpointer.putWrites(
        at,
        [
          ["list", [2]],
          ["bytes", bytes],
        ],
        "task",
      );
      const tuple = (await checkpointer.getTuple(at))!;
      expect(tuple.checkpoint.channel_values).toEqual(channels);
      expect(tuple.pendingWrites).toEqual([
        ["task", "list", [2]],
        ["task", "bytes", bytes],
      ]);
      expect(read.some((which) => which.startsWith("x-list/é:"))).toBe(true);
      expect(checkpointer.serde).toBe(serde);
    });

    it("that fails makes the call fail, with its own error or because of it, and stores nothing", async () => {
      const mine = new RangeError("mine");
      const serde: SerializerProtocol = {
        dumpsTyped: () => Promise.reject(mine),
        loadsTyped: async () => undefined,
      };
      const fails = async (promise: Promise<unknown>) => {
        const error = await rejection(promise);
        expect([error, error.cause]).toContain(mine);
      };
      const checkpointer = saver(kind, { serde });
      const put = checkpoint({ channel_values: { a: 1 }, channel_versions: { a: 1 } });
      await fails(checkpointer.put(thread(), put, metadata(), { a: 1 }));
      const at = thread("thread", { checkpoint_ns: "", checkpoint_id: put.id });
      await fails(checkpointer.putWrites(at, [["a", 1]], "task"));
      expect(await all(checkpointer.list({}))).toEqual([]);
    });
  });

  it("PostgresSaver: metadata may hold NUL, and anything else that JSON may", async () => {
    const checkpointer = saver(kind);
    const extra = { note: "a\u0000b", "key\u0000": 1, deep: { list: [{ é: null }] } };
    const at = await checkpointer.put(thread(), checkpoint(), metadata(extra), {});
    expect((await checkpointer.getTuple(at))!.metadata).toEqual(metadata(extra));
  });

  it("v < 4: sends that wait in the parent become a channel of the child, in the same namespace only", async () => {
    const checkpointer = saver(kind);
    const old = (id: string) => ({ ...checkpoint(), v: 3, id });
    for (const checkpoint_ns of ["", "sub"]) {
      const ids = [uuid6(0), uuid6(1)];
      const parent = await checkpointer.put(thread("thread", { checkpoint_ns }), old(ids[0]!), metadata(), {});
      await checkpointer.putWrites(parent, [["__pregel_tasks", `send in ${checkpoint_ns || "root"}`]], "task");
      const child = await checkpointer.put(parent, old(ids[1]!), metadata(), {});
      const { checkpoint: read } = (await checkpointer.getTuple(child))!;
      expect(read.channel_values["__pregel_tasks"]).toEqual([`send in ${checkpoint_ns || "root"}`]);
      expect(read.channel_versions["__pregel_tasks"]).toBeDefined();
    }
  });
});

it("bytes and texts are the same after the file was closed and opened again", async () => {
  const target = place("sqlite");
  const first = open(target);
  const channels = Object.fromEntries(Object.keys(values).map((name) => [name, 1]));
  const put = checkpoint({ channel_values: values, channel_versions: channels });
  const at = await first.put(thread(), put, metadata(), channels);
  await first.close();
  const read = (await open(target).getTuple(at))!.checkpoint.channel_values;
  for (const [name, value] of Object.entries(values)) expect(read[name], name).toEqual(await kept(value));
});

describe.each(kinds)("a parent that is gone, over %s", (kind) => {
  const put = (
    store: ReturnType<typeof saver>,
    parent: string | undefined,
    id: string,
    fields: object,
    versions = {},
  ) =>
    store.put(
      thread("thread", { checkpoint_ns: "", ...(parent !== undefined && { checkpoint_id: parent }) }),
      checkpoint({ id, channel_versions: { fast: 2, slow: 1 }, ...fields }),
      metadata(),
      versions,
    );

  // A graph goes on in memory after its thread was deleted, or after its database was restored.
  it("a checkpoint keeps the channels that it does not change", async () => {
    const store = saver(kind);
    await put(store, undefined, "01", { channel_values: { fast: "a", slow: "mine" } }, { fast: 1, slow: 1 });
    await store.deleteThread("thread");
    await put(store, "01", "02", { channel_values: { fast: "b", slow: "mine" } }, { fast: 2 });
    const found = await store.getTuple(thread());
    expect(found!.checkpoint.channel_values).toEqual({ fast: "b", slow: "mine" });
  });

  it("a checkpoint takes no value of another history with the same version", async () => {
    const store = saver(kind);
    await put(store, undefined, "01", { channel_values: { fast: "a", slow: "mine" } }, { fast: 1, slow: 1 });
    await store.deleteThread("thread");
    await put(store, undefined, "02", { channel_values: { fast: "x", slow: "theirs" } }, { fast: 1, slow: 1 });
    await put(store, "01", "03", { channel_values: { fast: "b", slow: "mine" } }, { fast: 2 });
    const found = await store.getTuple(thread());
    expect(found!.checkpoint.channel_values).toEqual({ fast: "b", slow: "mine" });
  });
});
