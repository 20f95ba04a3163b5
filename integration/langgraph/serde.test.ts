// Plain data and known messages bypass LangGraph's serializer. Their bytes must equal those that the serializer writes.
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { Send } from "@langchain/langgraph";
import { DeltaSnapshot, MemorySaver } from "@langchain/langgraph-checkpoint";
import { describe, expect, it } from "vitest";

// The package does not export these modules, so the test imports them by their paths.
const path = (name: string) =>
  new URL(`node_modules/forkpoint/dist/inner/contracts/langgraph/${name}.js`, import.meta.url).href;
type Bytes = Uint8Array | { readonly whole: Uint8Array };
const { toJson } = (await import(path("json"))) as { toJson(value: unknown, serde: object): Bytes | undefined };
const { dump, load, trust } = (await import(path("serde"))) as {
  dump(serde: object, value: unknown, what: string): Promise<{ tag: string; bytes: Bytes }>;
  load(serde: object, typed: { tag: string; bytes: Uint8Array }): Promise<unknown>;
  trust(serde: object): void;
};
const { serde } = new MemorySaver();
trust(serde);
// `trust` checks once, in the background, that the serializer writes plain data as JSON.
await new Promise((resolve) => setTimeout(resolve, 0));

const whole = (bytes: Bytes) => ("whole" in bytes ? bytes.whole : bytes);
const text = (bytes: Bytes | undefined) => bytes && Buffer.from(whole(bytes)).toString();

/**
 * Returns true if the value bypasses the serializer. In both cases the bytes and the value that is read back must equal
 * those of the serializer.
 */
async function checked(value: unknown): Promise<boolean> {
  const [tag, bytes] = await serde.dumpsTyped(value);
  const mine = toJson(value, serde);
  if (mine !== undefined) expect(["json", text(mine)]).toEqual([tag, text(bytes)]);
  if (/^"\[unable|\[Circular\]/.test(text(bytes)!)) {
    await expect(dump(serde, value, "it")).rejects.toThrow(/ in it cannot be stored: (it contains itself|a BigInt)/);
  } else {
    const typed = await dump(serde, value, "it");
    expect([typed.tag, text(typed.bytes)]).toEqual([tag, text(bytes)]);
    expect(await load(serde, { tag: typed.tag, bytes: whole(typed.bytes) })).toEqual(
      await serde.loadsTyped(tag, bytes),
    );
  }
  return mine !== undefined;
}

const cyclic: Record<string, unknown> = { a: 1 };
cyclic["self"] = cyclic;
const knot: unknown[] = [{ a: 1 }];
knot.push({ knot });
const shared = { x: [1, 2] };

const plain: Array<[string, unknown]> = [
  ["null", null],
  ["a text", 'é "quoted" \u2028 \u0000 \ud800 🜁'],
  ["numbers", [0, -0, 1.5, 1e21, Number.NaN, Infinity, -1]],
  ["nested", { a: [{ b: { c: [] } }, {}], "": null, "a.b": true }],
  ["a list of objects", [{ a: 1 }, { b: [2] }, []]],
  ["a list of objects and others", [{ a: 1 }, "text", 7, null, [true]]],
  ["the same object twice", [shared, shared, { shared }]],
  ["an object without a prototype", Object.assign(Object.create(null), { a: 1 })],
  ["undefined in an item", [{ a: undefined }, { b: [undefined] }]],
  ["a Send of plain data in a list", [{ lg_name: "Send", node: "n", args: { a: 1 }, more: 1 }]],
  ["a Date in an item", [{ at: new Date(0) }]],
  ["a large list", Array.from({ length: 2_000 }, (_, i) => ({ i, text: "x".repeat(i % 50) }))],
];

const others: Array<[string, unknown]> = [
  ["undefined", undefined],
  ["undefined in an object", { a: undefined }],
  ["a hole", [{ a: 1 }, , { b: 1 }]], // oxlint-disable-line no-sparse-arrays
  ["a function", { f() {} }],
  ["a function in a list", [{ f() {} }, { a: 1 }]],
  ["a symbol", [{ s: Symbol("s") }]],
  ["a Date", { at: new Date(0) }],
  ["a Map, a Set and a RegExp", { map: new Map([["a", 1]]), set: new Set([1]), regexp: /a/g }],
  ["an Error in a list", [new Error("broken")]],
  ["bytes in a list", [{ bytes: new Uint8Array([1, 2]) }]],
  ["a snapshot", new DeltaSnapshot([{ a: 1 }])],
  ["a Send", [new Send("n", { a: 1 })]],
  ["a Send among plain data", { it: { lg_name: "Send", node: "n", args: 1 } }],
  [
    "an object of a class",
    [
      new (class Thing {
        a = 1;
      })(),
    ],
  ],
  ["its own toJSON", [{ a: 1, toJSON: () => ({ b: 2 }) }]],
  ["a list with its own toJSON", [Object.assign([1], { toJSON: () => "list" })]],
  ["a list of a class", [new (class extends Array {})()]],
  ["a cycle", cyclic],
  ["a cycle in an item", [cyclic]],
  ["a cycle through the list", knot],
  ["a BigInt", [{ n: 1n }]],
];

const messages = () => [
  new HumanMessage("hello"),
  new HumanMessage({
    content: [
      { type: "text", text: "é" },
      { type: "image_url", image_url: { url: "data:" } },
    ],
    id: "1",
    name: "me",
  }),
  new AIMessage({ content: "", tool_calls: [{ id: "c", name: "search", args: { q: "cats", n: [1, null] } }] }),
  new ToolMessage({ content: "found", tool_call_id: "c", artifact: { deep: { list: [1, { a: undefined }] } } }),
];

describe("past the serializer", () => {
  it.each(plain)("%s", async (_, value) => {
    expect(await checked(value)).toBe(true);
    expect(await checked(value)).toBe(true);
  });

  it("messages", async () => {
    const list = messages();
    expect(await checked(list)).toBe(true);
    expect(await checked([...list, ...messages()])).toBe(true);
  });
});

it.each(others)("through the serializer: %s", async (_, value) => {
  await checked(value);
  expect(toJson(value, serde)).toBeUndefined();
});

describe("a list whose items were changed in place is what it is now", () => {
  it("plain data", async () => {
    const item: Record<string, any> = { text: "a", list: [1, { deep: "x" }], n: 0 };
    const list: unknown[] = [{ first: true }, item];
    const changes: Array<() => unknown> = [
      () => (item["text"] = "b"),
      () => (item["n"] = -0),
      () => (item["list"][1].deep = "y"),
      () => item["list"].push(2),
      () => item["list"].pop(),
      () => (item["list"][1] = [{ deep: "y" }]),
      () => (item["list"][1] = { deep: "y" }),
      () => (item["added"] = null),
      () => delete item["text"],
      () => (item["text"] = "b"),
      () => (item["list"] = {}),
      () => (item["list"] = []),
      () => list.push(list.shift()),
      () => list.splice(1, 1),
      () => Object.setPrototypeOf(item, null),
    ];
    for (const change of changes) {
      await checked(list);
      change();
      expect(await checked(list)).toBe(true);
    }
    item["when"] = new Date(0);
    await checked(list);
    Object.setPrototypeOf(item, { toJSON: () => "other" });
    delete item["when"];
    expect(await checked(list)).toBe(false);
  });

  it("messages", async () => {
    const list = messages();
    await checked(list);
    list[0]!.content = "changed";
    expect(await checked(list)).toBe(true);
    list[2]!.additional_kwargs["more"] = { deep: [1] };
    expect(await checked(list)).toBe(true);
    (list[2]!.additional_kwargs["more"] as { deep: number[] }).deep.push(2);
    expect(await checked(list)).toBe(true);
    list[3]!.id = "late";
    (list[3] as ToolMessage).artifact = new Map();
    expect(await checked(list)).toBe(false);
  });
});

/** Two messages of subclasses. Each has a private field, which the message's JSON shows. */
class Rated extends AIMessage {
  #rating = 0;
  override get lc_attributes() {
    return { rating: this.#rating };
  }
  rate(rating: number) {
    this.#rating = rating;
  }
}
class Named extends HumanMessage {
  #rating = 0;
  constructor() {
    super({ content: "named", name: "field" });
    delete this.name;
  }
  rate(rating: number) {
    this.#rating = rating;
  }
  static {
    // A field of the class above hides a getter that is written in the class itself.
    const get = function (this: Named) {
      return `${this.#rating}`;
    };
    Object.defineProperty(this.prototype, "name", { get, set() {}, configurable: true });
  }
}

it.each([
  ["more than the fields", () => new Rated("rated")],
  ["a field", () => new Named()],
])("a message of a subclass with a private field in place of %s is what it is now", async (_, make) => {
  const rated = make();
  const list = [...Array.from({ length: 20 }, (__, n) => new HumanMessage(`${n}`)), rated];
  const seen = new Set<string>();
  for (let rating = 0; rating < 8; rating++) {
    rated.rate(rating);
    const { bytes } = await dump(serde, list, "it");
    expect(text(bytes)).toBe(text((await serde.dumpsTyped(list))[1]));
    seen.add(text(bytes)!);
  }
  expect(seen.size).toBe(8);
});

it("a key whose value is undefined is kept in every save", async () => {
  const items = Array.from({ length: 20 }, (_, n) => ({ n }));
  const value = { gone: undefined, items };
  let saves = 0;
  for (let save = 0; save < 6; save++) {
    await checked(value);
    const { tag, bytes } = await dump(serde, value, "it");
    const read = await load(serde, { tag, bytes: whole(bytes) });
    expect(read).toStrictEqual({ gone: undefined, items });
    saves += 1;
    items.push({ n: save });
  }
  expect(saves).toBe(6);
});

it("a toJSON that a Date gets later is called", async () => {
  for (const name of ["toJSON", "toISOString"]) {
    for (const enumerable of [true, false]) {
      const at = new Date(0);
      const list = Array.from({ length: 20 }, (_, n) => ({ n, at: n === 7 ? at : new Date(n) }));
      for (let save = 0; save < 4; save++) expect(await checked(list)).toBe(true);
      Object.defineProperty(at, name, { value: () => "own", enumerable });
      await checked(list);
      expect(text((await dump(serde, list, "it")).bytes)).toContain('{"n":7,"at":"own"}');
    }
  }
});

it("of a chat that grows, only new and changed messages are serialised", async () => {
  let dumped = 0;
  const { serde: own } = new MemorySaver();
  const inner = own as typeof own & { _dumps(value: unknown): Uint8Array };
  const dumps = inner._dumps.bind(inner);
  inner._dumps = (value) => {
    dumped += 1;
    return dumps(value);
  };
  trust(own);
  await new Promise((resolve) => setTimeout(resolve, 0));
  let chat = Array.from(
    { length: 300 },
    (_, n) => new AIMessage({ content: `${n}: ${"text ".repeat(60)}`, id: `${n}` }),
  );
  const same = async () => {
    const [, bytes] = await serde.dumpsTyped(chat);
    expect(text(toJson(chat, own))).toBe(text(bytes));
  };
  await same();
  const changes: Array<() => void> = [
    () => (chat = [...chat, new AIMessage("new")]),
    () => (chat = [...chat.slice(1), new AIMessage("window")]),
    () => (chat[100]!.content = "changed"),
    () => (chat[0]!.response_metadata = { finish_reason: "stop" }),
  ];
  for (const change of changes) {
    change();
    dumped = 0;
    await same();
    expect(dumped).toBe(1);
  }
});

it("a serializer of LangGraph's that writes plain data otherwise is asked for everything", async () => {
  const later = {
    dumpsTyped: async (value: unknown): Promise<[string, Uint8Array]> => [
      "json",
      Buffer.from(JSON.stringify({ later: value ?? null })),
    ],
    loadsTyped: async (_: string, bytes: Uint8Array) => JSON.parse(Buffer.from(bytes).toString()).later,
  };
  trust(later);
  await new Promise((resolve) => setTimeout(resolve, 0));
  const { bytes } = await dump(later, { a: 1 }, "it");
  expect(text(bytes)).toBe('{"later":{"a":1}}');
  expect(await load(later, { tag: "json", bytes: whole(bytes) })).toEqual({ a: 1 });
});
