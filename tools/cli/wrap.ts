/** Breaks lines that are wider than the terminal. */

import { stripVTControlCharacters } from "node:util";
import { begin, cut, width } from "./width.js";

/** The minimum width for wrapping. A narrower terminal breaks the lines itself. */
const NARROWEST = 20;

/**
 * Wraps a line between words, so that each line fits. Continuation lines are indented. A word that is too wide, such as
 * an id or a path, is not broken. The line may have colors.
 */
export function wrapped(line: string, most: number, indent?: string): string[] {
  if (most < NARROWEST || most === Number.POSITIVE_INFINITY || width(line) <= most) return [line];
  const [own = ""] = /^ */.exec(line) ?? [];
  const next = indent ?? `${own}  `;
  const lines: string[] = [];
  let at = own;
  let taken = own.length;
  let isEmpty = true;
  for (const word of line.slice(own.length).split(" ")) {
    const wide = width(word);
    if (!isEmpty && taken + 1 + wide > most) {
      lines.push(at.trimEnd());
      [at, taken, isEmpty] = [next, next.length, true];
      // Spaces between columns are not the beginning of a line.
      if (stripVTControlCharacters(word) === "") {
        at += word;
        continue;
      }
    }
    at += isEmpty ? word : ` ${word}`;
    taken += wide + (isEmpty ? 0 : 1);
    isEmpty &&= stripVTControlCharacters(word) === "";
  }
  return [...lines, at.trimEnd()];
}

/** Joins facts with a separator. A fact that does not fit begins the next line. */
export function joined(facts: readonly string[], between: string, most: number, indent = "  "): string[] {
  const lines: string[] = [];
  let at = "";
  for (const fact of facts) {
    const room = most - (lines.length === 0 ? 0 : indent.length);
    if (at !== "" && width(at) + width(between) + width(fact) > room) {
      lines.push(lines.length === 0 ? at : indent + at);
      at = "";
    }
    at = at === "" ? fact : `${at}${between}${fact}`;
  }
  return [...lines, lines.length === 0 ? at : indent + at];
}

/** Wraps a text without colors at a width, between words if possible. Never loses a character. */
export function folded(text: string, first: number, others: number): string[] {
  const lines: string[] = [];
  let left = text;
  for (;;) {
    const most = Math.max(NARROWEST, lines.length === 0 ? first : others);
    const head = left.length <= most && width(left) <= most ? left : begin(left.slice(0, most * 2), most);
    if (head === left) return [...lines, left];
    const space = head.lastIndexOf(" ");
    const at = space > most / 2 ? space + 1 : head.length;
    lines.push(left.slice(0, at));
    left = left.slice(at);
  }
}

/** Cuts a line to a width. Colors in the line are ended. */
export function clipped(line: string, most: number): string {
  return width(line) <= most ? line : cut(stripVTControlCharacters(line), most);
}
