/** Measures and cuts texts by their width in terminal columns. */

import stringWidth from "string-width";

/** Returns the width of a text in terminal columns, without color codes. */
export function width(text: string): number {
  return /^[\x20-\x7e]*$/.test(text) ? text.length : stringWidth(text);
}

const characters = (text: string) => Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment);

/** Cuts a text to a width, between two characters. */
export function cut(text: string, most: number): string {
  if (width(text) <= most) return text;
  return most < 1 ? "" : `${begin(text, most - 1)}…`;
}

/** Returns the longest beginning of a text that fits in this width. */
export function begin(text: string, most: number): string {
  let [kept, taken] = ["", 0];
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    const next = width(segment);
    if (taken + next > most) break;
    [kept, taken] = [kept + segment, taken + next];
  }
  return kept;
}

/** Returns the longest end of a text that fits in this width. */
export function cutStart(text: string, most: number): string {
  let [kept, taken] = ["", 0];
  for (const segment of characters(text).toReversed()) {
    const next = width(segment);
    if (taken + next > most) break;
    [kept, taken] = [segment + kept, taken + next];
  }
  return kept;
}

export function pad(text: string, to: number, align?: "right"): string {
  const space = " ".repeat(Math.max(0, to - width(text)));
  return align === "right" ? space + text : text + space;
}
