/** Writes tables with aligned columns that fit the terminal. */

import stringWidth from "string-width";
import { safeText } from "../../ts/bridge/json-form/json-text.js";
import type { Format, Style } from "./style.js";

/** A column of a table. Each row shows an entry of a list. */
export interface Column<Entry> {
  title: string;
  /** Control characters are escaped. */
  cell: (entry: Entry) => { text: string; format?: Format | undefined };
  /** For numbers. */
  align?: "right";
  /** If the terminal is too narrow, columns with a higher number are dropped first. Default: the column always stays. */
  drop?: number;
  /** The minimum width of the column when it is cut. Default: it is never cut, for example because it has ids. */
  least?: number;
}

const gap = 2;

/** Returns the number of terminal columns that a text takes. */
export function width(text: string): number {
  return /^[\x20-\x7e]*$/.test(text) ? text.length : stringWidth(text);
}

/** Cuts a text to a width, between two characters. */
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

export function pad(text: string, to: number, align?: "right"): string {
  const space = " ".repeat(Math.max(0, to - width(text)));
  return align === "right" ? space + text : text + space;
}

/**
 * Returns the lines of a table. `most` is the width of the terminal, or Infinity. Empty columns are left out. Without
 * entries there are no lines.
 */
export function table<Entry>(
  columns: ReadonlyArray<Column<Entry>>,
  entries: readonly Entry[],
  { style, width: most }: { style: Style; width: number },
): string[] {
  if (entries.length === 0) return [];
  const filled = columns.map(({ title, cell, ...column }) => {
    const cells = entries.map(cell).map(({ text, format }) => ({ text: safeText(text), format }));
    const widest = cells.reduce((most, { text }) => Math.max(most, width(text)), width(title));
    return { ...column, cells: [{ text: title, format: "dim" as const }, ...cells], width: widest };
  });
  let shown = filled.filter(({ cells }) => cells.slice(1).some(({ text }) => text !== ""));
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
  return Array.from({ length: entries.length + 1 }, (_, at) => {
    const line = shown.map(({ cells, width, align }, place) => {
      const { text, format } = cells[at]!;
      const fits = cut(text, width);
      return style(format, place === shown.length - 1 && align === undefined ? fits : pad(fits, width, align));
    });
    return line.join(" ".repeat(gap)).trimEnd();
  });
}
