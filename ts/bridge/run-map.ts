import type { NativeStore, RunKey } from "./binding.js";

/** A map with the runs of all stores as keys. Two stores with the same data have the same runs. */
export class RunMap<T> {
  readonly #stores = new Map<unknown, Map<string, T>>();

  get isEmpty(): boolean {
    return this.#stores.size === 0;
  }

  get(native: NativeStore, of: RunKey): T | undefined {
    return this.#stores.get(dataOf(native))?.get(keyOf(of));
  }

  /** The values of a store's runs. */
  values(native: NativeStore): Iterable<T> {
    return this.#stores.get(dataOf(native))?.values() ?? [];
  }

  set(native: NativeStore, of: RunKey, value: T): void {
    const data = dataOf(native);
    const runs = this.#stores.get(data) ?? new Map<string, T>();
    this.#stores.set(data, runs.set(keyOf(of), value));
  }

  /** Removes the entry of a run, if it has this value. */
  delete(native: NativeStore, of: RunKey, value: T): void {
    const [data, key] = [dataOf(native), keyOf(of)];
    const runs = this.#stores.get(data);
    if (runs?.get(key) !== value) return;
    runs.delete(key);
    if (runs.size === 0) this.#stores.delete(data);
  }
}

/** The identity of the data: a path, or the store itself in memory. */
const dataOf = ({ databasePath, handle }: NativeStore): unknown => databasePath ?? handle;
const keyOf = ({ space, run, ns }: RunKey): string => JSON.stringify([space, run, ns]);
