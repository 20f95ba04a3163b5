/** The errors of this package. `index.d.ts` exports them. */

import type { LeaseHolder } from "./leases.js";

/**
 * The code of an error. Each code stands for a different reaction of the caller. See docs/errors.md.
 *
 * - `NOT_FOUND`: the checkpoint, thread or file that the call names does not exist.
 * - `INVALID_ARGUMENT`: the call is wrong, for example because a value cannot be stored. The call wrote nothing.
 * - `CLOSED`: the store was closed.
 * - `CORRUPT`: stored bytes are damaged.
 * - `CONFLICT`: the call conflicts with what is stored or with another call.
 * - `BUSY`: another process held the database for longer than `busyTimeoutMs`, or more bytes than `maxQueueBytes` wait to
 *   be written.
 * - `FULL`: the device is full.
 * - `UNAVAILABLE`: the file cannot be reached, or an I/O operation failed.
 * - `UNSUPPORTED`: this version cannot do what the call asks, for example read a file with a newer schema.
 */
export type ErrorCode =
  | "NOT_FOUND"
  | "INVALID_ARGUMENT"
  | "CLOSED"
  | "CORRUPT"
  | "CONFLICT"
  | "BUSY"
  | "FULL"
  | "UNAVAILABLE"
  | "UNSUPPORTED";

/**
 * The class of the errors of this package. A wrong argument is the exception: it causes a TypeError or a RangeError
 * with the code `INVALID_ARGUMENT`. {@link isForkpointError} returns true for all of these errors.
 * @example if (error instanceof ForkpointError && error.code === "BUSY") console.error(error.message);
 */
export class ForkpointError extends Error {
  constructor(
    code: ErrorCode,
    message: string,
    options?: { retryable?: boolean; outcome?: "unknown"; cause?: unknown; lease?: LeaseHolder | null },
  );
  readonly name: "ForkpointError";
  readonly code: ErrorCode;
  /** True if the same call may succeed later. */
  readonly retryable: boolean;
  /**
   * The error of the operating system or of SQLite, if there was one: an Error with its `message`, its name as `code`
   * (`"ENOENT"`, `"SQLITE_IOERR_FSYNC"`) and its number as `errno`. Use the cause for logs only. Use this error's own
   * `code` to decide what to do.
   */
  readonly cause?: unknown;
  /**
   * `"unknown"`: the write reported a failure, but its data may be stored nevertheless. Saving the same id again is
   * safe.
   */
  readonly outcome?: "unknown";
  /**
   * Only if the error is about a lease: who holds it now. Null if nobody does, or if this is not known. See
   * docs/leases.md.
   */
  readonly lease?: LeaseHolder | null;
}

/** A TypeError or a RangeError that this package throws for a wrong argument. */
export type InvalidArgumentError = (TypeError | RangeError) & {
  readonly code: "INVALID_ARGUMENT";
  readonly retryable: false;
};

/**
 * Returns true if this package threw the error. The test reads `name` and `code`. It therefore also recognises errors
 * of another copy of this package, for which `instanceof ForkpointError` is false. Two copies exist if one is loaded by
 * `import` and one by `require`.
 *
 * Returns false for your own errors that this package passes on: the reason of an `AbortSignal`, or an error that a
 * step or an `onProgress` throws. Also returns false for Agentium's `RunDrainedError`, which reports no failure.
 *
 * @example
 * ```ts
 * import { CheckpointStore, isForkpointError } from "forkpoint";
 *
 * const store = new CheckpointStore("agent.db");
 * try {
 *   await store.fork("no such checkpoint");
 * } catch (error) {
 *   if (!isForkpointError(error)) throw error;
 *   console.error(error.code, error.retryable); // prints NOT_FOUND false
 * }
 * ```
 */
export function isForkpointError(error: unknown): error is ForkpointError | InvalidArgumentError;
