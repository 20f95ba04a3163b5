/** Runs batches with a common item in order, unless both only read it. */

/** Stands for all items. */
const ALL = "all";

export class Lanes {
  /** The last batch that writes each item. It has waited for all batches before it. */
  readonly #writers = new Map<string, Promise<unknown>>();
  /** The batches that have read each item since its last write. */
  readonly #readers = new Map<string, Set<Promise<unknown>>>();

  /** Runs a batch after all earlier batches that write its reads, or that read or write its writes. */
  run<T>(writes: readonly string[], reads: readonly string[] | typeof ALL, work: () => Promise<T>): Promise<T> {
    const before = new Set<Promise<unknown>>();
    const writers =
      reads === ALL ? this.#writers.values() : [...reads, ...writes].map((name) => this.#writers.get(name));
    for (const writer of writers) if (writer !== undefined) before.add(writer);
    const readers = writes.length === 0 ? [] : [ALL, ...writes];
    for (const name of readers) for (const reader of this.#readers.get(name) ?? []) before.add(reader);
    const ended = before.size === 0 ? work() : Promise.allSettled(before).then(work);
    this.#keep(writes, reads === ALL ? [ALL] : reads, ended);
    return ended;
  }

  #keep(writes: readonly string[], reads: readonly string[], ended: Promise<unknown>): void {
    for (const name of writes) {
      this.#writers.set(name, ended);
      this.#readers.delete(name);
    }
    const written = new Set(writes);
    const readers = reads
      .filter((name) => !written.has(name))
      .map((name) => {
        const those = this.#readers.get(name) ?? new Set();
        this.#readers.set(name, those.add(ended));
        return { name, those };
      });
    const end = () => {
      for (const name of writes) if (this.#writers.get(name) === ended) this.#writers.delete(name);
      for (const { name, those } of readers) {
        those.delete(ended);
        if (those.size === 0 && this.#readers.get(name) === those) this.#readers.delete(name);
      }
    };
    ended.then(end, end);
  }
}
