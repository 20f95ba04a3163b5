import type { Inspector } from "../../inspect.js";
import type { Query } from "./query.js";

const HOUR = 3_600_000;

/** The most lines that are read for the picture of the last day. */
const MAX_LINES = 200_000;

/** What was saved in an hour. */
interface Hour {
  /** When the hour begins, in ms since the epoch. */
  at: number;
  checkpoints: number;
}

/** Counts the checkpoints that were saved in each of the last 24 hours. */
export async function activity(inspector: Inspector, _query: Query, now = Date.now()): Promise<unknown> {
  const first = Math.floor(now / HOUR) * HOUR - 23 * HOUR;
  const hours: Hour[] = Array.from({ length: 24 }, (_, index) => ({ at: first + index * HOUR, checkpoints: 0 }));
  let lines = 0;
  for await (const line of inspector.export({ since: first, values: false })) {
    lines += 1;
    if (lines > MAX_LINES) break;
    const { checkpoint } = JSON.parse(line) as { checkpoint?: { savedAt: number } };
    if (checkpoint === undefined) continue;
    const hour = hours[Math.floor((checkpoint.savedAt - first) / HOUR)];
    if (hour !== undefined) hour.checkpoints += 1;
  }
  return { hours, truncated: lines > MAX_LINES };
}
