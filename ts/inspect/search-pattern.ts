/** The pattern of a search: a text or a regular expression. */

import { createContext, Script } from "node:vm";
import { messageOf, rangeError, typeError } from "../bridge/errors.js";
import { binaryTags } from "../bridge/serializer.js";
import type { Sieve } from "../plugin/wire.js";

/** The position of a match in a text. */
export interface Found {
  at: number;
  length: number;
}

export interface Pattern {
  /** Returns the first match in a text, or null. */
  find(text: string): Found | null;
  /** Bytes in every matching value. Other values are not read. */
  needles: Needles;
  /** Runs a search of values. Throws if a regular expression takes too long. */
  during<T>(search: () => T): T;
}

/** Texts as bytes, of which a value must contain one. An empty text is in all bytes. */
type Texts = number[][];

interface Needles {
  ignoreCase: boolean;
  /** In a value that is stored as JSON text. */
  json: Texts;
  /** In a value that V8 wrote. */
  v8: Texts;
  /** In the name of a part. */
  names: Texts;
}

export interface PatternOptions {
  regex?: boolean | undefined;
  ignoreCase?: boolean | undefined;
}

/** The time limit for a regular expression in one checkpoint, in ms. */
const MOST_MS = 2_000;

/** The tags whose bytes are JSON text. */
const JSON_TAGS = ["json", "json-form"];

/** Matches all bytes. */
const ANY: Texts = [[]];

/** Returns the search for the engine. It cannot search the bytes of the serializers with the tags `others`. */
export function sieveOf({ needles: { ignoreCase, json, v8, names } }: Pattern, others: Iterable<string>): Sieve {
  const kinds = [
    // Bytes are not text.
    { tags: ["bytes"], needles: [] },
    { tags: [...others], needles: ANY },
    { tags: JSON_TAGS, needles: json },
    { tags: binaryTags, needles: v8 },
  ];
  // A contract may keep a small value as JSON text beside its checkpoint.
  return { ignoreCase, kinds, names: [...names, ...json] };
}

export function patternOf(text: string, { regex = false, ignoreCase = false }: PatternOptions): Pattern {
  if (text === "") throw rangeError("the text to search for is empty");
  if (regex) return regularExpression(text, ignoreCase);
  return ignoreCase ? anyCase(text) : exact(text);
}

const direct = <T>(search: () => T): T => search();

function exact(text: string): Pattern {
  // V8 writes a text with one byte or with two bytes for each character.
  const inV8 = [bytesOf(text, "utf16le")];
  if (/^[\0-\xff]*$/.test(text)) inV8.push(bytesOf(text, "latin1"));
  return {
    find(value) {
      const at = value.indexOf(text);
      return at === -1 ? null : { at, length: text.length };
    },
    needles: {
      ignoreCase: false,
      json: [bytesOf(escaped(text)), ...OTHER_ESCAPES],
      v8: isMadeByReader(text, false) ? ANY : inV8,
      names: [bytesOf(text)],
    },
    during: direct,
  };
}

/** Letters outside ASCII that match `s` and `k` when case is ignored. */
const FOLDED = { s: "\u017f", k: "\u212a" };

function anyCase(text: string): Pattern {
  const expression = new RegExp(literal(text), "iu");
  const lower = text.toLowerCase();
  const folded = Object.entries(FOLDED).flatMap(([letter, other]) =>
    lower.includes(letter) ? [bytesOf(other), bytesOf(other, "utf16le")] : [],
  );
  const inV8 = [bytesOf(text, "latin1"), bytesOf(text, "utf16le"), ...folded];
  const isAscii = /^[\0-\x7f]*$/.test(text);
  return {
    find: (value) => foundIn(expression, value),
    needles: {
      ignoreCase: true,
      json: isAscii ? [bytesOf(escaped(text)), ...OTHER_ESCAPES, ...folded] : ANY,
      v8: isAscii && !isMadeByReader(text, true) ? inV8 : ANY,
      names: isAscii ? [bytesOf(text), ...folded] : ANY,
    },
    during: direct,
  };
}

function regularExpression(text: string, ignoreCase: boolean): Pattern {
  const expression = compiled(text, ignoreCase ? "i" : "");
  let work: (() => unknown) | undefined;
  const context = createContext({ run: () => work?.() });
  const script = new Script("run()");
  return {
    find: (value) => foundIn(expression, value),
    needles: { ignoreCase: false, json: ANY, v8: ANY, names: ANY },
    during<T>(search: () => T): T {
      work = search;
      try {
        return script.runInContext(context, { timeout: MOST_MS }) as T;
      } catch (error) {
        if ((error as { code?: unknown }).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
        throw rangeError(
          `the regular expression takes longer than ${MOST_MS / 1_000} s for one checkpoint: simplify it`,
        );
      }
    },
  };
}

function compiled(text: string, flags: string): RegExp {
  try {
    return new RegExp(text, `${flags}u`);
  } catch {
    // The flag `u` forbids some common expressions, such as `\-`.
  }
  try {
    return new RegExp(text, flags);
  } catch (error) {
    throw typeError(`the regular expression is wrong: ${messageOf(error)}`);
  }
}

function foundIn(expression: RegExp, text: string): Found | null {
  const found = expression.exec(text);
  return found && { at: found.index, length: found[0].length };
}

/** Returns a text as JSON, without the quotes. */
const escaped = (text: string): string => JSON.stringify(text).slice(1, -1);

/** Returns the regular expression of a text. */
const literal = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");

const bytesOf = (text: string, encoding: BufferEncoding = "utf8"): number[] => [...Buffer.from(text, encoding)];

/** JSON escapes that may stand for any searched character. */
const OTHER_ESCAPES: Texts = ["\\u", "\\/"].map((text) => bytesOf(text));

/** Texts that a reader makes. V8 stores their values in binary form. */
const MADE = [
  "true",
  "false",
  "null",
  "NaN",
  "-Infinity",
  "name",
  "message",
  "stack",
  "cause",
  "EvalError",
  "RangeError",
  "ReferenceError",
  "SyntaxError",
  "TypeError",
  "URIError",
];

/** Returns true if a text may occur in a number, a date or a word that V8 stores in binary form. */
function isMadeByReader(text: string, ignoreCase: boolean): boolean {
  const isNumber = ignoreCase ? /^[-+0-9:.tze]+$/i.test(text) : /^[-+0-9:.TZe]+$/.test(text);
  if (isNumber) return true;
  const same = (word: string) => (ignoreCase ? word.toLowerCase() : word);
  return MADE.some((word) => same(word).includes(same(text)));
}
