// Formats numbers, sizes, times and stored texts.
import { safeText } from "../../../ts/bridge/json-form/json-text.js";

const units = ["B", "KB", "MB", "GB", "TB"];

/** Writes a size, decimal: 1,234 is "1.2 KB". */
export function bytes(size: number): string {
  let [value, unit] = [size, 0];
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1_000;
    unit += 1;
  }
  const digits = unit === 0 || value >= 99.95 ? 0 : 1;
  return `${value.toFixed(digits).replace(/\.0$/, "")} ${units[unit]}`;
}

const whole = new Intl.NumberFormat("en");

/** Writes a whole number: "12,345". */
export const count = (value: number): string => whole.format(value);

/** Writes a number of things: "1 step", "12 steps". */
export const counted = (value: number, thing: string): string => `${count(value)} ${thing}${value === 1 ? "" : "s"}`;

/** Writes a duration in at most two units: "0.4 s", "12 s", "3 m 20 s", "2 d 4 h". */
export function duration(ms: number): string {
  if (ms < 0) return `-${duration(-ms)}`;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1_000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const total = Math.round(seconds);
  if (total < 60) return `${total} s`;
  if (total < 3_600) return pair(Math.floor(total / 60), "m", total % 60, "s");
  if (total < 86_400) return pair(Math.floor(total / 3_600), "h", Math.floor((total % 3_600) / 60), "m");
  return pair(Math.floor(total / 86_400), "d", Math.floor((total % 86_400) / 3_600), "h");
}

const pair = (large: number, largeUnit: string, small: number, smallUnit: string): string =>
  small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;

/** Writes the time since a moment, in one unit: "now", "12 s ago", "3 min ago", "5 h ago", "2 d ago". */
export function ago(at: number, now: number): string {
  const seconds = Math.max(0, (now - at) / 1_000);
  if (seconds < 5) return "now";
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h ago`;
  if (seconds < 86_400 * 60) return `${Math.floor(seconds / 86_400)} d ago`;
  return day.format(at);
}

const day = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short", day: "numeric" });
const moment = new Intl.DateTimeFormat(undefined, {
  year: "numeric",
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});
const hourOnly = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hour12: false });
const secondOnly = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hour12: false,
});

/** Writes a date and time in local time. An out-of-range time is written as its number. */
export const at = (ms: number): string => (Math.abs(ms) <= 8.64e15 ? moment.format(ms) : String(ms));
export const hour = (ms: number): string => hourOnly.format(ms);
export const clock = (ms: number): string => (Math.abs(ms) <= 8.64e15 ? secondOnly.format(ms) : "");

/** Escapes control characters in a stored text, and cuts it at a length. */
export function shown(text: string, length = 2_000): string {
  return text.length <= length ? safeText(text) : `${safeText(text.slice(0, length))}…`;
}

/**
 * Splits an id into a head, which may be cut, and a tail, which is always shown, because ids often differ only in their
 * tails. The tail begins after a separator, if there is one.
 */
export function halves(id: string): { head: string; tail: string; isWord: boolean } {
  const text = shown(id, 400);
  // A UUID of version 6 begins with the time. Its tail is the same for all ids of a process.
  if (/^[\da-f]{8}-[\da-f]{4}-6/i.test(text)) return { head: text, tail: "", isWord: false };
  const word = /^.{4,}[-_:./@ ](?=[^-_:./@ ]{1,12}$)/s.exec(text);
  if (word !== null) return { head: word[0], tail: text.slice(word[0].length), isWord: true };
  if (text.length <= 12) return { head: text, tail: "", isWord: false };
  return { head: text.slice(0, -6), tail: text.slice(-6), isWord: false };
}
