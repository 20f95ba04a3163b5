/** Reads and writes times, durations and sizes. */

import { UsageError } from "./errors.js";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

const durations: Record<string, number> = { ms: 1, s: second, m: minute, h: hour, d: day, w: 7 * day };

const sizes: Record<string, number> = {
  B: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KIB: 2 ** 10,
  MIB: 2 ** 20,
  GIB: 2 ** 30,
  TIB: 2 ** 40,
};

/** Reads a duration such as `90s` or `1.5h`, and returns it in ms. */
export function parseDuration(text: string): number {
  const [, count, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d|w)$/.exec(text) ?? [];
  const ms = Math.round(Number(count) * (durations[unit ?? ""] ?? Number.NaN));
  if (Number.isSafeInteger(ms)) return ms;
  throw new UsageError("expected a duration such as 90s, 15m, 2h or 7d");
}

/** Reads a size such as `500KB` or `2GiB`, and returns it in bytes. A number without a unit is bytes. */
export function parseSize(text: string): number {
  const [, count, unit] = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(text) ?? [];
  const bytes = Math.round(Number(count) * (sizes[unit === "" ? "B" : (unit ?? "?").toUpperCase()] ?? Number.NaN));
  if (Number.isSafeInteger(bytes)) return bytes;
  throw new UsageError("expected a size such as 500KB, 2GB or 2GiB");
}

const count = new Intl.NumberFormat("en");

/** Writes a number with a comma between thousands. */
export function number(value: number): string {
  return count.format(value);
}

/** Writes a number and its noun: `1 run`, `2 runs`. */
export function plural(value: number, noun: string): string {
  return `${number(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** Writes a size with a decimal unit: `34.1 KB`. */
export function size(bytes: number): string {
  const units = ["B", "KB", "MB", "GB", "TB", "PB"];
  let [value, at] = [bytes, 0];
  // 999.95 KB would be written as 1000.0 KB.
  while (Math.abs(value) >= (at === 0 ? 1000 : 999.95) && at < units.length - 1) [value, at] = [value / 1000, at + 1];
  return `${at === 0 ? value : value.toFixed(1)} ${units[at]}`;
}

/** Writes a time relative to now: `3 min ago`. A time more than 30 days away is written as a date. */
export function ago(time: number, now = Date.now()): string {
  const distance = Math.abs(now - time);
  if (distance < 2 * second) return "just now";
  if (distance >= 30 * day) return localTime(time).slice(0, 10);
  const text = duration(distance);
  return time <= now ? `${text} ago` : `in ${text}`;
}

/** Writes a duration with one unit: `3 min`. */
export function duration(ms: number): string {
  if (ms < second) return `${Math.round(ms)} ms`;
  if (ms < minute) return `${Math.floor(ms / second)} s`;
  if (ms < hour) return `${Math.floor(ms / minute)} min`;
  return ms < 2 * day ? `${Math.floor(ms / hour)} h` : `${Math.floor(ms / day)} days`;
}

const two = (value: number) => String(value).padStart(2, "0");

/** Writes a time in the time zone of this machine: `2026-01-31 09:12:33`. */
export function localTime(time: number): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return "invalid time";
  const day = `${String(date.getFullYear()).padStart(4, "0")}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}
