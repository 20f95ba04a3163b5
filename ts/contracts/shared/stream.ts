/** Turns the events of a run into an async iterator. */

import { Queue } from "./queue.js";

/** A run that has not been started yet. */
export interface Startable<E, R> {
  /** The caller's signal. */
  signal: AbortSignal | undefined;
  start(signal: AbortSignal, tell: (event: E) => void): Promise<R>;
}

/**
 * Yields the events of a run, which begins with the first step of the iterator. Returns the result of the run, or
 * throws its error. If the reader leaves the loop early, the signal that `start` gets is aborted.
 *
 * `read` reads the caller's arguments, before `streamOf` returns. The first step of the iterator throws its error.
 */
export function streamOf<E, R>(read: () => Startable<E, R>): AsyncGenerator<E, R, void> {
  try {
    return eventsOf(read());
  } catch (error) {
    return failing(error);
  }
}

// oxlint-disable-next-line require-yield
async function* failing(error: unknown): AsyncGenerator<never, never, void> {
  throw error;
}

async function* eventsOf<E, R>({ signal, start }: Startable<E, R>): AsyncGenerator<E, R, void> {
  const left = new AbortController();
  const either = signal === undefined ? left.signal : AbortSignal.any([signal, left.signal]);
  const queue = new Queue<E>();
  const running = (async () => start(either, (event) => queue.push(event)))();
  // The loop below throws the run's error. This handler prevents an unhandled rejection if the reader has left the
  // loop.
  running.then(
    () => queue.end(),
    () => queue.end(),
  );
  try {
    yield* queue;
    return await running;
  } finally {
    left.abort(new DOMException("the reader of the event stream stopped reading", "AbortError"));
    await running.catch(() => {});
  }
}
