/** Breaks text into lines of a width. */

import { safeText } from "../../ts/bridge/json-form/json-text.js";
import { cut, width } from "./table.js";

/** Breaks a text at its line breaks and between words, or inside a longer word. Escapes control characters. */
export function* wrap(text: string, most: number): Generator<string> {
  for (const line of text.split(/\r\n|\n/)) yield* wrapLine(safeText(line.replaceAll("\t", "    ")), most);
}

function* wrapLine(line: string, most: number): Generator<string> {
  let current = "";
  for (const word of line.split(/(?<=\S)(?= )/)) {
    if (width(current + word) <= most) {
      current += word;
      continue;
    }
    if (current !== "") yield current.trimEnd();
    let rest = current === "" ? word : word.trimStart();
    while (width(rest) > most) {
      // `cut` ends with a sign. This replaces the sign with the next character.
      const head = firstOf(rest, most);
      yield head;
      rest = rest.slice(head.length);
    }
    current = rest;
  }
  yield current.trimEnd();
}

/** Returns the beginning of a text that fits in a width: at least one character. */
function firstOf(text: string, most: number): string {
  if (/^[\x20-\x7e]+$/.test(text.slice(0, most))) return text.slice(0, most);
  const some = text.slice(0, most * 8);
  const fits = cut(some, most + 1).replace(/…$/, "");
  return fits === "" ? [...some][0]! : fits;
}
