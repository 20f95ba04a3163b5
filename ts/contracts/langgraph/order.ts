import type { MaybePromise } from "../../bridge/maybe-promise.js";
import type { TaskWrites } from "./gathered-writes.js";

/** The calls of a thread that have not ended. */
interface Calls {
  /** Settles when the last call has been sent to the engine. Undefined: no call is waiting. */
  handed: Promise<unknown> | undefined;
  /** The outcome of each call, and the writes of the call, if it stores writes that may be gathered. */
  running: Map<Promise<unknown>, TaskWrites | undefined>;
}

/**
 * Runs the calls of a thread in call order, even if the serializer takes longer for an earlier call. Calls of different
 * threads do not wait for each other.
 */
export class Order {
  readonly #threads = new Map<string, Calls>();

  /**
   * Runs work when `prepared` is ready and the earlier calls are `"done"` or `"handed"`. Use `"done"` if the work needs
   * their results, and `"handed"` if only the order matters. Without calls to wait for, the work runs immediately. No
   * call waits for gathered writes.
   */
  after<P, T>(
    state: "done" | "handed",
    threadId: string,
    prepared: MaybePromise<P>,
    work: (prepared: P) => Promise<T>,
    writes?: TaskWrites,
  ): Promise<T> {
    const calls: Calls = this.#threads.get(threadId) ?? { handed: undefined, running: new Map() };
    const before = (state === "done" ? ended(calls.running) : undefined) ?? calls.handed;
    const outcome =
      before === undefined && !(prepared instanceof Promise) ? work(prepared) : later(calls, before, prepared, work);
    this.#threads.set(threadId, calls);
    calls.running.set(outcome, writes);
    const end = () => {
      calls.running.delete(outcome);
      if (calls.running.size === 0) this.#threads.delete(threadId);
    };
    outcome.then(end, end);
    return outcome;
  }
}

/** Resolves when the calls have ended. Returns undefined if there is nothing to wait for. */
function ended(running: Calls["running"]): Promise<unknown> | undefined {
  const others = [...running].filter(([, writes]) => writes?.areGathered !== true).map(([outcome]) => outcome);
  return others.length > 0 ? Promise.allSettled(others) : undefined;
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
