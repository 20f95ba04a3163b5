/**
 * Keeps the order of the calls on a session. Changes run one after the other. All other calls wait for the changes that
 * were called before them, and never for each other. Calls on different sessions do not wait for each other.
 */
export class Turns {
  /** For each session, settles when its changes have ended and the calls behind them have begun. */
  readonly #tails = new Map<string, Promise<void>>();

  /** Runs a change. A change reads the session before it writes. */
  alone<T>(sessionId: string, change: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(sessionId);
    const ended = before === undefined ? change() : before.then(change);
    this.#set(sessionId, ended);
    return ended;
  }

  /** Runs a call that hands its work to the engine at once. Without a change to wait for, it runs immediately. */
  shared<T>(sessionId: string, work: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(sessionId);
    if (before === undefined) return work();
    const begun = before.then(() => ({ ended: work() }));
    this.#set(sessionId, begun);
    return begun.then(({ ended }) => ended);
  }

  /** Waits for the changes of a session, or of all sessions, that were called before. */
  async settled(sessionId?: unknown): Promise<void> {
    const tails = typeof sessionId === "string" ? [this.#tails.get(sessionId)] : [...this.#tails.values()];
    for (const tail of tails) if (tail !== undefined) await tail;
  }

  #set(sessionId: string, last: Promise<unknown>): void {
    const done = () => {
      if (this.#tails.get(sessionId) === tail) this.#tails.delete(sessionId);
    };
    const tail = last.then(done, done);
    this.#tails.set(sessionId, tail);
  }
}
