/** Labels of runs: texts by key, by which users find a run again. */

import { isArray, quote, rangeError, readingArgument, show, typeError } from "../bridge/errors.js";
import { requireId } from "./ids.js";

/** The maximum number of labels of a run. The engine checks it too, because a change adds to existing labels. */
const MOST = 32;
/** The maximum length of a key and of a value, in characters. */
const LONGEST_KEY = 100;
const LONGEST_VALUE = 500;

/** Checks the labels for a run, or for a search. */
export function labelsOption(given: unknown, name: string): Record<string, string> {
  return pairs(given, name, (value, what) => limited(value, what, LONGEST_VALUE));
}

/** Checks a change of labels. Null removes a label. */
export function labelChanges(given: unknown, name: string): Record<string, string | null> {
  return pairs(given, name, (value, what) => (value === null ? null : limited(value, what, LONGEST_VALUE)));
}

function pairs<T>(given: unknown, name: string, check: (value: unknown, what: string) => T): Record<string, T> {
  if (typeof given !== "object" || given === null || isArray(given))
    throw typeError(`${name} must be an object such as { customer: "acme" }, but is ${show(given)}`);
  const entries = readingArgument(name, () => Object.entries(given));
  const read = entries.map(([key, value]): [string, T] => [keyOf(key, name), check(value, `${name}: ${quote(key)}`)]);
  if (read.filter(([, value]) => value !== null).length > MOST)
    throw rangeError(`${name}: a run can have at most ${MOST} labels, but ${read.length} are given`);
  return Object.fromEntries(read);
}

/** Checks a key. The command line writes a label as `key=value`. */
function keyOf(key: string, name: string): string {
  const what = `${name}: the key ${quote(key)}`;
  if (key === "") throw typeError(`${name}: a key is empty`);
  if (/[=\0]/.test(key)) throw typeError(`${what} contains "=" or a NUL character: leave it out`);
  return limited(key, what, LONGEST_KEY);
}

function limited(value: unknown, what: string, longest: number): string {
  const text = requireId(value, what);
  // A character may take two UTF-16 units.
  if (text.length > longest && (text.length > 2 * longest || [...text].length > longest))
    throw rangeError(`${what} has more than ${longest} characters: use a shorter text`);
  return text;
}
