/** Keeps the order of batches that have an item in common. */

export class Lanes {
  /** The last batch that writes an item. */
  readonly #writers = new Map<string, Promise<unknown>>();

  /** Runs a batch after all earlier batches that write what it reads or writes. */
  run<T>(writes: readonly string[], reads: readonly string[] | "all", work: () => Promise<T>): Promise<T> {
    const names = reads === "all" ? this.#writers.keys() : [...reads, ...writes];
    const before = new Set<Promise<unknown>>();
    for (const name of names) {
      const writer = this.#writers.get(name);
      if (writer !== undefined) before.add(writer);
    }
    const ended = before.size === 0 ? work() : Promise.allSettled(before).then(work);
    if (writes.length > 0) {
      const done = () => {
        for (const name of writes) if (this.#writers.get(name) === ended) this.#writers.delete(name);
      };
      for (const name of writes) this.#writers.set(name, ended);
      ended.then(done, done);
    }
    return ended;
  }
}
