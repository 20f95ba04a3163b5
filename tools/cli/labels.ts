/** Reads and prints labels of runs. */

import { UsageError } from "./errors.js";

/** Reads a label of the form `key=value`. */
export function parseLabel(text: string): [key: string, value: string] {
  const at = text.indexOf("=");
  if (at < 1) throw new UsageError(`expected a label such as customer=acme, but found ${JSON.stringify(text)}`);
  return [text.slice(0, at), text.slice(at + 1)];
}

/** Reads a change of a label: `key=value` sets it, and `key-` removes it. */
export function parseChange(text: string): [key: string, value: string | null] {
  const isRemoval = !text.includes("=") && text.length > 1 && text.endsWith("-");
  return isRemoval ? [text.slice(0, -1), null] : parseLabel(text);
}

/** Collects the labels of a repeatable option. */
export const repeatedLabel = (text: string, before: Record<string, string> = {}): Record<string, string> =>
  Object.fromEntries([...Object.entries(before), parseLabel(text)]);

export function labelsText(labels: Record<string, string>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(", ");
}
