/** What was called in a thread: its last call is handed over, and all of them are done. */
interface Tail {
  handed: Promise<unknown>;
  done: Promise<unknown>;
}

/**
 * The calls of a thread happen in the order in which they were made, however long the serializer takes over each. Those of
 * different threads do not wait for one another.
 */
export class Order {
  readonly #tails = new Map<string, Tail>();

  /** For what needs all that went before: begins when that is done. `prepared` is waited for first. */
  after<P, T>(threadId: string, prepared: Promise<P>, work: (prepared: P) => Promise<T>): Promise<T> {
    return this.#add(threadId, prepared, work, (before) => before.done);
  }

  /** For what must only not overtake: begins when what went before has begun. */
  behind<P, T>(threadId: string, prepared: Promise<P>, work: (prepared: P) => Promise<T>): Promise<T> {
    return this.#add(threadId, prepared, work, (before) => before.handed);
  }

  async #add<P, T>(
    threadId: string,
    prepared: Promise<P>,
    work: (prepared: P) => Promise<T>,
    need: (before: Tail) => Promise<unknown>,
  ): Promise<T> {
    const before = this.#tails.get(threadId);
    const begun = (async () => {
      // Both, so that neither is a rejection that nobody hears of.
      const [ready] = await Promise.allSettled([prepared, before && need(before)]);
      if (ready.status === "rejected") throw ready.reason;
      return { result: work(ready.value) };
    })();
    const ended = begun.then(({ result }) => result);
    const tail = { handed: begun, done: Promise.allSettled([before?.done, ended]) };
    this.#tails.set(threadId, tail);
    try {
      return await ended;
    } finally {
      if (this.#tails.get(threadId) === tail) this.#tails.delete(threadId);
    }
  }
}
