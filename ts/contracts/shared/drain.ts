/** Asks runs to stop after their current step. */

import { show, typeError } from "../../bridge/errors.js";

let subscribers: (drain: DrainController) => Set<() => void>;

/**
 * Asks runs to stop after their current step, for example before the process ends.
 *
 * @example
 * ```ts
 * const drain = new DrainController();
 * process.once("SIGTERM", () => drain.requestDrain());
 * await workflow.runWithCheckpoints({ runId: "run-1", drain });
 * ```
 */
export class DrainController {
  #drained = false;
  readonly #listeners = new Set<() => void>();
  #waiting: Promise<void> | undefined;

  static {
    subscribers = (drain) => drain.#listeners;
  }

  /** True if a drain was requested. */
  get drained(): boolean {
    return this.#drained;
  }

  /**
   * Requests a drain. A second call is allowed.
   * @example process.once("SIGTERM", () => drain.requestDrain());
   */
  requestDrain(): void {
    if (this.#drained) return;
    this.#drained = true;
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
  }

  /**
   * Resolves when a drain is requested. The pending promise does not keep the process alive.
   * @example await drain.waitForDrain();
   */
  waitForDrain(): Promise<void> {
    if (this.#drained) return Promise.resolve();
    // All callers share one promise.
    this.#waiting ??= new Promise((resolve) => this.#listeners.add(resolve));
    return this.#waiting;
  }
}

/** Calls the listener when a drain is requested. The returned function removes the listener. */
export function onDrain(drain: Pick<DrainController, "waitForDrain">, listener: () => void): () => void {
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

/** Parses a drain controller. It may come from another copy of this package. */
export function drainOption(value: unknown, name: string): Pick<DrainController, "drained" | "waitForDrain"> {
  const { waitForDrain } = (value ?? {}) as { waitForDrain?: unknown };
  if (typeof waitForDrain === "function") return value as DrainController;
  throw typeError(`${name} must be a DrainController, but is ${show(value)}`);
}

/**
 * The error of a run that was drained. The run's latest checkpoint is stored, and the run can be resumed.
 * @example if (error instanceof RunDrainedError) console.log(`to be resumed: ${error.runId}`);
 */
export class RunDrainedError extends Error {
  declare readonly name: "RunDrainedError";
  readonly runId: string;

  /** @param message Default: says that the run was drained and can be resumed. */
  constructor(
    runId: string,
    message: string = `Run drained: ${runId}. Its latest checkpoint is stored: resume the run to continue it`,
  ) {
    super(message);
    this.runId = runId;
  }

  static {
    Object.defineProperty(RunDrainedError.prototype, "name", { value: "RunDrainedError", configurable: true });
  }
}
