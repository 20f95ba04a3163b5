// Tests how tables, lines and ids fit a narrow terminal.
import { describe, expect, test } from "vitest";
import { ShortIds, shortened } from "../../tools/cli/short-ids.js";
import { plain } from "../../tools/cli/style.js";
import { type Column, table, width } from "../../tools/cli/table.js";
import { excerpt, prettyJson } from "../../tools/cli/value-text.js";
import { clipped, folded, joined, wrapped } from "../../tools/cli/wrap.js";

const uuids = [
  "3ada8f84-2978-4022-9ed1-c16648f948a0",
  "3ada8f84-2978-4111-9ed1-c16648f948a0",
  "1e061bc1-7931-450c-a1e6-9e4fd4860abd",
];

describe("short ids", () => {
  test("are prefixes that no other id has", () => {
    const ids = new ShortIds(uuids);
    expect(ids.least).toBe("3ada8f84-2978-40".length + 1);
    const short = uuids.map((id) => ids.fit(id, ids.least));
    expect(short).toEqual(["3ada8f84-2978-40…", "3ada8f84-2978-41…", "1e061bc1-7931-45…"]);
    for (const [at, text] of short.entries()) expect(uuids.filter(shortened(text)!.fits)).toEqual([uuids[at]]);
    expect(ids.fit(uuids[0]!, 36)).toBe(uuids[0]);
    expect(ids.fit(uuids[0]!, 100)).toBe(uuids[0]);
  });

  test("differ from ids that are not shown", () => {
    expect(new ShortIds([uuids[2]!]).least).toBe(9);
    expect(new ShortIds([uuids[0]!], uuids).least).toBe(17);
    expect(new ShortIds([]).least).toBe(0);
  });

  test("have their begin and end if only the end differs", () => {
    const names = Array.from({ length: 12 }, (_, n) => `customer-4711-with-a-very-long-name-run-${n}`);
    const ids = new ShortIds(names);
    const short = names.map((id) => ids.fit(id, ids.least));
    for (const [at, text] of short.entries()) {
      expect(width(text)).toBeLessThanOrEqual(22);
      expect(names.filter(shortened(text)!.fits)).toEqual([names[at]]);
    }
  });

  test("of any text have at most the width", () => {
    const names = [
      "日本語のとても長いスレッドの名前です",
      "日本語のとても長いスレッドの名前でした",
      "👩‍👩‍👧‍👦".repeat(9),
      "",
      "a",
    ];
    const ids = new ShortIds(names);
    for (const most of [1, 2, 9, 12, 22]) {
      for (const id of names) expect(width(ids.fit(id, most))).toBeLessThanOrEqual(most);
    }
    expect(shortened("no sign")).toBeUndefined();
    expect(shortened("…")).toBeUndefined();
    // The begin and the end of an id do not overlap.
    expect(shortened("aba…aba")!.fits("aba")).toBe(false);
    expect(shortened("aba…aba")!.fits("abaaba")).toBe(true);
  });
});

interface Entry {
  id: string;
  label: string;
  size: number;
}

const columns: Array<Column<Entry>> = [
  { title: "ID", ids: true, cell: ({ id }) => ({ text: id }) },
  { title: "LABEL", least: 8, cell: ({ label }) => ({ text: label }) },
  { title: "MORE", drop: 1, cell: ({ label }) => ({ text: label.toUpperCase() }) },
  { title: "SIZE", align: "right", cell: ({ size }) => ({ text: `${size} B` }) },
];

describe("a table", () => {
  const entries = uuids.map((id, at): Entry => ({ id, label: `label ${at}`, size: at * 1000 }));
  const draw = (width: number, list = entries) => table(columns, list, { style: plain, width });

  test("is whole where it fits", () => {
    expect(draw(Number.POSITIVE_INFINITY)).toEqual(draw(120));
    expect(draw(120)[1]).toBe(`${uuids[0]}  label 0  LABEL 0     0 B`);
  });

  test("shortens ids before it drops a column, and drops before it cuts", () => {
    expect(draw(60)[1]).toMatch(/^3ada8f84-2978-40\S*…  label 0  LABEL 0     0 B$/);
    expect(draw(40).map((line) => line.trimEnd())).toEqual([
      "ID                       LABEL      SIZE",
      "3ada8f84-2978-4022-9ed…  label 0     0 B",
      "3ada8f84-2978-4111-9ed…  label 1  1000 B",
      "1e061bc1-7931-450c-a1e…  label 2  2000 B",
    ]);
    expect(draw(40)[0]).not.toContain("MORE");
  });

  test.each([80, 60, 44, 30, 20, 12])("is never wider than %d columns", (most) => {
    const wide = [
      ...entries,
      { id: "x".repeat(300), label: "日本".repeat(60), size: 1e9 },
      { id: "", label: "", size: 0 },
    ];
    for (const line of draw(most, wide)) expect(width(line)).toBeLessThanOrEqual(most);
  });

  test("of nothing is nothing", () => expect(draw(80, [])).toEqual([]));
});

describe("a line", () => {
  test("breaks between words, and keeps a word that is too wide", () => {
    const text = `error: ${"word ".repeat(30)}/${"path".repeat(30)} end`;
    const lines = wrapped(text, 40);
    expect(lines.join(" ").replaceAll(/ +/g, " ")).toBe(text.trimEnd());
    expect(lines.filter((line) => width(line) > 40)).toHaveLength(1);
    for (const line of lines.slice(1)) expect(line).toMatch(/^ {2}\S/);
    expect(wrapped("short", 40)).toEqual(["short"]);
    expect(wrapped("", 40)).toEqual([""]);
    expect(wrapped(text, Number.POSITIVE_INFINITY)).toEqual([text]);
  });

  test("of facts breaks between two of them", () => {
    expect(joined(["aaaa", "bbbb", "cccc"], " · ", 12)).toEqual(["aaaa · bbbb", "  cccc"]);
    expect(joined(["aaaa"], " · ", 2)).toEqual(["aaaa"]);
    expect(joined([], " · ", 12)).toEqual([""]);
  });

  test("of a long text loses no character", () => {
    for (const text of ["word ".repeat(100), "x".repeat(500), "日本語".repeat(90), `👩‍👩‍👧‍👦 ${"é".repeat(99)}`]) {
      const lines = folded(text, 30, 40);
      expect(lines.join("")).toBe(text);
      for (const [at, line] of lines.entries()) expect(width(line)).toBeLessThanOrEqual(at === 0 ? 30 : 40);
    }
  });

  test("is clipped with its colors", () => {
    const red = `\u001b[31m${"x".repeat(50)}\u001b[39m`;
    expect(clipped(red, 50)).toBe(red);
    expect(clipped(red, 20)).toBe(`${"x".repeat(19)}…`);
  });
});

describe("a value", () => {
  const lines = (value: unknown, most: number) => [...prettyJson(value, plain, "", most)].join("").split("\n");

  test("fits the terminal, and is JSON where nothing is broken", () => {
    const value = {
      short: 1,
      text: "The answer to your question ".repeat(12),
      list: ["日本語のテキスト".repeat(12), { deep: { deeper: ["x".repeat(200), null] } }],
      ["a key ".repeat(5)]: "y".repeat(100),
    };
    for (const line of lines(value, 80)) expect(width(line)).toBeLessThanOrEqual(80);
    expect(JSON.parse(lines(value, Number.POSITIVE_INFINITY).join("\n"))).toEqual(value);
    expect(lines({ a: "b" }, 80)).toEqual(['{ "a": "b" }']);
    // A text alone is what somebody wants to copy.
    expect(lines("x".repeat(200), 80)).toEqual([`"${"x".repeat(200)}"`]);
  });

  test("is excerpted to a width, also with escapes and wide characters", () => {
    for (const text of [
      '{"a":"b"}'.repeat(30),
      "日本".repeat(60),
      "\u001b".repeat(99),
      "\n\t".repeat(60),
      "a\ud83d".repeat(50),
    ]) {
      const shown = excerpt(text, plain, 40);
      expect(width(shown)).toBeLessThanOrEqual(42);
      expect(shown).toMatch(/^".*…"$/);
    }
    const many = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`key number ${n}`, "x".repeat(60)]));
    expect(width(excerpt(many, plain, 40))).toBeLessThanOrEqual(42);
  });
});
