/**
 * Writes JSON text that is safe to print in a terminal. Parses JSON, and names the place of an error. Needs no module
 * of Node.
 */

import { ForkpointError, show, typeError } from "../forkpoint-error.js";

/**
 * Control characters (C0, DEL, C1), lone surrogates, and the characters that change the direction of text. Terminals
 * and pages act on them instead of showing them.
 */
const UNSAFE = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
const UNSEEN = new RegExp(UNSAFE.source, "u");

/**
 * Returns a text in which control characters, lone surrogates and bidi controls are written as escapes.
 * @example console.log(safeText(run)); // a run's id cannot change the terminal
 */
export function safeText(text: string): string {
  return text.replace(UNSAFE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/**
 * Writes JSON in which control characters, lone surrogates and bidi controls are escaped. It parses back exactly.
 * @example safeJson({ text: "\u001b[31m" }); // '{"text":"\\u001b[31m"}'
 */
export function safeJson(value: unknown): string {
  // Such characters occur only in the strings of JSON, where an escape has the same meaning.
  return safeText(stringify(value));
}

function stringify(value: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    // JSON.stringify is recursive, so a value of some thousand levels overflows the stack.
    if (!(error instanceof RangeError) || error.message.includes("string length")) throw notJson(String(error), error);
    text = stringifyDeep(value);
  }
  if (text === undefined) throw notJson(`JSON has no ${typeof value}`);
  return text;
}

function notJson(why: string, cause?: unknown): ForkpointError {
  const message = `the value cannot be written as JSON: ${why}. Make its JSON form with toJsonForm() first`;
  return new ForkpointError("INVALID_ARGUMENT", message, cause === undefined ? {} : { cause });
}

/** The limits of a part of a value that is written in one piece. */
const PIECE = { values: 1_000, characters: 65_536 };

/**
 * Writes the text of {@link safeJson} in pieces, to save memory with large values.
 * @throws ForkpointError `INVALID_ARGUMENT` for a value that JSON cannot represent.
 */
export function* safeJsonPieces(value: unknown): Generator<string> {
  for (const piece of pieces(value, (part) => (isWithin(part, PIECE) ? stringify(part) : undefined))) {
    yield safeText(piece);
  }
}

/** Returns true if a value has at most this many values inside, and this many characters in its strings. */
export function isWithin(root: unknown, most: { values: number; characters: number }): boolean {
  let { values, characters } = most;
  const stack: unknown[] = [root];
  while (stack.length > 0) {
    const value = stack.pop();
    if (typeof value === "string") characters -= value.length;
    if (typeof value === "object" && value !== null) {
      const keys = Array.isArray(value) ? undefined : Object.keys(value);
      values -= keys?.length ?? (value as unknown[]).length;
      if (values < 0) return false;
      for (const key of keys ?? []) characters -= key.length;
      for (const each of Object.values(value)) stack.push(each);
    }
    if (characters < 0) return false;
  }
  return true;
}

/** An object or a list that is being written. */
interface Open {
  value: object;
  /** The keys of an object. Null for a list. */
  keys: string[] | null;
  next: number;
  empty: boolean;
}

/**
 * Writes the same JSON as JSON.stringify, at any depth. The value consists of plain objects, lists and JSON's primitive
 * values.
 */
function stringifyDeep(root: unknown): string | undefined {
  const all = [...pieces(root, () => undefined)];
  return all.length === 0 ? undefined : all.join("");
}

/** Yields JSON in pieces, or nothing if there is no JSON. `short` returns the text of a part that fits in one piece. */
function* pieces(root: unknown, short: (part: object) => string | undefined): Generator<string> {
  const stack: Open[] = [];
  const within = new Set<object>();
  /** Writes a value. Returns false, and writes nothing, if JSON cannot represent the value. */
  function* write(value: unknown, before: string): Generator<string, boolean> {
    if (typeof value !== "object" || value === null) {
      if (typeof value === "string" && value.length > PIECE.characters) {
        yield before;
        yield* longText(value);
        return true;
      }
      if (typeof value === "bigint") throw notJson("JSON has no bigint");
      const leaf = JSON.stringify(value) as string | undefined;
      if (leaf !== undefined) yield before + leaf;
      return leaf !== undefined;
    }
    if (within.has(value)) throw notJson("it contains itself");
    const text = short(value);
    if (text !== undefined) {
      yield before + text;
      return true;
    }
    within.add(value);
    const keys = Array.isArray(value) ? null : Object.keys(value);
    yield before + (keys === null ? "[" : "{");
    stack.push({ value, keys, next: 0, empty: true });
    return true;
  }
  yield* write(root, "");
  for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
    const { keys, value } = top;
    if (top.next === (keys ?? (value as unknown[])).length) {
      yield keys === null ? "]" : "}";
      within.delete(value);
      stack.pop();
      continue;
    }
    const key = keys === null ? top.next : keys[top.next]!;
    top.next += 1;
    const comma = top.empty ? "" : ",";
    const each = (value as Record<string | number, unknown>)[key];
    if (yield* write(each, keys === null ? comma : `${comma}${JSON.stringify(key)}:`)) top.empty = false;
    else if (keys === null) {
      yield `${comma}null`;
      top.empty = false;
    }
  }
}

function* longText(text: string): Generator<string> {
  yield '"';
  for (let at = 0; at < text.length;) {
    let end = Math.min(text.length, at + PIECE.characters);
    // Do not cut between the two halves of a surrogate pair.
    if (end < text.length && /[\ud800-\udbff]/.test(text[end - 1]!)) end += 1;
    yield JSON.stringify(text.slice(at, end)).slice(1, -1);
    at = end;
  }
  yield '"';
}

/**
 * Parses JSON.
 * @throws ForkpointError `INVALID_ARGUMENT` with the line, the column and what was expected. The properties `line` and
 *   `column` count from 1.
 * @example parseJson('{"a": 1}'); // { a: 1 }
 */
export function parseJson(text: string): unknown {
  if (typeof text !== "string") throw typeError(`a JSON text must be a string, and is ${show(text)}`);
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const scan = new Scan(text);
    const expected = scan.firstError() ?? String(error);
    const { at } = scan;
    const before = text.slice(0, at).split(/\r\n|\r|\n/);
    const [line, column] = [before.length, before.at(-1)!.length + 1];
    const found = at < text.length ? safeJson(String.fromCodePoint(text.codePointAt(at)!)) : "the end of the text";
    const message = `invalid JSON at line ${line}, column ${column}: expected ${expected}, but found ${found}`;
    throw Object.assign(new ForkpointError("INVALID_ARGUMENT", message), { line, column });
  }
}

/** The parts of a string: plain characters, and escapes. */
const CHARACTERS = /[ !#-[\]-\uffff]+/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const SPACE = /[ \t\n\r]*/y;
const WORDS: Record<string, string> = { t: "true", f: "false", n: "null" };

/** Scans a text up to the first character that is not valid JSON. */
class Scan {
  readonly #text: string;
  at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Returns what JSON allows at the first error. Undefined: the text is valid JSON. */
  firstError(): string | undefined {
    /** The closing brackets of all open objects and lists. */
    const closing: Array<"]" | "}"> = [];
    let expected: "value" | "first item" | "first key" | "key" | "more" = "value";
    for (;;) {
      this.#take(SPACE);
      const character = this.#text[this.at];
      const close = closing.at(-1);
      if (expected === "more") {
        if (close === undefined) return character === undefined ? undefined : "the end of the text";
        if (character === ",") expected = close === "}" ? "key" : "value";
        else if (character === close) closing.pop();
        else return `"," or "${close}"`;
        this.at += 1;
      } else if (close === character && (expected === "first item" || expected === "first key")) {
        closing.pop();
        this.at += 1;
        expected = "more";
      } else if (expected === "first key" || expected === "key") {
        if (character !== '"') return `a key in double quotes${expected === "key" ? "" : ' or "}"'}`;
        const wrong = this.#string();
        if (wrong !== undefined) return wrong;
        this.#take(SPACE);
        if (!this.#take(/:/y)) return '":"';
        expected = "value";
      } else if (character === "{" || character === "[") {
        closing.push(character === "{" ? "}" : "]");
        this.at += 1;
        expected = character === "{" ? "first key" : "first item";
      } else {
        const wrong = this.#leaf(character, expected === "first item" ? 'a value or "]"' : "a value");
        if (wrong !== undefined) return wrong;
        expected = "more";
      }
    }
  }

  #leaf(character = "", expected: string): string | undefined {
    if (character === '"') return this.#string();
    const word = WORDS[character];
    if (word === undefined) return /[-\d]/.test(character) ? this.#number() : expected;
    for (const letter of word) {
      if (this.#text[this.at] !== letter) return word;
      this.at += 1;
    }
    return undefined;
  }

  #number(): string | undefined {
    if (this.#take(/-?0(?=\d)/y)) return "no digit after a leading 0";
    if (!this.#take(/-?\d+/y)) {
      this.#take(/-/y);
      return "a digit";
    }
    if (!this.#take(/\.\d+/y) && this.#take(/\./y)) return "a digit";
    return !this.#take(/e[+-]?\d+/iy) && this.#take(/e[+-]?/iy) ? "a digit" : undefined;
  }

  #string(): string | undefined {
    this.at += 1;
    while (this.#take(CHARACTERS) || this.#take(ESCAPE));
    if (this.#take(/"/y)) return undefined;
    if (this.#take(/\\u[0-9a-fA-F]{0,3}/y)) return '4 hexadecimal digits after "\\u"';
    if (this.#take(/\\/y)) return 'one of " \\ / b f n r t u after "\\"';
    return this.at === this.#text.length
      ? "a closing quote"
      : "a closing quote, or an escape such as \\n instead of a control character";
  }

  /** Moves past the match of a sticky expression. Returns false if the expression does not match here. */
  #take(expression: RegExp): boolean {
    expression.lastIndex = this.at;
    const isThere = expression.test(this.#text);
    if (isThere) this.at = expression.lastIndex;
    return isThere;
  }
}

/** Quotes a word for a POSIX shell, if necessary. Invisible characters become escapes in `$'…'`. */
export function shellWord(text: string): string {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  if (!UNSEEN.test(text)) return `'${text.replaceAll("'", `'\\''`)}'`;
  const escaped = Array.from(text, (character) => {
    if (!UNSEEN.test(character)) return character === "\\" || character === "'" ? `\\${character}` : character;
    return `\\U${character.codePointAt(0)!.toString(16).padStart(8, "0")}`;
  });
  return `$'${escaped.join("")}'`;
}

/** Writes an id, a second argument and an option for a shell. What begins with a hyphen follows `--`, so that it is no option. */
export function withId(id: string, option = "", more?: string): string {
  const ids = more === undefined ? [id] : [id, more];
  const written = ids.map(shellWord);
  const words = ids.some((each) => each.startsWith("-")) ? [option, "--", ...written] : [...written, option];
  return words.filter((word) => word !== "").join(" ");
}
