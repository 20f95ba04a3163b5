// Tests the parser's errors, and text that is safe to show.
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { describe, expect, test } from "vitest";
import { parseJson, safeJson, safeJsonPieces, safeText, withId } from "../../ts/bridge/json-form/json-text.js";
import { type Below, pick, random, same } from "./random.js";

interface Refusal {
  code: string;
  message: string;
  line: number;
  column: number;
}

function refusal(text: string): Refusal {
  try {
    parseJson(text);
  } catch (error) {
    return error as Refusal;
  }
  throw new Error(`${text} was parsed`);
}

describe("parseJson", () => {
  test.each<[text: string, line: number, column: number, expected: string, found: string]>([
    ["", 1, 1, "a value", "the end of the text"],
    [" \n\t ", 2, 3, "a value", "the end of the text"],
    ["{", 1, 2, 'a key in double quotes or "}"', "the end of the text"],
    ["[", 1, 2, 'a value or "]"', "the end of the text"],
    ["[1", 1, 3, '"," or "]"', "the end of the text"],
    ["[1,]", 1, 4, "a value", '"]"'],
    ["[,1]", 1, 2, 'a value or "]"', '","'],
    ["[1 2]", 1, 4, '"," or "]"', '"2"'],
    ["[1}", 1, 3, '"," or "]"', '"}"'],
    ['{"a":1,}', 1, 8, "a key in double quotes", '"}"'],
    ['{"a" 1}', 1, 6, '":"', '"1"'],
    ['{"a":}', 1, 6, "a value", '"}"'],
    ['{"a":1 "b":2}', 1, 8, '"," or "}"', '"\\""'],
    ["{a:1}", 1, 2, 'a key in double quotes or "}"', '"a"'],
    ["{'a':1}", 1, 2, 'a key in double quotes or "}"', '"\'"'],
    ["{}}", 1, 3, "the end of the text", '"}"'],
    ["1 2", 1, 3, "the end of the text", '"2"'],
    ["tru", 1, 4, "true", "the end of the text"],
    ["[nul]", 1, 5, "null", '"]"'],
    ["falsy", 1, 5, "false", '"y"'],
    ["NaN", 1, 1, "a value", '"N"'],
    ["undefined", 1, 1, "a value", '"u"'],
    ["01", 1, 2, "no digit after a leading 0", '"1"'],
    ["-", 1, 2, "a digit", "the end of the text"],
    ["+1", 1, 1, "a value", '"+"'],
    [".5", 1, 1, "a value", '"."'],
    ["1.", 1, 3, "a digit", "the end of the text"],
    ["1e+", 1, 4, "a digit", "the end of the text"],
    ["-a", 1, 2, "a digit", '"a"'],
    ["0x10", 1, 2, "the end of the text", '"x"'],
    ['"abc', 1, 5, "a closing quote", "the end of the text"],
    ['"a\nb"', 1, 3, "a closing quote, or an escape such as \\n instead of a control character", '"\\n"'],
    ['"\\x"', 1, 3, 'one of " \\ / b f n r t u after "\\"', '"x"'],
    ['"\\u12g4"', 1, 6, '4 hexadecimal digits after "\\u"', '"g"'],
    ['"\\u12', 1, 6, '4 hexadecimal digits after "\\u"', "the end of the text"],
    ['{\n  "a": 1,\r\n  "b": [\r    tru\n  ]\n}', 4, 8, "true", '"\\n"'],
    ["\ufeff{}", 1, 1, "a value", '"\ufeff"'],
    ["\u00a01", 1, 1, "a value", '"\u00a0"'],
    ["[\u{1f600}]", 1, 2, 'a value or "]"', '"\u{1f600}"'],
    ["\u001b[31m", 1, 1, "a value", '"\\u001b"'],
    ["\u202e1", 1, 1, "a value", '"\\u202e"'],
  ])("%j: line %i, column %i", (text, line, column, expected, found) => {
    const error = refusal(text);
    expect(error).toMatchObject({ name: "ForkpointError", code: "INVALID_ARGUMENT", line, column });
    expect(error.message).toBe(
      `invalid JSON at line ${line}, column ${column}: expected ${expected}, but found ${found}`,
    );
  });

  test("keeps what JSON.parse keeps", () => {
    const text = '{"__proto__":{"a":1},"a":-0,"a":[1e400,-0,"\\ud800\\u0000"]}';
    expect(same(parseJson(text), JSON.parse(text))).toBe(true);
  });

  test("reads and refuses text of any depth", () => {
    const open = "[".repeat(1_000_000);
    expect(refusal(open)).toMatchObject({ line: 1, column: 1_000_001 });
    expect(refusal(`${open}x`)).toMatchObject({ line: 1, column: 1_000_001 });
    let value = parseJson(open.slice(0, 100_000) + "]".repeat(100_000));
    for (let i = 1; i < 100_000; i++) value = (value as unknown[])[0];
    expect(value).toEqual([]);
  });

  test("refuses what is no text", () => {
    for (const value of [undefined, null, 1, {}, ["1"]]) expect(() => parseJson(value as string)).toThrow(TypeError);
  });
});

const pieces = [
  ..."{}[],:\"\\-+.eE0123456789 \n\r\ttrufalsn'x\u0000\u001f\u00a0\u2028",
  "null",
  "true",
  '"a"',
  "\\u00e9",
  "\ud83d",
];

/** Changes a text at a few places. */
function mutated(below: Below, text: string): string {
  let changed = text;
  for (let i = below(3); i >= 0; i--) {
    const at = below(changed.length + 1);
    const removed = below(3);
    changed = changed.slice(0, at) + (below(3) === 0 ? "" : pick(below, pieces)) + changed.slice(at + removed);
  }
  return changed;
}

test("20,000 mutated texts are read as JSON.parse does, or refused at the first character that can be no JSON", () => {
  const seeds = [
    '{"a":[1,-2.5e-3,true,false,null],"b":{"c":"\\u00e9\\n\\"x\\"","d":""},"e":[],"f":{}}',
    ' [ { "x" : 0 , "y" : -0.0E+1 } , [ [ ] ] ] ',
    '"\\ud83d\\ude00 text"',
    "-12.5",
  ];
  let refused = 0;
  for (let salt = 0; salt < 20_000; salt++) {
    const below = random(salt);
    const text = mutated(below, pick(below, seeds));
    let parsed: unknown;
    let native: Error | undefined;
    try {
      parsed = JSON.parse(text);
    } catch (error) {
      native = error as Error;
    }
    if (native === undefined) {
      expect(same(parseJson(text), parsed), text).toBe(true);
      continue;
    }
    refused += 1;
    const error = refusal(text);
    const at = offset(text, error);
    expect(error.code, text).toBe("INVALID_ARGUMENT");
    expect(completable(text.slice(0, at)), `${JSON.stringify(text)} may go on before ${at}`).toBe(true);
    if (at < text.length) {
      expect(completable(text.slice(0, at + 1)), `${JSON.stringify(text)} may not go on after ${at}`).toBe(false);
    }
  }
  expect(refused).toBeGreaterThan(5_000);
});

/** Returns the position that a line and a column name. */
function offset(text: string, { line, column }: Refusal): number {
  const starts = [0, ...[...text.matchAll(/\r\n|\r|\n/g)].map((end) => end.index + end[0].length)];
  return starts[line - 1]! + column - 1;
}

/** Returns true if a text is the beginning of a JSON text. Tries the ends that one might need, and JSON.parse. */
function completable(text: string): boolean {
  const closers: string[] = [];
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    if (quoted) {
      if (text[i] === "\\") i += 1;
      else if (text[i] === '"') quoted = false;
    } else if (text[i] === '"') quoted = true;
    else if (text[i] === "{" || text[i] === "[") closers.push(text[i] === "{" ? "}" : "]");
    else if (text[i] === "}" || text[i] === "]") closers.pop();
  }
  const rest = closers.toReversed().join("");
  const words = ["true", "false", "null"].flatMap((word) => [1, 2, 3, 4].map((length) => word.slice(length)));
  const inText = ["", "n", "0", "00", "000", "0000"].flatMap((begin) => [`${begin}"`, `${begin}":1`]);
  const middles = ["", "0", ...words, "1", ":1", '"":1', ...inText];
  return middles.some((middle) => {
    try {
      JSON.parse(text + middle + rest);
      return true;
    } catch {
      return false;
    }
  });
}

const bidi = [0x61c, 0x200e, 0x200f, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069];
const surrogates = [0xd800, 0xdbff, 0xdc00, 0xdfff];
const unsafe = [
  ...Array.from({ length: 32 }, (_, code) => code),
  ...Array.from({ length: 33 }, (_, code) => 0x7f + code),
  ...bidi,
  ...surrogates,
];
const escape = (code: number) => `\\u${code.toString(16).padStart(4, "0")}`;

describe("safe text", () => {
  test("has each control character, lone surrogate and bidi control as an escape, and nothing else", () => {
    for (let code = 0; code <= 0xffff; code++) {
      const expected =
        unsafe.includes(code) || (code >= 0xd800 && code <= 0xdfff) ? escape(code) : String.fromCharCode(code);
      if (safeText(String.fromCharCode(code)) !== expected) expect(safeText(String.fromCharCode(code))).toBe(expected);
    }
    expect(safeText("a\u001b[31mb\r\nc\u{1f600}d\ud83d")).toBe("a\\u001b[31mb\\u000d\\u000ac\u{1f600}d\\ud83d");
    expect(safeText("\ud83d\ud83d\ude00\ude00")).toBe("\\ud83d\u{1f600}\\ude00");
    expect(safeText("back\\slash \u2028 \u200d")).toBe("back\\slash \u2028 \u200d");
  });

  test("as JSON it parses back exactly", () => {
    const all = String.fromCharCode(...Array.from({ length: 0x10000 }, (_, code) => code));
    const value = { [all]: [all, "\ud83d\ude00\ud83d", { __proto__: null, "\u202e": "\u009b" }] };
    const text = safeJson(value);
    expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
    expect(text).toBe(safeText(text));
    expect(Object.keys(JSON.parse(text) as object)).toEqual([all]);
    for (let salt = 0; salt < 2_000; salt++) {
      const below = random(salt);
      const made = String.fromCharCode(
        ...Array.from({ length: below(20) }, () => (below(2) === 0 ? pick(below, unsafe) : below(0x10000))),
      );
      expect(JSON.parse(safeJson([made]))).toEqual([made]);
    }
  });

  test("of a value of any depth is what JSON.stringify would write", () => {
    const leaves = {
      n: 1,
      skip: undefined,
      list: [undefined, () => 1, null],
      empty: {},
      text: "\u202e",
      "k\u001b": [],
    };
    let value: unknown = leaves;
    for (let i = 0; i < 50_000; i++) value = i % 2 === 0 ? [value] : { a: value, b: 1 };
    const text = safeJson(value);
    let back = JSON.parse(text) as unknown;
    for (let i = 49_999; i >= 0; i--) back = i % 2 === 0 ? (back as unknown[])[0] : (back as { a: unknown }).a;
    expect(JSON.stringify(back)).toBe(JSON.stringify(leaves));
    expect(text).toContain(safeJson(leaves));
  });

  test("in pieces is the same text, and no piece is long", () => {
    const pair = "\u{1f600}";
    const values: unknown[] = [
      1,
      "text",
      [],
      {},
      { a: [undefined, () => 1, null], skip: undefined, b: { c: "\u001b" } },
      Array.from({ length: 5_000 }, (_, n) => ({ n, text: "x".repeat(n % 50), list: [n, [n]] })),
      { long: `a${pair.repeat(100_000)}`, other: pair.repeat(100_000), lone: "\ud83d".repeat(70_000) },
      ["\u0001".repeat(200_000), "\u202e".repeat(65_536), ""],
    ];
    let deep: unknown = ["x".repeat(100_000)];
    for (let n = 0; n < 20_000; n++) deep = n % 2 === 0 ? [deep, n] : { deep, n };
    for (const value of [...values, deep]) {
      const pieces = [...safeJsonPieces(value)];
      expect(pieces.join("") === safeJson(value)).toBe(true);
      expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(7 * 65_536);
    }
  });

  test("of what JSON lacks is refused", () => {
    const cycle: unknown[] = [];
    cycle.push(cycle);
    const long: { next?: object } = {};
    let last = long;
    for (let i = 0; i < 100_000; i++) last = last.next = {};
    last.next = long;
    for (const value of [undefined, () => 1, Symbol("s"), 1n, { n: 1n }, cycle, long]) {
      expect(() => safeJson(value)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }) as Error);
    }
    for (const value of [1n, { n: 1n, long: "x".repeat(100_000) }, cycle, long]) {
      const all = () => [...safeJsonPieces(value)];
      expect(all).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }) as Error);
    }
  });
});

test.each(["bridge/json-form/json-text", "bridge/json-form/path", "bridge/json-form/form", "inspect/diff"])(
  "%s can be bundled for a page: it needs no module of Node",
  async (name) => {
    const entry = fileURLToPath(new URL(`../../ts/${name}.ts`, import.meta.url));
    const { metafile } = await build({
      entryPoints: [entry],
      bundle: true,
      platform: "browser",
      write: false,
      metafile: true,
      logLevel: "silent",
    });
    expect(Object.keys(metafile.inputs).filter((input) => !/ts\/(inspect|bridge\/json-form)\//.test(input))).toEqual(
      name.endsWith("form") || name.endsWith("diff") ? [] : [expect.stringContaining("ts/bridge/forkpoint-error.ts")],
    );
  },
);

test("an id that begins with a hyphen is no option in a printed command", () => {
  expect(withId("run-1", "--approve")).toBe("run-1 --approve");
  expect(withId("run 1")).toBe("'run 1'");
  expect(withId("-run", "--approve")).toBe("--approve -- -run");
  expect(withId("--help")).toBe("-- --help");
});
