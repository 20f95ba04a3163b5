// Tests what the page makes of texts and numbers, and the parts of it that need no browser.
import { describe, expect, test } from "vitest";
import { editOf } from "../../../tools/studio/page/edit.js";
import { type ServerEvent, eventReader } from "../../../tools/studio/page/event-reader.js";
import { ago, at, bytes, count, counted, duration, halves, shown } from "../../../tools/studio/page/format.js";
import { changedWords } from "../../../tools/studio/page/words.js";

describe("numbers", () => {
  test("sizes are decimal, with at most three digits", () => {
    const sizes = [0, 1, 999, 1_000, 1_234, 99_940, 99_960, 999_400, 999_600, 1_500_000, 2e9, 3e12, 5e15];
    expect(sizes.map(bytes)).toEqual(
      "0 B, 1 B, 999 B, 1 KB, 1.2 KB, 99.9 KB, 100 KB, 999 KB, 1 MB, 1.5 MB, 2 GB, 3 TB, 5000 TB".split(", "),
    );
  });

  test("durations have at most two units", () => {
    const times = [0, 4, 999, 1_000, 9_949, 12_000, 59_600, 60_000, 200_000, 3_600_000, 5_000_000, 90_000_000, -1_500];
    expect(times.map(duration)).toEqual(
      "0 ms, 4 ms, 999 ms, 1.0 s, 9.9 s, 12 s, 1 m, 1 m, 3 m 20 s, 1 h, 1 h 23 m, 1 d 1 h, -1.5 s".split(", "),
    );
  });

  test("how long ago", () => {
    const now = 1e12;
    const times = [-5_000, 0, 4_000, 12_000, 200_000, 7_200_000, 86_400_000 * 3];
    expect(times.map((ms) => ago(now - ms, now))).toEqual(
      "now, now, now, 12 s ago, 3 min ago, 2 h ago, 3 d ago".split(", "),
    );
    expect(at(9e15)).toBe("9000000000000000");
  });

  test("counts", () => {
    expect([count(12_345), counted(1, "step"), counted(0, "step"), counted(2_000, "run")]).toEqual([
      "12,345",
      "1 step",
      "0 steps",
      "2,000 runs",
    ]);
  });
});

describe("stored texts", () => {
  test("are shown with what would act on them escaped, and cut", () => {
    expect(shown("a\u0000b\u001b[2J\u202ec\nd\ud800")).toBe("a\\u0000b\\u001b[2J\\u202ec\\u000ad\\ud800");
    expect(shown("x".repeat(50), 10)).toBe(`${"x".repeat(10)}…`);
    expect(shown("<b>&amp;")).toBe("<b>&amp;");
  });

  test("ids are split where they differ", () => {
    for (const [id, head, tail] of [
      ["short", "short", ""],
      ["", "", ""],
      ["run-1764-ab12cd", "run-1764-", "ab12cd"],
      ["trip-4711-lisbon", "trip-4711-", "lisbon"],
      ["wf:step-3", "wf:step-", "3"],
      ["verylongidwithoutanyseparator", "verylongidwithoutanysep", "arator"],
      ["24df5b5f-d74c-423a-a4ae-895046fba5e6", "24df5b5f-d74c-423a-a4ae-", "895046fba5e6"],
      // The end of these is the same in all of a process.
      ["1f1e6bea-9699-6641-8006-4efe35b8c285", "1f1e6bea-9699-6641-8006-4efe35b8c285", ""],
    ] as const) {
      expect(halves(id), id).toMatchObject({ head, tail });
      const parts = halves(id);
      expect(parts.head + parts.tail).toBe(id);
    }
  });
});

describe("changed words", () => {
  test("take off what is equal, by word", () => {
    expect(changedWords("the quick brown fox", "the slow brown fox")).toEqual({
      head: "the ",
      removed: "quick",
      added: "slow",
      tail: " brown fox",
    });
    expect(changedWords("one two", "one two three")).toMatchObject({ removed: "", added: " three" });
    expect(changedWords("a b", "a b")).toMatchObject({ removed: "", added: "" });
    expect(changedWords("", "new")).toEqual({ head: "", removed: "", added: "new", tail: "" });
  });

  test("join up to the texts again, whatever they are", () => {
    const texts = [
      "",
      "a",
      "aa",
      "a a",
      "aba",
      "a b a",
      "x".repeat(200),
      `${"x".repeat(100)} y ${"z".repeat(100)}`,
      "😀 a",
      "a 😀😀",
    ];
    for (const before of texts) {
      for (const after of texts) {
        const { head, removed, added, tail } = changedWords(before, after);
        const [start, end] = [head.replace("…", ""), tail.replace("…", "")];
        expect(before).toContain(start + removed + end);
        expect(after).toContain(start + added + end);
        expect(removed.length + added.length).toBeLessThanOrEqual(before.length + after.length);
      }
    }
  });

  test("show only a little of what is around", () => {
    const { head, tail } = changedWords(
      `${"w ".repeat(500)}a${" w".repeat(500)}`,
      `${"w ".repeat(500)}b${" w".repeat(500)}`,
    );
    expect(head).toMatch(/^…/);
    expect(tail).toMatch(/…$/);
    expect(head.length + tail.length).toBeLessThan(130);
  });
});

describe("the edit of a fork", () => {
  test("has only the fields that have changed", () => {
    expect(editOf({ a: 1, b: { c: 2 } }, { a: 1, b: { c: 2 } })).toEqual({});
    expect(editOf({ a: 1, b: { c: 2 } }, { a: 1, b: { c: 3 }, "new key": [] })).toEqual({
      set: [
        ["b", { c: 3 }],
        ['["new key"]', []],
      ],
    });
    expect(editOf(JSON.parse('{"__proto__":1}'), JSON.parse('{"__proto__":2}'))).toEqual({ set: [["__proto__", 2]] });
  });

  test("is the whole state where fields cannot say it", () => {
    expect(editOf({ a: 1, b: 2 }, { a: 1 })).toEqual({ state: { a: 1 } });
    expect(editOf([1], [1, 2])).toEqual({ state: [1, 2] });
    expect(editOf({ a: 1 }, null)).toEqual({ state: null });
    expect(editOf({ $type: "Map", value: [] }, { $type: "Map", value: [["a", 1]] })).toEqual({
      state: { $type: "Map", value: [["a", 1]] },
    });
    expect(editOf({ a: 1, b: 2 }, { b: 2, a: 1 })).toEqual({ state: { b: 2, a: 1 } });
  });
});

describe("the reader of events", () => {
  const stream =
    ': open\n\nid: 7\nevent: saved\ndata: {"a":1}\n\n: \n\nevent: changed\ndata: {}\n\ndata: one\ndata: two\n\n';
  const expected = [
    { id: "7", event: "saved", data: '{"a":1}' },
    { id: undefined, event: "changed", data: "{}" },
    { id: undefined, event: "message", data: "one\ntwo" },
  ];

  test("gives each event once it is complete, however the stream is cut", () => {
    for (let length = 1; length <= stream.length; length++) {
      const heard: ServerEvent[] = [];
      const read = eventReader((event) => heard.push(event));
      for (let from = 0; from < stream.length; from += length) read(stream.slice(from, from + length));
      expect(heard).toEqual(expected);
    }
  });

  test("gives nothing of an event that is not complete", () => {
    const heard: ServerEvent[] = [];
    eventReader((event) => heard.push(event))("event: saved\ndata: {}\n");
    expect(heard).toEqual([]);
  });
});
