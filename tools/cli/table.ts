/** Writes tables with aligned columns that fit the terminal. */

import { safeText } from "../../ts/bridge/json-form/json-text.js";
import { ShortIds } from "./short-ids.js";
import type { Format, Style } from "./style.js";
import { cut, pad, width } from "./width.js";

export { cut, pad, width } from "./width.js";

/** A column of a table. Each row shows an entry of a list. */
export interface Column<Entry> {
  title: string;
  /** Returns a cell. Control characters are escaped later. */
  cell: (entry: Entry) => { text: string; format?: Format | undefined };
  /** For numbers. */
  align?: "right";
  /** In a narrow terminal, columns with higher numbers are dropped first. Default: never dropped. */
  drop?: number;
  /** The minimum width of a cut column. Default: never cut, for example a column of numbers. */
  least?: number;
  /**
   * The column has ids, which are shortened first in a narrow terminal: see {@link ShortIds}. A list contains hidden
   * ids that the shortened ones must differ from.
   */
  ids?: true | readonly string[];
}

const gap = 2;

interface Cell {
  text: string;
  format?: Format | undefined;
}

/** A column with its cells. The first cell is the title. */
interface Filled {
  cells: Cell[];
  align: "right" | undefined;
  drop: number | undefined;
  ids: ShortIds | undefined;
  /** The width of the widest cell. */
  whole: number;
  /** The width of the column. */
  width: number;
}

/**
 * Returns the lines of a table. `most` is the width of the terminal, or Infinity. Empty columns are left out. Without
 * entries, there are no lines.
 */
export function table<Entry>(
  columns: ReadonlyArray<Column<Entry>>,
  entries: readonly Entry[],
  { style, width: most }: { style: Style; width: number },
): string[] {
  if (entries.length === 0) return [];
  const filled = columns.map((column) => fill(column, entries));
  const shown = fit(
    filled.filter(({ cells }) => cells.slice(1).some(({ text }) => text !== "")),
    most,
  );
  return Array.from({ length: entries.length + 1 }, (_, at) => {
    const line = shown.map(({ cells, width, align, ids }, place) => {
      const { text, format } = cells[at]!;
      const fits = ids === undefined || at === 0 ? cut(text, width) : ids.fit(text, width);
      return style(format, place === shown.length - 1 && align === undefined ? fits : pad(fits, width, align));
    });
    return line.join(" ".repeat(gap)).trimEnd();
  });
}

function fill<Entry>({ title, cell, align, drop, least, ids }: Column<Entry>, entries: readonly Entry[]): Filled {
  const cells = entries.map(cell).map(({ text, format }): Cell => ({ text: safeText(text), format }));
  const whole = cells.reduce((most, { text }) => Math.max(most, width(text)), width(title));
  const short =
    ids &&
    new ShortIds(
      cells.map(({ text }) => text).filter((text) => text !== ""),
      ids === true ? [] : ids,
    );
  const narrowest = short === undefined ? (least ?? whole) : Math.max(short.least, width(title));
  return {
    cells: [{ text: title, format: "dim" }, ...cells],
    align,
    drop,
    ids: short,
    whole,
    width: Math.min(narrowest, whole),
  };
}

/** Returns the columns that fit, with their widths. First gives each its minimum width. */
function fit(columns: Filled[], most: number): Filled[] {
  let shown = columns;
  const total = () => shown.reduce((sum, column) => sum + column.width + gap, -gap);
  while (total() > most) {
    const last = shown.reduce((worst, column) => ((column.drop ?? 0) > (worst.drop ?? 0) ? column : worst), shown[0]!);
    if (last.drop === undefined) break;
    shown = shown.filter((column) => column !== last);
  }
  while (total() > most) {
    const widest = shown.reduce((wide, column) => (column.width > wide.width ? column : wide));
    if (widest.width === 1) break;
    widest.width -= 1;
  }
  // Texts get the remaining width first.
  for (const column of [
    ...shown.filter(({ ids }) => ids === undefined),
    ...shown.filter(({ ids }) => ids !== undefined),
  ]) {
    column.width = Math.min(column.whole, column.width + Math.max(0, most - total()));
  }
  return shown;
}
