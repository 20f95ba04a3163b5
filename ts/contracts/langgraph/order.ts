/** The earlier calls of a thread. */
interface Tail {
  /** Settles when the last call has been sent to the engine. */
  handed: Promise<unknown>;
  /** Settles when all calls have ended. */
  done: Promise<unknown>;
}

/**
 * Runs the calls of a thread in the order in which they were made, even if the serializer takes longer for an earlier
 * call. Calls of different threads do not wait for each other.
 */
export class Order {
  readonly #tails = new Map<string, Tail>();

  /**
   * Runs work when `prepared` is ready and the earlier calls are `"done"` or `"handed"`. Work that needs their results waits until
   * they are done. For other work, only the order matters.
   */
  async after<P, T>(
    state: keyof Tail,
    threadId: string,
    prepared: Promise<P>,
    work: (prepared: P) => Promise<T>,
  ): Promise<T> {
    const before = this.#tails.get(threadId);
    const begun = (async () => {
      // Wait for both promises, so that neither causes an unhandled rejection.
      const [ready] = await Promise.allSettled([prepared, before?.[state]]);
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
