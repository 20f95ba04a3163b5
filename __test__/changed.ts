/** Changes values as a caller may after a call has returned its promise. */

import { expect } from "vitest";

/** A text in every value of a caller. No change leaves it. */
export const KEPT = "as it was";

const CHANGED = "changed later";

/** Changes every text, number, byte and list of a value, and adds a key to its objects. */
export function change(value: unknown, seen = new Set<unknown>()): void {
  if (typeof value !== "object" || value === null || value instanceof AbortSignal || seen.has(value)) return;
  seen.add(value);
  if (value instanceof Uint8Array) return void value.fill(9);
  if (value instanceof URL) return void (value.pathname += "-changed");
  if (value instanceof Map || value instanceof Set) {
    for (const each of value.values()) change(each, seen);
    return value.clear();
  }
  const fields = value as Record<string, unknown>;
  for (const [key, each] of Object.entries(fields)) {
    if (typeof each === "string") fields[key] = CHANGED;
    else if (typeof each === "number") fields[key] = 999_999_999;
    else if (typeof each === "boolean") fields[key] = !each;
    else change(each, seen);
  }
  if (Array.isArray(value)) value.push(CHANGED);
  else fields[CHANGED] = CHANGED;
}

/** Expects that what was read holds the value as it was at the call. */
export function expectKept(read: unknown): void {
  const text = JSON.stringify(read, (_, value) =>
    value instanceof Map || value instanceof Set || value instanceof Uint8Array ? [...value] : value,
  );
  expect(text).toContain(KEPT);
  expect(text).not.toMatch(/changed|999999999|"data":\[9|\[9,9/);
}

/** A call whose arguments are changed when it has returned its promise. `read` reads what the call has stored or found. */
export interface Call<A extends any[] = any[]> {
  args: () => A;
  call: (...args: A) => Promise<unknown> | AsyncIterable<unknown>;
  /** `result`: that of the call. Default: the result itself. */
  read?: (result: any) => unknown;
}

/** Makes a call, changes its arguments, and expects that it has stored or found the values as they were. */
export async function expectKeptAfter({ args, call, read = (result) => result }: Call): Promise<void> {
  const given = args();
  const begun = call(...given);
  change(given);
  let result: unknown;
  if (begun instanceof Promise) result = await begun;
  else for await (const event of begun) result = event;
  expectKept(await read(result));
}
