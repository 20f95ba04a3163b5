/**
 * The earlier calls of a thread. `handed` settles when the last call has been sent to the engine. `done` settles when
 * all calls have ended.
 */
interface Tail {
  handed: Promise<unknown>;
  done: Promise<unknown>;
}

/**
 * Runs the calls of a thread in the order in which they were made, even if the serializer takes longer for an earlier
 * call. Calls of different threads do not wait for each other.
 */
export class Order {
  readonly #tails = new Map<string, Tail>();

  /**
   * Runs work that needs the results of all earlier calls. It starts when `prepared` is ready and those calls have
   * ended.
   */
  after<P, T>(threadId: string, prepared: Promise<P>, work: (prepared: P) => Promise<T>): Promise<T> {
    return this.#add(threadId, prepared, work, (before) => before.done);
  }

  /**
   * Runs work that needs no results of earlier calls but must keep the order of the calls. It starts when `prepared` is
   * ready and the earlier calls have started.
   */
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
      // Wait for both promises, so that neither causes an unhandled rejection.
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
