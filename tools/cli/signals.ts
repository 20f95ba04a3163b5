/** Handles Ctrl-C and SIGTERM: the first one asks the command to stop, the second one ends it immediately. */

import { type EndingSignal, StoppedError, exitCodes } from "./errors.js";

/** Returns a signal that aborts with a {@link StoppedError} on Ctrl-C or SIGTERM. */
export function endingSignal(): AbortSignal {
  const controller = new AbortController();
  const stop = (signal: EndingSignal) => {
    if (controller.signal.aborted) process.exit(exitCodes[signal]);
    controller.abort(new StoppedError(signal));
  };
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
  return controller.signal;
}

/** Rejects when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const fail = () => reject(signal.reason as Error);
    if (signal.aborted) fail();
    else signal.addEventListener("abort", fail, { once: true });
  });
}
