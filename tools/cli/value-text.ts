/** Writes the JSON form of a value for a human: indented, in color, and still JSON. */

import { safeJson } from "../../ts/bridge/json-form/json-text.js";
import type { Format, Style } from "./style.js";

/** Shorter lists and objects are written on one line. */
const SHORT = 72;

/** A list or an object that is being written. */
interface Open {
  keys: string[] | undefined;
  values: unknown[];
  next: number;
}

/** Yields the text of a value, in pieces. The value may be large and deep. */
export function* prettyJson(value: unknown, style: Style, indent = ""): Generator<string> {
  const open: Open[] = [];
  let pending: { value: unknown } | undefined = { value };
  for (;;) {
    if (pending !== undefined) {
      const short = inOneLine(pending.value, SHORT, style);
      if (short !== undefined) yield short.text;
      else {
        const opened = begin(pending.value as object);
        yield opened.keys === undefined ? "[" : "{";
        open.push(opened);
      }
      pending = undefined;
    }
    const last = open.at(-1);
    if (last === undefined) return;
    const line = (depth: number) => `\n${indent}${"  ".repeat(depth)}`;
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
  const isList = Array.isArray(value);
  const entries = isList ? value.entries() : Object.entries(value);
  const parts: string[] = [];
  let length = isList ? 2 : 4;
  for (const [key, item] of entries) {
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
  const whole = inOneLine(value, most, style);
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
