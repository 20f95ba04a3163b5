/** What a search looks for: a text or a regular expression. */

import { createContext, Script } from "node:vm";
import { messageOf, rangeError, typeError } from "../bridge/errors.js";
import { binaryTags, type Stored } from "../bridge/serializer.js";

/** Where a text matches. */
export interface Found {
  at: number;
  length: number;
}

export interface Pattern {
  /** Returns the first match in a text, or null. */
  find(text: string): Found | null;
  /** Returns false if no value in these bytes matches. A value is read only if this returns true. */
  mayBeIn(part: Stored): boolean;
  /** Runs a search of values. Throws if a regular expression takes too long. */
  during<T>(search: () => T): T;
}

export interface PatternOptions {
  regex?: boolean | undefined;
  ignoreCase?: boolean | undefined;
}

/** How long the search of one checkpoint with a regular expression may take, in ms. */
const MOST_MS = 2_000;

/** The tags whose bytes are JSON text. */
const JSON_TAGS = new Set(["json", "json-form"]);

export function patternOf(text: string, { regex = false, ignoreCase = false }: PatternOptions): Pattern {
  if (text === "") throw rangeError("the text to search for is empty");
  if (regex) return regularExpression(text, ignoreCase);
  return ignoreCase ? anyCase(text) : exact(text);
}

const direct = <T>(search: () => T): T => search();

function exact(text: string): Pattern {
  const inJson = Buffer.from(escaped(text));
  // V8 writes a text with one byte or with two bytes for each character.
  const inV8 = [Buffer.from(text, "utf16le")];
  if (/^[\0-\xff]*$/.test(text)) inV8.push(Buffer.from(text, "latin1"));
  const isMade = isMadeByReader(text, false);
  return {
    find(value) {
      const at = value.indexOf(text);
      return at === -1 ? null : { at, length: text.length };
    },
    mayBeIn({ tag, bytes }) {
      const all = viewOf(bytes);
      if (JSON_TAGS.has(tag)) return all.includes(inJson) || hasOtherEscapes(all);
      return !binaryTags.includes(tag) || isMade || inV8.some((needle) => all.includes(needle));
    },
    during: direct,
  };
}

/** The letters outside ASCII that a search without case takes for `s` and `k`, in UTF-8 and in UTF-16. */
const FOLDED = [
  { letter: "s", bytes: Buffer.from("\u017f") },
  { letter: "s", bytes: Buffer.from("\u017f", "utf16le") },
  { letter: "k", bytes: Buffer.from("\u212a") },
  { letter: "k", bytes: Buffer.from("\u212a", "utf16le") },
];

function anyCase(text: string): Pattern {
  const expression = new RegExp(literal(text), "iu");
  const isAscii = /^[\0-\x7f]*$/.test(text);
  const inJson = new RegExp(literal(escaped(text)), "i");
  const inV8 = new RegExp(Array.from(text, literal).join("\0?"), "i");
  const isMade = isMadeByReader(text, true);
  const folded = FOLDED.filter(({ letter }) => text.toLowerCase().includes(letter));
  return {
    find: (value) => foundIn(expression, value),
    mayBeIn({ tag, bytes }) {
      const isJson = JSON_TAGS.has(tag);
      if (!isAscii || (!isJson && (isMade || !binaryTags.includes(tag)))) return true;
      const all = viewOf(bytes);
      if ((isJson ? inJson : inV8).test(all.toString("latin1"))) return true;
      return (isJson && hasOtherEscapes(all)) || folded.some(({ bytes: needle }) => all.includes(needle));
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
    mayBeIn: () => true,
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
    // With the flag `u`, some expressions are not allowed that are common elsewhere, such as `\-`.
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

/** Returns a text as it is between the quotes of JSON. */
const escaped = (text: string): string => JSON.stringify(text).slice(1, -1);

/** Returns the regular expression of a text. */
const literal = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");

const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer => Buffer.from(buffer, byteOffset, byteLength);

/** Returns true if a JSON text has escapes that may stand for a character that is searched for. */
const hasOtherEscapes = (json: Buffer): boolean =>
  json.includes(BACKSLASH) && (json.includes("\\u") || json.includes("\\/"));

const BACKSLASH = 0x5c;

/** Texts that a reader makes: they are shown, but V8 does not write them as texts. */
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

/** Returns true if a text may be a part of a number, a date or a word, which V8 writes in binary form. */
function isMadeByReader(text: string, ignoreCase: boolean): boolean {
  const isNumber = ignoreCase ? /^[-+0-9:.tze]+$/i.test(text) : /^[-+0-9:.TZe]+$/.test(text);
  if (isNumber) return true;
  const same = (word: string) => (ignoreCase ? word.toLowerCase() : word);
  return MADE.some((word) => same(word).includes(same(text)));
}
