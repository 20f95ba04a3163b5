/** Writes the JSON form of a value for a human: indented and in color. It is JSON, but for messages of LangChain. */

import { safeJson, safeJsonPieces, safeText } from "../../ts/bridge/json-form/json-text.js";
import { messageOf } from "./message.js";
import { type Format, type Style, plain } from "./style.js";

/** Shorter lists and objects are written on one line. */
const SHORT = 72;

/** The maximum length of the text of a message. */
const MESSAGE = 100;

/** A longer text is written in pieces. */
const LONG = 65_536;

/** The deepest indent in levels. Without it, the text would grow with the square of the depth. */
const DEEPEST_INDENT = 100;

/** A list or an object that is being written. */
interface Open {
  keys: string[] | undefined;
  values: unknown[];
  next: number;
}

/**
 * Yields the text of a value, in pieces. The value may be large and deep. Messages inside it are shortened to a line. A
 * value that is a message itself is written completely.
 */
export function* prettyJson(value: unknown, style: Style, indent = ""): Generator<string> {
  const open: Open[] = [];
  let pending: { value: unknown } | undefined = { value };
  for (;;) {
    if (pending !== undefined) {
      const isMessage = open.length === 0 && messageOf(value) !== undefined;
      const isLong = typeof pending.value === "string" && pending.value.length > LONG;
      const short = isMessage || isLong ? undefined : shortOf(pending.value, style);
      if (isLong) for (const piece of safeJsonPieces(pending.value)) yield style("green", piece);
      else if (short !== undefined) yield short.text;
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
    yield `${last.next === 0 ? "" : ","}${line(open.length)}${name}`;
    pending = { value: last.values[last.next] };
    last.next += 1;
  }
}

/** Returns a message, or a value that is short enough for one line. */
function shortOf(value: unknown, style: Style): { text: string } | undefined {
  return messageText(value, MESSAGE, style) ?? inOneLine(value, SHORT, style);
}

/** Returns a message of LangChain as `assistant: "Hello"`, cut to a length. Undefined: the value is no message. */
function messageText(value: unknown, most: number, style: Style): { text: string; length: number } | undefined {
  const message = messageOf(value);
  if (message === undefined) return undefined;
  const { role, text, calls } = message;
  const called = calls.length === 0 ? "" : `calls ${calls.map((name) => safeText(name)).join(", ")}`;
  const room = Math.max(10, most - role.length - 2 - (called === "" ? 0 : called.length + 1));
  const said = text === "" && called !== "" ? "" : excerpt(text, plain, room);
  const words = [said === "" ? "" : style("green", said), called].filter((word) => word !== "").join(" ");
  const length = role.length + 2 + said.length + (said === "" || called === "" ? 0 : 1) + called.length;
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
    return { text: style(formatOf(value), text), length: text.length };
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
    length += name.length + 2;
    const part = length < most ? inOneLine(item, most - length, style) : undefined;
    if (part === undefined || length + part.length > most) return undefined;
    length += part.length;
    parts.push(isList ? part.text : `${style(key === "$type" ? "dim" : "blue", name)}: ${part.text}`);
  }
  if (parts.length === 0) return { text: isList ? "[]" : "{}", length: 2 };
  return { text: isList ? `[${parts.join(", ")}]` : `{ ${parts.join(", ")} }`, length };
}

/** A missing value is written as null, as JSON does in a list. */
function scalar(value: unknown): string {
  return value === undefined ? "null" : safeJson(value);
}

function formatOf(value: unknown): Format | undefined {
  if (typeof value === "string") return "green";
  if (typeof value === "number") return "yellow";
  return value === null ? "dim" : "magenta";
}

/** Returns a value on one line, cut to a length. */
export function excerpt(value: unknown, style: Style, most: number): string {
  if (typeof value === "string" && value.length > most) {
    return style("green", `${safeJson(value.slice(0, most - 1).toWellFormed()).slice(0, -1)}…"`);
  }
  const whole = messageText(value, most, style) ?? inOneLine(value, most, style);
  if (whole !== undefined) return whole.text;
  const count = Array.isArray(value) ? value.length : Object.keys(value as object).length;
  if (Array.isArray(value)) return `[${style("dim", `${count} item${count === 1 ? "" : "s"}`)}]`;
  const names = Object.keys(value as object).map((key) => safeJson(key));
  const shown: string[] = [];
  for (const name of names) {
    if (shown.join(", ").length + name.length > most - 4) break;
    shown.push(name);
  }
  const more = shown.length < names.length ? [style("dim", `… ${names.length - shown.length} more`)] : [];
  return `{ ${[...shown.map((name) => style("blue", name)), ...more].join(", ")} }`;
}
