// Tests the light markdown of conversations: what it knows, what stays text, and that hostile texts are read quickly.
import { describe, expect, test } from "vitest";
import { type Span, blocksOf, spansOf } from "../../../tools/studio/page/markdown.js";
import { costText, shortCount, tokenCount, tokensText } from "../../../tools/studio/page/tokens.js";

/** Pieces as a text: code in backticks, bold in `*`, italic in `_`. */
const signs = { text: "", code: "`", strong: "*", em: "_" };
const write = (spans: Span[]) => spans.map(({ kind, text }) => `${signs[kind]}${text}${signs[kind]}`).join("|");

describe("pieces of a line", () => {
  test.each([
    ["plain", "plain"],
    ["", ""],
    ["a **b** c", "a |*b*| c"],
    ["__b__ and *i* and _i_", "*b*| and |_i_| and |_i_"],
    ["`code *not* bold`", "`code *not* bold`"],
    ["snake_case_name and 2*3*4", "snake_case_name and 2*3*4"],
    ["**open and *open and `open", "**open and *open and `open"],
    ["[link](javascript:alert(1)) <b>x</b>", "[link](javascript:alert(1)) <b>x</b>"],
    ["** a ** b", "* a *| b"],
    ["漢字 **太字** 👩‍👩‍👧‍👦", "漢字 |*太字*| 👩‍👩‍👧‍👦"],
  ])("%j", (line, shown) => expect(write(spansOf(line))).toBe(shown));
});

describe("blocks", () => {
  const kinds = (text: string) => blocksOf(text).map((block) => block.kind);
  const lines = (text: string) =>
    blocksOf(text).map((block) => ("lines" in block ? block.lines.map(write) : block.kind));

  test("are paragraphs, headings, quotes, rules, items and code", () => {
    const text =
      "# Head\nfirst\nsecond\n\nthird\n> quote\n> more\n---\n- one\n  go on\n  * two\n1. three\n```ts\na\n\n- b\n```\nend";
    expect(kinds(text).join(" ")).toBe("heading paragraph paragraph quote rule item item item code paragraph");
    expect(lines("first\nsecond\n\nthird")).toEqual([["first", "second"], ["third"]]);
    expect(blocksOf("- a\n    - b\n12) c")).toMatchObject([
      { kind: "item", mark: "•", depth: 0 },
      { kind: "item", mark: "•", depth: 2 },
      { kind: "item", mark: "12)", depth: 0 },
    ]);
    expect(blocksOf("~~~\n```\nx\n~~~~\ny")).toMatchObject([{ kind: "code", text: "```\nx" }, { kind: "paragraph" }]);
  });

  test("of code without an end are code to the end", () => {
    expect(blocksOf("```\na\n# b")).toEqual([{ kind: "code", text: "a\n# b" }]);
    expect(blocksOf("```")).toEqual([{ kind: "code", text: "" }]);
  });

  test("of nothing are none", () => {
    expect(blocksOf("")).toEqual([]);
    expect(blocksOf("\n \r\n")).toEqual([]);
  });

  test.each<[string, string]>([
    ["items", "- a\n".repeat(100_000)],
    ["fences", "```\n".repeat(100_000)],
    ["stars", "*".repeat(400_000)],
    ["open bold", "**a ".repeat(100_000)],
    ["bold", "**a** ".repeat(60_000)],
    ["underscores", "_a ".repeat(100_000)],
    ["backticks", "`".repeat(399_999)],
    ["one long line", "x".repeat(400_000)],
    ["quotes", "> ".repeat(200_000)],
    ["rules", `${"- ".repeat(199_999)}x`],
    ["spaces", `${" ".repeat(399_999)}x`],
  ])("of hostile %s are few, and keep every character", (_, text) => {
    const blocks = blocksOf(text);
    const pieces = blocks.flatMap((block): unknown[] => ("lines" in block ? block.lines.flat() : [block]));
    expect(pieces.length).toBeLessThan(1_000);
    const letters = (of: string) => of.replaceAll(/[\s*_`>#-]/g, "").length;
    const kept = blocks.map((block) =>
      "lines" in block
        ? block.lines
            .flat()
            .map((span) => span.text)
            .join("")
        : "text" in block
          ? block.text
          : "",
    );
    expect(letters(kept.join(""))).toBe(letters(text));
  });
});

describe("tokens and costs", () => {
  test("are short, and `-` where nothing is stored", () => {
    expect([0, 999, 1_000, 1_234, 12_345, 999_499, 999_500, 3_400_000].map(shortCount).join(" ")).toBe(
      "0 999 1k 1.2k 12k 999k 1M 3.4M",
    );
    const none = { input: null, output: null, cached: null, reasoning: null, total: null };
    expect([tokenCount(null), tokenCount(1_234), tokensText(none)]).toEqual(["-", "1,234", "- tokens"]);
    expect(tokensText({ ...none, input: 1_000 })).toBe("1,000 in, - out");
    expect(tokensText({ ...none, total: 7 })).toBe("7 tokens");
    expect([0, 0.000_967_5, 0.5, 12.345].map(costText)).toEqual(["0.00", "0.00097", "0.50", "12.35"]);
  });
});
