// A save serialises only what is new. differential.test.ts shows that no mutation is missed.
// @module-tag slow
import { DefaultDeserializer, DefaultSerializer, deserialize, serialize, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { type Bytes, Pieces, whole } from "../../ts/bridge/bytes.js";
import { chunkOf } from "../../ts/bridge/chunk.js";
import { ListWriter, readLists } from "../../ts/bridge/incremental/list-format.js";
import { JsonWriter } from "../../ts/bridge/incremental/json.js";
import { evict, keptBytes, limitKeptBytes } from "../../ts/bridge/incremental/memory.js";
import { toJsonForm } from "../../ts/bridge/json-form/to-json-form.js";
import { Mutations } from "./mutations.js";

const listWriter = () => new ListWriter(() => new DefaultSerializer());
const jsonWriter = () => new JsonWriter({ render: (item) => Buffer.from(JSON.stringify(item)) });

/** Reads what a list writer has written. */
const back = (bytes: Bytes): unknown => readLists(new DefaultDeserializer(whole(bytes)));

// Only V8 writes a BigInt, so the tests can count how many messages are written.
const message = (n: number) => ({ role: "user", content: `message ${n} `.repeat(50), at: n, tokens: BigInt(n) });
const messages = (length: number) => Array.from({ length }, (_, n) => message(n));

/** The JSON form of a value. It shows the order of keys, and what is shared. */
const formOf = (value: unknown) => JSON.stringify(toJsonForm(value));

/** Saves a state until its lists are kept. */
function warm(writer: { serialize(state: unknown): Bytes | undefined }, state: unknown): void {
  expect(writer.serialize(state)).toBe(undefined);
  expect(writer.serialize(state)).not.toBe(undefined);
}

/** Counts how often a message is serialised. */
function counting(): { writer: ListWriter; written: () => number } {
  let count = 0;
  class Counting extends DefaultSerializer {
    override writeValue(value: unknown): boolean {
      // What is beside the lists has no BigInt.
      if (Object.values(value as object).some((each) => typeof each === "bigint")) count += 1;
      return super.writeValue(value);
    }
  }
  const writer = new ListWriter(() => new Counting());
  const written = () => {
    const before = count;
    count = 0;
    return before;
  };
  return { writer, written };
}

describe("a save serialises only what is new", () => {
  it.each<[string, (list: object[]) => object[], number]>([
    ["nothing", (list) => list, 0],
    ["one message is appended", (list) => [...list, message(99)], 1],
    ["one message is replaced", (list) => list.with(50, message(99)), 1],
    ["the last message has changed", (list) => [...list.slice(0, -1), message(99)], 1],
    ["the first messages are dropped, and one is appended", (list) => [...list.slice(10), message(99)], 1],
    ["messages are dropped after the first", (list) => [list[0]!, ...list.slice(10), message(99)], 1],
    ["the order has changed", (list) => list.toReversed(), 0],
  ])("%s", (_, change, expected) => {
    const { writer, written } = counting();
    let list = messages(100);
    for (let save = 0; save < 4; save++) writer.serialize({ list });
    written();
    list = change(list) as typeof list;
    const bytes = writer.serialize({ list });
    expect(written()).toBe(expected);
    expect(back(bytes!)).toEqual({ list });
    // The next save finds the list again.
    expect(back(writer.serialize({ list: [...list, message(7)] })!)).toEqual({
      list: [...list, message(7)],
    });
    expect(written()).toBe(1);
  });

  it("also if two runs share messages", () => {
    const { writer, written } = counting();
    const shared = messages(50);
    const runs = [[...shared], [...shared]];
    for (let step = 0; step < 10; step++) {
      for (const run of runs) {
        run.push(message(step));
        const bytes = writer.serialize({ run });
        if (bytes !== undefined) expect(back(bytes)).toEqual({ run });
      }
      if (step > 2) expect(written()).toBe(2);
      written();
    }
  });

  it("and gives up if all messages are new each time", () => {
    const { writer, written } = counting();
    const list = messages(100);
    for (let step = 0; step < 100; step++) {
      // The objects stay the same, so the list is found again.
      for (const item of list) item.at += 1;
      const bytes = writer.serialize({ list });
      if (bytes !== undefined) expect(back(bytes)).toEqual({ list });
    }
    // Each of these saves would serialise 100 messages.
    expect(written()).toBeLessThan(1_500);
  });
});

describe("falls back to the whole for", () => {
  const shared = { n: 1 };
  class Message {
    n = 1;
  }
  const getter = (object: object) => Object.defineProperty(object, "n", { get: () => 1, enumerable: true });
  it.each<[string, (list: unknown[]) => unknown]>([
    ["an object that two messages share", (list) => [...list, { shared }, { shared }]],
    ["an object that a message shares with the state", (list) => ({ list: [...list, { shared }], shared })],
    ["a message that is in the list twice", (list) => [...list, list[0]]],
    ["a message that contains itself", (list) => [...list, Object.assign(shared, { shared })]],
    ["a list that is in the state twice", (list) => ({ one: list, two: list })],
    ["a message of a class", (list) => [...list, new Message()]],
    ["a message with a getter", (list) => [...list, getter({})]],
    ["a message with bytes", (list) => [...list, { bytes: Buffer.from("x") }]],
    ["a message with a Map", (list) => [...list, { map: new Map() }]],
    ["an array with a hole", (list) => [...list, { list: [1, , 3] }]], // oxlint-disable-line no-sparse-arrays
    ["a text in the list", (list) => [...list, "text"]],
    ["null in the list", (list) => [...list, null]],
    ["a list with a named property", (list) => Object.assign([...list], { named: 1 })],
    ["a list with a hole", (list) => Object.assign([...list], { length: list.length + 1 })],
    ["a list of a class", (list) => class extends Array {}.from(list)],
    ["a proxy", (list) => new Proxy(list, {})],
    ["a getter of the state", (list) => getter({ list })],
    ["a toJSON of the state", (list) => ({ list, toJSON: () => 1 })],
    ["a function", (list) => ({ list, f: () => 1 })],
  ])("%s", (_, change) => {
    const writer = listWriter();
    const list = messages(50);
    warm(writer, { list });
    for (let save = 0; save < 3; save++) expect(writer.serialize(change(list))).toBe(undefined);
  });

  it.each<[string, (list: unknown[]) => unknown]>([
    [
      "bytes, a BigInt, a Date and an array with a hole",
      (list) => ({ bytes: Buffer.from("x"), n: 1n, at: [new Date(1)], list, holes: [1, , 3] }), // oxlint-disable-line no-sparse-arrays
    ],
    ["an index as a key", (list) => ({ 7: 1, list })],
    ["odd keys beside the list", (list) => ({ list, input: { 7: "index", ["__proto__"]: 1, "": 2, 日本: 3 } })],
    [
      "texts of every kind",
      (list) => ({ a: "é".repeat(99), list, b: "日".repeat(99), c: "x".repeat(99), d: "\ud800" }),
    ],
    [
      "numbers of every kind",
      (list) => ({ list, n: [0, -0, NaN, -1, 2 ** 30, -(2 ** 30), 2 ** 31, 2 ** 53, 1e300, 0.1] }),
    ],
    ["an empty text and an empty list before it", (list) => ({ a: "", b: [], c: {}, d: undefined, e: null, list })],
  ])("nothing, with %s", (_, change) => {
    const writer = listWriter();
    const list = messages(50);
    warm(writer, { list });
    const state = change(list);
    expect(back(writer.serialize(state)!)).toStrictEqual(deserialize(serialize(state)));
  });

  it("a list of objects and texts, in both formats", () => {
    for (const writer of [listWriter(), jsonWriter()]) {
      const texts = Array.from({ length: 20 }, (_, n) => `${n}`);
      const list = Array.from({ length: 20 }, (_, n) => ({ n }));
      for (let save = 0; save < 3; save++) expect(writer.serialize({ list: [...list, ...texts] })).toBe(undefined);
      for (let save = 0; save < 3; save++) expect(writer.serialize({ list: [...texts, ...list] })).toBe(undefined);
    }
  });

  it("a toJSON, in JSON", () => {
    const hidden = (array: unknown[]) => Object.defineProperty(array, "toJSON", { value: () => "hidden" });
    const list = messages(50).map(({ role }) => ({ role }));
    for (const change of [
      () => hidden([...list]),
      () => hidden([{ list }]),
      () => ({ list, toJSON: () => 1 }),
      () => ({ list, at: { toJSON: (key: string) => key } }),
      () => [...list, { role: hidden([]) }],
    ]) {
      const writer = jsonWriter();
      warm(writer, { list });
      expect(writer.serialize(change())).toBe(undefined);
    }
  });
});

describe("an array with as many names as holes keeps both", () => {
  /** Has as many keys as an array with neither. */
  const odd = (array: unknown[]) => {
    delete array[1];
    return Object.assign(array, { name: "kept" });
  };

  it("in an item that was saved before", () => {
    const writer = listWriter();
    const list = messages(20).map((item) => Object.assign(item, { array: [1, undefined, 3] as unknown[] }));
    warm(writer, { list });
    odd(list[7]!.array);
    const state = { list };
    // V8's serializer writes the whole.
    expect(writer.serialize(state)).toBe(undefined);
  });

  it("beside a list, where what a name has is found if it is shared", () => {
    const writer = listWriter();
    const list = messages(20);
    warm(writer, { list });
    const state = { array: odd([1, 2, 3]), list };
    expect(formOf(back(writer.serialize(state)!))).toBe(formOf(state));
    expect(writer.serialize({ array: Object.assign([1], { name: list[3] }), list })).toBe(undefined);
  });
});

it("never changes bytes that were handed over", () => {
  const mutations = new Mutations(9);
  const writer = listWriter();
  let list = messages(300);
  const handed: Array<{ bytes: Pieces; copy: Buffer }> = [];
  for (let step = 0; step < 500; step++) {
    const at = mutations.chance(0.5) ? 290 : 150;
    const kind = step % 10;
    if (kind < 2) list[at]!.content += "changed";
    else if (kind < 4) list = [...list.slice(1), message(step)];
    else if (kind === 4) list.splice(at, 5, message(step));
    else list.push(message(step));
    const bytes = writer.serialize({ step, list });
    if (bytes === undefined) continue;
    expect(bytes).toBeInstanceOf(Pieces);
    handed.push({ bytes: bytes as Pieces, copy: Buffer.concat((bytes as Pieces).pieces) });
    expect(back(handed.at(-1)!.copy)).toEqual({ step, list });
  }
  expect(handed.length).toBeGreaterThan(400);
  for (const { bytes, copy } of handed) expect(Buffer.concat(bytes.pieces).equals(copy)).toBe(true);
});

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Collects garbage until a condition holds. */
async function until(condition: () => boolean): Promise<void> {
  for (let turn = 0; !condition(); turn++) {
    expect(turn).toBeLessThan(200);
    collect();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

it("keeps nothing of a list whose messages are gone", { timeout: 120_000 }, async () => {
  const writer = listWriter();
  // What other tests have left must not be evicted meanwhile.
  limitKeptBytes(0);
  evict();
  limitKeptBytes();
  const before = keptBytes();
  expect(before).toBe(0);
  // The list is only known inside this function.
  (() => {
    const list = messages(2_000);
    warm(writer, { list });
    expect(keptBytes() - before).toBeGreaterThan(1_000_000);
  })();
  await until(() => keptBytes() - before <= 500_000);
});

it("lets the engine keep only chunks that are released again", async () => {
  let last = 0;
  const kept = new Set<number>();
  const keeper = {
    keep: () => {
      kept.add(++last);
      return last;
    },
    drop: (number: number) => void kept.delete(number),
  };
  /** Hands the bytes over, as a call does. */
  const handOver = (bytes: Bytes | undefined) => {
    if (bytes instanceof Pieces) for (const piece of bytes.pieces) chunkOf(piece)?.keptBy(keeper);
  };
  const writer = listWriter();
  let list = messages(300);
  const late: Array<Bytes | undefined> = [];
  for (let step = 0; step < 600; step++) {
    // Some steps edit the middle, and some change everything, so that the list is given up.
    if (step % 7 === 0) list[150]!.content += "changed";
    if (step % 50 > 45) for (const item of list) item.at += 1;
    list = [...list.slice(step % 3), message(step)];
    const bytes = writer.serialize({ list });
    handOver(bytes);
    late.push(bytes);
  }
  expect(last).toBeGreaterThan(20);
  // Chunks of messages that the list has no more go with these.
  await until(() => kept.size < 20);
  // A list that is larger than all that may be kept is given up at once.
  const large = Array.from({ length: 100 }, (_, n) => ({ n, text: "x".repeat(1 << 20) }));
  for (let step = 0; step < 6; step++) {
    large.push({ n: -1, text: "new" });
    handOver(writer.serialize({ list: large }));
  }
  // Bytes that are handed over late are copied.
  for (const bytes of late.splice(0)) handOver(bytes);
  await until(() => kept.size < 20);
});

it("keeps no more than 64 MiB", () => {
  const lists = Array.from({ length: 40 }, () =>
    Array.from({ length: 100 }, (_, n) => ({ n: BigInt(n), text: "x".repeat(30_000) })),
  );
  const { writer, written } = counting();
  for (let save = 0; save < 3; save++) {
    for (const list of lists) {
      list.push({ n: -1n, text: "new" });
      writer.serialize({ list });
      expect(keptBytes()).toBeLessThanOrEqual(64 << 20);
    }
  }
  expect(keptBytes()).toBeGreaterThan(32 << 20);
  written();
  // What was used last is kept.
  const last = lists.at(-1)!;
  last.push({ n: -1n, text: "new" });
  expect(back(writer.serialize({ list: last })!)).toEqual({ list: last });
  expect(written()).toBe(1);
});
