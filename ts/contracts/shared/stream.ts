/** Turns the events of a run into an async iterator. */

import { readingArgument } from "../../bridge/errors.js";
import { signalOption } from "../../store/options.js";
import { Queue } from "./queue.js";

/**
 * Starts a run and yields its events. Returns the result of the run, or throws its error. If the reader leaves the loop
 * early, the signal that `start` gets is aborted.
 */
export async function* streamOf<E, R>(
  signal: AbortSignal | undefined,
  start: (signal: AbortSignal, tell: (event: E) => void) => Promise<R>,
): AsyncGenerator<E, R, void> {
  if (signal !== undefined) readingArgument("options.signal", () => signalOption(signal, 'option "signal"'));
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
