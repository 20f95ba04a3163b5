import type { MaybePromise } from "../../bridge/maybe-promise.js";

/** The calls of a thread that have not ended. */
interface Calls {
  /** Settles when the last call has been sent to the engine. Undefined: no call is waiting. */
  handed: Promise<unknown> | undefined;
  running: Set<Promise<unknown>>;
}

/**
 * Runs the calls of a thread in call order, even if the serializer takes longer for an earlier call. Calls of different
 * threads do not wait for each other.
 */
export class Order {
  readonly #threads = new Map<string, Calls>();

  /**
   * Runs work when `prepared` is ready and the earlier calls are `"done"` or `"handed"`. Use `"done"` if the work needs
   * their results, and `"handed"` if only the order matters. Without calls to wait for, the work runs immediately.
   */
  after<P, T>(
    state: "done" | "handed",
    threadId: string,
    prepared: MaybePromise<P>,
    work: (prepared: P) => Promise<T>,
  ): Promise<T> {
    const calls: Calls = this.#threads.get(threadId) ?? { handed: undefined, running: new Set() };
    const before = state === "done" && calls.running.size > 0 ? Promise.allSettled(calls.running) : calls.handed;
    const ended =
      before === undefined && !(prepared instanceof Promise) ? work(prepared) : later(calls, before, prepared, work);
    this.#threads.set(threadId, calls);
    calls.running.add(ended);
    const end = () => {
      calls.running.delete(ended);
      if (calls.running.size === 0) this.#threads.delete(threadId);
    };
    ended.then(end, end);
    return ended;
  }
}

function later<P, T>(
  calls: Calls,
  before: Promise<unknown> | undefined,
  prepared: MaybePromise<P>,
  work: (prepared: P) => Promise<T>,
): Promise<T> {
  const handed = (async () => {
    // Wait for both promises, so that neither causes an unhandled rejection.
    const [ready] = await Promise.allSettled([prepared, before]);
    if (ready.status === "rejected") throw ready.reason;
    return { result: work(ready.value) };
  })();
  calls.handed = handed;
  const clear = () => {
    if (calls.handed === handed) calls.handed = undefined;
  };
  handed.then(clear, clear);
  return handed.then(({ result }) => result);
}
