// Items are found by themselves: what one list has serialized, the next one reuses, and none loses what it has.
import { expect, it } from "vitest";
import { type Bytes, whole } from "../../ts/bridge/bytes.js";
import { JsonWriter } from "../../ts/bridge/incremental/json.js";
import { atOneMoment } from "../../ts/bridge/incremental/lists.js";

interface Item {
  n: number;
  text: string;
}

let count = 0;
const writerOf = (isSlow?: (item: object) => boolean) =>
  new JsonWriter({
    render: (item) => {
      count += 1;
      return Buffer.from(JSON.stringify(item));
    },
    ...(isSlow && { isSlow }),
  });
/** Writes items that are slow to serialize, so their bytes are kept at once, also in short lists. */
const slowWriter = () => writerOf((item) => "text" in item);

const item = (n: number): Item => ({ n, text: `item ${n} `.repeat(20) });
const items = (length: number, from = 0) => Array.from({ length }, (_, n) => item(from + n));
const text = (bytes: Bytes | undefined) => Buffer.from(whole(bytes!)).toString();

/** Saves a value, and returns how many items were serialized. */
function rendered(writer: JsonWriter, value: unknown): number {
  count = 0;
  expect(text(writer.serialize(value))).toBe(JSON.stringify(value));
  return count;
}

it("an item that was alone in a list is reused by the list of its channel", () => {
  const writer = slowWriter();
  const list = items(100);
  expect(rendered(writer, list)).toBe(100);
  for (let step = 0; step < 50; step++) {
    const one = item(1_000 + step);
    expect(rendered(writer, [one])).toBe(1);
    list.push(one);
    // A reducer makes a new list.
    expect(rendered(writer, list.slice())).toBe(0);
  }
});

it("lists that share items grow apart, in turn, and each serializes its own items only", () => {
  const writer = slowWriter();
  const shared = items(50);
  const lists = Array.from({ length: 8 }, () => [...shared]);
  expect(rendered(writer, lists[0])).toBe(50);
  for (let step = 0; step < 100; step++) {
    for (const [at, list] of lists.entries()) {
      list.push(item(10_000 * (at + 1) + step));
      expect(rendered(writer, list)).toBe(1);
    }
  }
});

it("a state with the same list twice, and a list of lists", () => {
  const writer = slowWriter();
  const list = items(30);
  expect(rendered(writer, { one: list, other: [...list].toReversed(), nested: [{ list }, { list: [list[3]] }] })).toBe(
    30,
  );
});

it("an item that has changed is found at its new place, also by a list whose neighbours are at the old one", () => {
  const writer = slowWriter();
  const list = items(40);
  rendered(writer, list);
  list[10]!.text = "changed";
  expect(rendered(writer, list)).toBe(1);
  for (let save = 0; save < 3; save++) expect(rendered(writer, list)).toBe(0);
  // A short list sees the change, too.
  expect(rendered(writer, [list[9], list[10], list[11]])).toBe(0);
});

it("a change after a moment is seen", () => {
  const writer = slowWriter();
  const list = items(20);
  rendered(writer, list);
  const before = JSON.stringify(list);
  atOneMoment(() => {
    expect(text(writer.serialize(list))).toBe(before);
    expect(text(writer.serialize({ list }))).toBe(JSON.stringify({ list }));
  });
  list[4]!.n = -1;
  expect(rendered(writer, list)).toBe(1);
});

it("an item is in one list twice", () => {
  const writer = slowWriter();
  const list = items(20);
  expect(rendered(writer, [...list, list[3], list[4], list[3]])).toBe(20);
  expect(rendered(writer, [list[3], ...list, list[3]])).toBe(0);
});

it("a list is kept again after it was given up", () => {
  const writer = writerOf();
  const list = items(100);
  const save = () => {
    count = 0;
    const bytes = writer.serialize(list);
    if (bytes !== undefined) expect(text(bytes)).toBe(JSON.stringify(list));
    return bytes === undefined ? "whole" : count;
  };
  expect([save(), save(), save()]).toEqual(["whole", 100, 0]);
  const changed = Array.from({ length: 100 }, () => {
    for (const each of list) each.n += 1;
    return save();
  });
  // Two saves that serialize all items, and then ever more saves that do not try.
  expect(changed.filter((each) => each === 100).length).toBeLessThan(15);
  expect(new Set(changed)).toEqual(new Set(["whole", 100]));
  const unchanged = Array.from({ length: 70 }, save);
  expect(unchanged.slice(-4)).toEqual([0, 0, 0, 0]);
  list.push(item(100));
  expect(save()).toBe(1);
});
