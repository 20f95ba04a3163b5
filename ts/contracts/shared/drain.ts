/** Asks runs to stop after their current step. */

import type { DrainController as Contract, RunDrainedError as ErrorContract } from "../../../agentium.js";

let subscribers: (drain: DrainController) => Set<() => void>;

export class DrainController implements Contract {
  #drained = false;
  readonly #listeners = new Set<() => void>();
  #waiting: { promise: Promise<void>; resolve: () => void } | undefined;

  static {
    subscribers = (drain) => drain.#listeners;
  }

  get drained(): boolean {
    return this.#drained;
  }

  requestDrain(): void {
    if (this.#drained) return;
    this.#drained = true;
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
    this.#waiting?.resolve();
  }

  waitForDrain(): Promise<void> {
    if (this.#drained) return Promise.resolve();
    // All callers share one promise.
    this.#waiting ??= withResolvers();
    return this.#waiting.promise;
  }
}

/** Calls the listener when a drain is requested. The returned function removes the listener. */
export function onDrain(drain: Pick<Contract, "waitForDrain">, listener: () => void): () => void {
  const listeners = drain instanceof DrainController ? subscribers(drain) : new Set<() => void>();
  listeners.add(listener);
  if (!(drain instanceof DrainController)) {
    // The promise refers to the set, not to the listener. Removing the listener therefore frees its memory even if no
    // drain is ever requested.
    void drain.waitForDrain().then(
      () => listeners.forEach((call) => call()),
      () => {},
    );
  }
  return () => listeners.delete(listener);
}

function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve!: () => void;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

export class RunDrainedError extends Error implements ErrorContract {
  declare readonly name: "RunDrainedError";
  readonly runId: string;

  constructor(
    runId: string,
    message = `Run drained: ${runId}. Its latest checkpoint is stored: resume the run to continue it`,
  ) {
    super(message);
    this.runId = runId;
  }

  static {
    Object.defineProperty(RunDrainedError.prototype, "name", { value: "RunDrainedError", configurable: true });
  }
}
