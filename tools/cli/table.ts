/** Tables whose columns are aligned, in a terminal of any width. */

import stringWidth from "string-width";
import type { Format, Style } from "./style.js";

/** A column of a table. */
export interface Column {
  title: string;
  /** Numbers are aligned at their end. */
  align?: "right";
  /** Columns with a higher number are left out first if the terminal is too narrow. Missing: the column always stays. */
  drop?: number;
  /** The width to which the column may be cut. Missing: its texts are never cut, for example because they are ids. */
  least?: number;
}

/** A text of a table. The text has no control characters. */
export interface Cell {
  text: string;
  format?: Format | undefined;
}

const gap = 2;

/** Returns the number of terminal columns that a text takes. */
export function width(text: string): number {
  return /^[\x20-\x7e]*$/.test(text) ? text.length : stringWidth(text);
}

/** Cuts a text to a width. Never cuts a character in two. */
export function cut(text: string, most: number): string {
  if (width(text) <= most) return text;
  let [kept, taken] = ["", 0];
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    const next = width(segment);
    if (taken + next > most - 1) break;
    [kept, taken] = [kept + segment, taken + next];
  }
  return most < 1 ? "" : `${kept}…`;
}

/** Pads a text to a width. */
export function pad(text: string, to: number, align?: "right"): string {
  const space = " ".repeat(Math.max(0, to - width(text)));
  return align === "right" ? space + text : text + space;
}

/**
 * Returns the lines of a table. `most` is the width of the terminal: Infinity if the output is none. Columns without a
 * text are left out.
 */
export function table(columns: Column[], rows: Cell[][], style: Style, most: number): string[] {
  const used = columns.map((column, at) => ({
    ...column,
    at,
    width: rows.reduce((most, row) => Math.max(most, width(row[at]?.text ?? "")), width(column.title)),
  }));
  let shown = used.filter(({ at }) => rows.some((row) => (row[at]?.text ?? "") !== ""));
  const total = () => shown.reduce((sum, column) => sum + column.width + gap, -gap);
  while (total() > most) {
    const last = shown.reduce((worst, column) => ((column.drop ?? 0) > (worst.drop ?? 0) ? column : worst), shown[0]!);
    if (last.drop === undefined) break;
    shown = shown.filter((column) => column !== last);
  }
  for (const column of shown) {
    if (total() > most && column.least !== undefined) {
      column.width = Math.max(Math.min(column.least, column.width), column.width - (total() - most));
    }
  }
  const line = (cells: Array<Cell | undefined>) =>
    shown
      .map(({ at, width, align }, place) => {
        const { text = "", format } = cells[at] ?? {};
        const fits = cut(text, width);
        const padded = place === shown.length - 1 && align === undefined ? fits : pad(fits, width, align);
        return style(format, padded);
      })
      .join(" ".repeat(gap))
      .trimEnd();
  const title = columns.map(({ title }) => ({ text: title, format: "dim" as const }));
  return [line(title), ...rows.map(line)];
}
