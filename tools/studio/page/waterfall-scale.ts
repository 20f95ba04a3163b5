// Computes the places of a waterfall's bars. Pauses are shortened to leave space for the work.
import type { WaterfallRow } from "../../../ts/inspect/waterfall.js";

/** The maximum share of the width for all pauses together. */
const PAUSES = 0.4;

export interface Scale {
  /** Returns the place of a time, from 0 to 1. */
  at: (time: number) => number;
  from: number;
  to: number;
}

/** Returns the scale for some rows. `now` is the end of unfinished rows. */
export function scaleOf(rows: readonly WaterfallRow[], now: number): Scale {
  const endOf = ({ from, to, kind }: WaterfallRow) => to ?? (kind === "wait" ? Math.max(from, now) : from);
  const from = rows.reduce((least, row) => Math.min(least, row.from), rows[0]?.from ?? 0);
  const to = rows.reduce((most, row) => Math.max(most, endOf(row)), from);
  // The waits of a run do not overlap, and are ordered by time.
  const waits: Array<[from: number, to: number]> = [];
  let reached = from;
  for (const row of rows) {
    if (!row.waited || row.depth > 0) continue;
    const [start, end] = [Math.max(row.from, reached), endOf(row)];
    if (end <= start) continue;
    waits.push([start, end]);
    reached = end;
  }
  const waited = waits.reduce((sum, [start, end]) => sum + end - start, 0);
  const work = Math.max(to - from - waited, 1);
  // Pauses keep their length unless they would exceed their share.
  const factor = waited === 0 ? 1 : Math.min(1, (work * PAUSES) / (1 - PAUSES) / waited);
  const whole = work + waited * factor;
  const at = (time: number): number => {
    let place = Math.min(Math.max(time, from), to) - from;
    for (const [start, end] of waits) {
      if (time <= start) break;
      place -= (Math.min(time, end) - start) * (1 - factor);
    }
    return Math.min(1, Math.max(0, place / whole));
  };
  return { at, from, to };
}
