/** Finds the handle of a contract's store, for other modules of this package. This module does not load the addon. */

import type { StoreHandle } from "./handle.js";

const handles = new WeakMap<object, StoreHandle>();

/** Lets `handleOf` find the handle of a contract's store, or of an object that wraps one. */
export function setHandle(store: object, handle: StoreHandle): void {
  handles.set(store, handle);
}

/** Returns the handle of a contract's store. Returns undefined for any other value. */
export function handleOf(store: unknown): StoreHandle | undefined {
  return typeof store === "object" && store !== null ? handles.get(store) : undefined;
}
