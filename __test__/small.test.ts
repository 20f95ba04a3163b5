// A small value that JSON can represent exactly is stored as JSON. Any other value is stored by structured clone. Reads
// must not show a difference.
import { join } from "node:path";
import { type Checkpoint, CheckpointStore } from "forkpoint";
import { expect, test } from "vitest";
import { expectSame, failure, folder, holding, open } from "./helpers.js";

/** Text that is long enough to force structured clone for the whole value. */
const padding = "long ".repeat(1_000);

const shared = { list: [1] };
const circular: Record<string, unknown> = { name: "a" };
circular["self"] = circular;
const named = Object.assign([1, 2], { name: "of the list" });
// oxlint-disable-next-line no-sparse-arrays
const holes = [1, , 3, ,];
const getter = Object.defineProperty({ plain: 1 }, "asked", { enumerable: true, get: () => ({ of: "a getter" }) });
const setter = Object.defineProperty({ plain: 1 }, "told", { enumerable: true, set: () => {} });
const hidden = Object.defineProperty({ plain: 1 }, "hidden", { value: 2 });
class Named {
  name = "an instance";
}

const values: Array<[what: string, value: unknown]> = [
  ["nothing", null],
  ["undefined", undefined],
  ["an undefined field", { a: undefined, b: 1 }],
  ["an undefined element", [undefined, 1]],
  ["a text", "text"],
  ["an empty text", ""],
  ["text of all kinds", 'é"\\\n\u2028\u0000🜁 e\u0301 \u{202e}'],
  ["halves of surrogate pairs", ["\ud800", "\udc00a", { "\ud800": 1 }]],
  ["numbers", [0, 1, -1, 0.1, 1e21, 1e-7, 5e-324, Number.MAX_VALUE, 2 ** 53, 2 ** 53 + 2, -(2 ** 31)]],
  ["-0", [-0, { zero: -0 }]],
  ["numbers that JSON lacks", [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]],
  ["a BigInt", 2n ** 70n],
  ["booleans", [true, false]],
  ["empty ones", [{}, [], [[]], { "": {} }]],
  ["nested ones", { a: [{ b: [{ c: null }] }] }],
  ["keys that look like numbers", { 10: "a", 9: "b", z: "c", "-1": "d", "01": "e" }],
  ["keys of an object's own", { constructor: 1, toString: 2, hasOwnProperty: 3, length: 4 }],
  ["a key __proto__", JSON.parse('{"__proto__":{"polluted":true},"a":1}')],
  ["a key toJSON", { toJSON: "no function" }],
  ["a toJSON", { toJSON: () => ({ of: "toJSON" }) }],
  ["an object without a prototype", Object.assign(Object.create(null), { a: 1 })],
  ["an instance", new Named()],
  ["one object twice", [shared, shared, shared.list]],
  ["a circle", circular],
  ["holes", holes],
  ["a list with a name", named],
  ["a list of a class", class extends Array<number> {}.of(1, 2, 3)],
  ["a getter", getter],
  ["a setter", setter],
  ["a hidden property", hidden],
  ["a symbol key", { [Symbol("s")]: 1, a: 1 }],
  ["a date", new Date(0)],
  ["a Map and a Set", [new Map([["a", { b: 1 }]]), new Set([1])]],
  ["bytes", [new Uint8Array([1, 2]), Buffer.from("ab")]],
  ["an error", new RangeError("of a value")],
  ["a boxed number", Object(1)],
  ["a proxy", new Proxy({ a: 1 }, {})],
  ["256 values", Array.from({ length: 256 }, (_, i) => i)],
  ["1,000 small objects", Array.from({ length: 1_000 }, (_, i) => ({ i }))],
  ["2,048 characters", "x".repeat(2_048)],
  ["2,049 characters", "x".repeat(2_049)],
  ["4,096 characters of two bytes", "é".repeat(4_096)],
];

const saved = async (store: CheckpointStore, checkpoint: Checkpoint) => {
  await store.save(checkpoint);
  return (await store.get(checkpoint.id))!;
};

test.each(values)("%s", async (_, value) => {
  const store = open("memory:");
  const small = await saved(store, { ...holding({ value }), nodeResults: { node: { value } } as never });
  const large = await saved(store, {
    ...holding({ value, padding }),
    nodeResults: { node: { value }, padding } as never,
  });
  const of = ({ state, nodeResults }: Checkpoint) => [
    (state.scratch as { value: unknown }).value,
    (nodeResults as unknown as Record<string, { value: unknown }>)["node"]!.value,
  ];
  expectSame(of(small), of(large));
  for (const [index, each] of of(small).entries()) {
    if (typeof each !== "object" || each === null) continue;
    expect(Reflect.ownKeys(each)).toEqual(Reflect.ownKeys(of(large)[index] as object));
    expect(Object.getPrototypeOf(each)).toBe(Object.getPrototypeOf(of(large)[index]));
  }
});

test("the stateSize of a small state is its size as JSON", async () => {
  const store = open("memory:");
  const one = holding({ text: "ü" });
  await store.save(one);
  const [listed] = await store.list(one.graphId);
  expect(listed!.stateSize).toBe(Buffer.byteLength(JSON.stringify(one.state)));
});

test("what is refused in a large value is refused in a small one", async () => {
  const store = open("memory:");
  for (const scratch of [{ p: Promise.resolve() }, { p: Promise.resolve(), padding }]) {
    const error = await failure(store.save(holding(scratch)), "INVALID_ARGUMENT");
    expect(error.message).toContain("state.scratch.p");
  }
});

test("a store of texts, and one with a serializer of the user's, read what is small", async () => {
  const serializer = {
    name: "mine",
    serialize: (value: unknown) => Buffer.from(JSON.stringify(value)),
    deserialize: (bytes: Uint8Array) => JSON.parse(Buffer.from(bytes).toString()) as object,
  };
  const path = join(folder(), "a.db");
  const one = holding({ small: true });
  const store = new CheckpointStore(path);
  await store.save(one);
  await store.close();
  for (const option of ["json", serializer] as const) {
    const other = new CheckpointStore(path, { serializer: option });
    expect(await other.get(one.id)).toEqual(one);
    const run = await other.fork(one.id, { scratch: { patched: 1 } } as never);
    expect((await other.latest(run))!.state.scratch).toEqual({ small: true, patched: 1 });
    expect((await other.latest(run))!.nodeResults).toEqual(one.nodeResults);
    await other.close();
  }
});
