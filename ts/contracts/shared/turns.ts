/**
 * Keeps the order of the calls on a session, run or thread. Changes of an id run one after the other. Other calls wait
 * only for earlier changes of the same id.
 */
export class Turns {
  /** A promise for each id. It settles when the changes have ended and the waiting calls have begun. */
  readonly #tails = new Map<string, Promise<void>>();

  /** Runs a change. A change may read before it writes. */
  alone<T>(id: string, change: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(id);
    const ended = before === undefined ? change() : before.then(change);
    this.#set(id, ended);
    return ended;
  }

  /** Runs a call that hands its work to the engine immediately. Without a change to wait for, it runs immediately. */
  shared<T>(id: string, work: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(id);
    if (before === undefined) return work();
    const begun = before.then(() => ({ ended: work() }));
    this.#set(id, begun);
    return begun.then(({ ended }) => ended);
  }

  /** Waits for the earlier changes of this id, or of all ids. */
  async settled(id?: unknown): Promise<void> {
    const tails = typeof id === "string" ? [this.#tails.get(id)] : [...this.#tails.values()];
    for (const tail of tails) if (tail !== undefined) await tail;
  }

  #set(id: string, last: Promise<unknown>): void {
    const done = () => {
      if (this.#tails.get(id) === tail) this.#tails.delete(id);
    };
    const tail = last.then(done, done);
    this.#tails.set(id, tail);
  }
}
