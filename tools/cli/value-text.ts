/** Writes the JSON form of a value for people: indented, in color, with shortened messages. */

import { safeJson, safeJsonPieces, safeText } from "../../ts/bridge/json-form/json-text.js";
import { messageOf } from "./message.js";
import { type Format, type Style, plain } from "./style.js";
import { begin as beginOf, width } from "./width.js";
import { folded } from "./wrap.js";

/** Shorter lists and objects are written on one line. */
const SHORT = 72;

/** The maximum length of the text of a message. */
const MESSAGE = 100;

/** A longer text is written in pieces. */
const LONG = 65_536;

/** The maximum indent in levels. Otherwise the text would grow with the square of the depth. */
const DEEPEST_INDENT = 100;

/** A list or an object that is being written. */
interface Open {
  keys: string[] | undefined;
  values: unknown[];
  next: number;
}

/**
 * Yields the text of a value, in pieces. The value may be large and deep. Messages inside it are shortened to a line. A
 * message at the top is written completely. With the width of a terminal, long texts inside the value are wrapped.
 */
export function* prettyJson(
  value: unknown,
  style: Style,
  indent = "",
  most = Number.POSITIVE_INFINITY,
): Generator<string> {
  const open: Open[] = [];
  let pending: { value: unknown } | undefined = { value };
  let before = 0;
  for (;;) {
    if (pending !== undefined) {
      const isMessage = open.length === 0 && messageOf(value) !== undefined;
      const isLong = typeof pending.value === "string" && pending.value.length > LONG;
      const inner = `${indent}${"  ".repeat(Math.min(open.length, DEEPEST_INDENT))}`;
      // Minus one character for the comma.
      const room = most - inner.length - before - 1;
      const short = isMessage || isLong ? undefined : shortOf(pending.value, style, room);
      if (isLong) for (const piece of safeJsonPieces(pending.value)) yield style("green", piece);
      else if (short !== undefined && short.length > room && open.length > 0 && typeof pending.value === "string") {
        const lines = folded(safeJson(pending.value), room, most - inner.length - 3);
        yield lines.map((line) => style("green", line)).join(`\n${inner}  `);
      } else if (short !== undefined) yield short.text;
      else {
        const opened = begin(pending.value as object);
        yield opened.keys === undefined ? "[" : "{";
        open.push(opened);
      }
      pending = undefined;
    }
    const last = open.at(-1);
    if (last === undefined) return;
    const line = (depth: number) => `\n${indent}${"  ".repeat(Math.min(depth, DEEPEST_INDENT))}`;
    if (last.next === last.values.length) {
      open.pop();
      yield `${line(open.length)}${last.keys === undefined ? "]" : "}"}`;
      continue;
    }
    const key = last.keys?.[last.next];
    const name = key === undefined ? "" : `${style("blue", safeJson(key))}: `;
    before = key === undefined || most === Number.POSITIVE_INFINITY ? 0 : width(safeJson(key)) + 2;
    yield `${last.next === 0 ? "" : ","}${line(open.length)}${name}`;
    pending = { value: last.values[last.next] };
    last.next += 1;
  }
}

/** Returns a message or another value that fits in one line. */
function shortOf(value: unknown, style: Style, room: number): { text: string; length: number } | undefined {
  // Minus two characters for the quotes.
  return messageText(value, Math.min(MESSAGE, room - 2), style) ?? inOneLine(value, Math.min(SHORT, room), style);
}

/** Returns a message as `assistant: "Hello"`, cut to a length. Undefined: not a message. */
function messageText(value: unknown, most: number, style: Style): { text: string; length: number } | undefined {
  const message = messageOf(value);
  if (message === undefined) return undefined;
  const { role, text, calls } = message;
  const called = calls.length === 0 ? "" : `calls ${calls.map((name) => safeText(name)).join(", ")}`;
  const room = Math.max(10, most - role.length - 2 - (called === "" ? 0 : called.length + 1));
  const said = text === "" && called !== "" ? "" : excerpt(text, plain, room);
  const words = [said === "" ? "" : style("green", said), called].filter((word) => word !== "").join(" ");
  const length = role.length + 2 + width(said) + (said === "" || called === "" ? 0 : 1) + called.length;
  return { text: `${style("blue", safeText(role))}: ${words}`, length };
}

function begin(value: object): Open {
  if (Array.isArray(value)) return { keys: undefined, values: value, next: 0 };
  return { keys: Object.keys(value), values: Object.values(value), next: 0 };
}

/** Returns a value on one line, and its length without colors. Undefined if it would be longer than `most`. */
function inOneLine(value: unknown, most: number, style: Style): { text: string; length: number } | undefined {
  if (typeof value !== "object" || value === null) {
    const text = scalar(value);
    return { text: style(formatOf(value), text), length: width(text) };
  }
  const message = messageText(value, MESSAGE, style);
  if (message !== undefined) return message.length > most ? undefined : message;
  const isList = Array.isArray(value);
  const entries = isList ? value.entries() : Object.entries(value);
  const parts: string[] = [];
  let length = isList ? 2 : 4;
  for (const [key, item] of entries) {
    if (typeof item === "string" && item.length > most) return undefined;
    const name = isList ? "" : safeJson(key);
    length += width(name) + 2;
    const part = length < most ? inOneLine(item, most - length, style) : undefined;
    if (part === undefined || length + part.length > most) return undefined;
    length += part.length;
    parts.push(isList ? part.text : `${style(key === "$type" ? "dim" : "blue", name)}: ${part.text}`);
  }
  if (parts.length === 0) return { text: isList ? "[]" : "{}", length: 2 };
  return { text: isList ? `[${parts.join(", ")}]` : `{ ${parts.join(", ")} }`, length };
}

/** A missing value is written as null, as in a JSON list. */
function scalar(value: unknown): string {
  return value === undefined ? "null" : safeJson(value);
}

function formatOf(value: unknown): Format | undefined {
  if (typeof value === "string") return "green";
  if (typeof value === "number") return "yellow";
  return value === null ? "dim" : "magenta";
}

/** Returns the beginning of a text as JSON, in at most this width without the quotes. */
function beginAsJson(text: string, most: number): string {
  let kept = beginOf(text.slice(0, most + 1).toWellFormed(), most);
  for (;;) {
    const json = safeJson(kept);
    const tooMany = width(json) - 2 - most;
    if (tooMany <= 0 || kept === "") return json;
    // An escape takes up to 6 characters.
    kept = kept.slice(0, kept.length - Math.max(1, Math.floor(tooMany / 6))).replace(/[\ud800-\udbff]$/, "");
  }
}

/** Returns a value on one line, cut to a length. */
export function excerpt(value: unknown, style: Style, most: number): string {
  if (typeof value === "string" && (value.length > most || width(safeJson(value)) > most + 2)) {
    return style("green", `${beginAsJson(value, most - 1).slice(0, -1)}…"`);
  }
  const whole = messageText(value, most, style) ?? inOneLine(value, most, style);
  if (whole !== undefined) return whole.text;
  const count = Array.isArray(value) ? value.length : Object.keys(value as object).length;
  if (Array.isArray(value)) return `[${style("dim", `${count} item${count === 1 ? "" : "s"}`)}]`;
  const names = Object.keys(value as object).map((key) => safeJson(key));
  const shown: string[] = [];
  for (const name of names) {
    if (width([...shown, name].join(", ")) > most - (shown.length + 1 < names.length ? 18 : 4)) break;
    shown.push(name);
  }
  const more = shown.length < names.length ? [style("dim", `… ${names.length - shown.length} more`)] : [];
  return `{ ${[...shown.map((name) => style("blue", name)), ...more].join(", ")} }`;
}
