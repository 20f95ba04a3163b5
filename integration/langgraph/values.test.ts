// A state reads back exactly as the serializer stores it.
import { MemorySaver, uuid6 } from "@langchain/langgraph-checkpoint";
import { ToolMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { all, checkpoint, kinds, metadata, rejection, saver, thread } from "./helpers.js";

/** LangGraph's own serializer, which it does not export. */
const plus = new MemorySaver().serde;

/** Serialises and deserialises a value, and returns the result. */
async function kept(value: unknown): Promise<unknown> {
  return plus.loadsTyped(...(await plus.dumpsTyped(value)));
}

/** The JSON text of a value. Comparing it shows differences that `toEqual` ignores. */
const exact = (value: unknown) => JSON.stringify(value);

/** What the conformance suite does not have. */
const values: Record<string, unknown> = {
  text: "line\nline\ttab \u0000 NUL \u2028 é 漢字 😀 \u202E",
  "a lone surrogate": "\uD800",
  record: { a: { b: { c: {} } }, "": 1, "a.b": 2, constructor: "no", ключ: "значение" },
  map: new Map<unknown, unknown>([
    ["a", new Set([1, 2])],
    [3, new Map([["é", new Uint8Array([1])]])],
  ]),
  date: new Date(1_700_000_000_123),
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
      const unable = "[unable to serialize, circular reference is too complex to analyze]";
      const error = Object.assign(new Error("m"), { request: cycle, bytes: new Float32Array(1) });
      for (const value of [
        ["[Circular]", shared, shared],
        { 0: shared, 1: shared },
        { error, text: "[Circular]" },
        unable,
      ]) {
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

  it("channels may have any name", async () => {
    for (const name of ["__proto__", "constructor", "toString", "", "a.b", "a\u0000b", "'; DROP TABLE x --"]) {
      const checkpointer = saver(kind);
      const record = <T>(value: T): Record<string, T> => Object.fromEntries([[name, value]]);
      const put = checkpoint({ channel_values: record("v"), channel_versions: record(1) });
      const at = await checkpointer.put(thread(), put, metadata(), record(1));
      await checkpointer.putWrites(at, [[name, "w"]], "task");
      const read = (await checkpointer.getTuple(at))!;
      expect(Object.entries(read.checkpoint.channel_values)).toEqual([[name, "v"]]);
      // LangGraph's serializer writes the versions, and loses a key named "__proto__".
      if (name !== "__proto__") expect(Object.entries(read.checkpoint.channel_versions)).toEqual([[name, 1]]);
      expect(read.pendingWrites).toEqual([["task", name, "w"]]);
      expect(({} as Record<string, unknown>)["v"]).toBeUndefined();
    }
  });
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
