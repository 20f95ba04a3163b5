/** Counts the checkpoints saved in each of the last hours. */

import { readRecord, whole } from "../store/options.js";
import type { Context } from "./context.js";
import { type Row, inspect, openFeed } from "../plugin/wire.js";
import type { SavedPerHour } from "../plugin/views.js";

const HOUR = 3_600_000;

const activityOptions = { hours: whole(1, 168, "hours") };

/**
 * Searches the save number at which each hour begins. The differences of these numbers are the counts. A search takes
 * some hundred short reads, however many checkpoints exist.
 */
export async function savedPerHour(context: Context, given: unknown, now = Date.now()): Promise<SavedPerHour[]> {
  const { hours = 24 } = readRecord(given, "options", activityOptions);
  const first = Math.floor(now / HOUR) * HOUR - (hours - 1) * HOUR;
  const newest = (await look(context, 0, true))?.seq ?? 0;
  // The last save number before each hour. The last item is the newest save number.
  const before: number[] = [];
  for (let hour = 0; hour < hours; hour++) {
    before.push(await lastBefore(context, first + hour * HOUR, before.at(-1) ?? 0, newest));
  }
  before.push(newest);
  return before.slice(1).map((to, hour) => ({ at: first + hour * HOUR, saved: to - before[hour]! }));
}

/** Returns the highest save number whose checkpoint was saved before a time. */
async function lastBefore(context: Context, time: number, from: number, to: number): Promise<number> {
  let [low, high] = [from, to];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const next = await look(context, middle, false);
    if (next === undefined || next.savedAt >= time) high = middle;
    else low = next.seq;
  }
  return low;
}

const wanted = { limit: 1, version: undefined, wait: undefined };

/** Returns the next checkpoint after a save number, or the newest one. */
async function look({ engine }: Context, after: number, newestFirst: boolean): Promise<Row | undefined> {
  const { rows } = await inspect.find(engine.native, "feed", { ...wanted, after, newestFirst }, openFeed);
  return rows[0];
}
