// What several expectations use.
import assert from "node:assert/strict";
import type { Item, Search, Store, Value } from "./store.js";

export type Put = readonly [namespace: string[], key: string, value?: Value];

/** Puts items one after the other. */
export async function fill(store: Store, ...puts: readonly Put[]): Promise<void> {
  for (const [namespace, key, value = {}] of puts) await store.put(namespace, key, value);
}

export const keysOf = (items: readonly Item[]) => items.map(({ key }) => key);

/** Returns the keys of the items, sorted, because the order of a search is not part of the contract. */
export async function found(store: Store, prefix: string[], options: Search = {}): Promise<string[]> {
  return keysOf(await store.search(prefix, { limit: 1_000, ...options })).toSorted();
}

/** Returns the value of an item, or undefined if there is none. */
export async function valueOf(store: Store, namespace: string[], key: string): Promise<Value | undefined> {
  return (await store.get(namespace, key))?.value;
}

/** Returns namespaces in an order in which they can be compared. */
export const sorted = (namespaces: readonly string[][]) =>
  namespaces.toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));

/** Returns the error of a call. Fails if there is none. */
export async function rejection(call: Promise<unknown>, what: string): Promise<Error> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert(error !== undefined, `${what} must be rejected`);
  return error as Error;
}

export const upTo = (count: number) => Array.from({ length: count }, (_, n) => n);
