/** The errors of the package, the conversion of the engine's errors, and the names of values in messages. */

import { types } from "node:util";
import { ForkpointError, show, type ErrorCode, type LeaseHolder } from "./forkpoint-error.js";
import { hasEnded } from "./holder.js";

/** A TypeError or a RangeError that this package throws for a wrong argument. */
export type InvalidArgumentError = (TypeError | RangeError) & {
  readonly code: "INVALID_ARGUMENT";
  readonly retryable: false;
};

export {
  type ErrorCode,
  ForkpointError,
  type LeaseHolder,
  type StoppedBy,
  type TakenBy,
  isArray,
  show,
  typeError,
} from "./forkpoint-error.js";

export const codes: Record<ErrorCode, true> = {
  NOT_FOUND: true,
  INVALID_ARGUMENT: true,
  CLOSED: true,
  CORRUPT: true,
  CONFLICT: true,
  STOPPED: true,
  BUSY: true,
  FULL: true,
  UNAVAILABLE: true,
  UNSUPPORTED: true,
};

/**
 * Returns true if this package threw the error. The test reads `name` and `code`. It therefore also recognizes errors
 * of another copy of this package, for which `instanceof ForkpointError` is false. Two copies exist if one is loaded by
 * `import` and one by `require`.
 *
 * Returns false for your own errors that this package passes on: the reason of an `AbortSignal`, or an error that a
 * step or an `onProgress` throws. Also returns false for a `RunDrainedError`, which reports no failure.
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
export function isForkpointError(error: unknown): error is ForkpointError | InvalidArgumentError {
  // `instanceof` would miss an error of another copy of this package, or of another realm.
  if (!types.isNativeError(error)) return false;
  const { name, code } = error as Error & { code?: unknown };
  if (name === "TypeError" || name === "RangeError") return code === "INVALID_ARGUMENT";
  return name === "ForkpointError" && typeof code === "string" && Object.hasOwn(codes, code);
}

export function rangeError(message: string): RangeError {
  return Object.assign(new RangeError(message), { code: "INVALID_ARGUMENT", retryable: false });
}

/** Makes the error for a value that cannot be stored. The error's message names the value's path. */
export function refusal(path: string, why: string, cause?: unknown): ForkpointError {
  const message = `${path} cannot be stored: ${why}. Leave it out of the checkpoint or replace it with data`;
  return new ForkpointError("INVALID_ARGUMENT", message, cause === undefined ? {} : { cause });
}

/**
 * Runs code that reads the user's value. If a getter, a toJSON or a proxy's trap throws, the error is turned into a
 * `refusal`.
 */
export function reading<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw refusal(path, `reading it threw ${textOf(error)}`, error);
  }
}

/**
 * Runs code that reads and checks an argument. If a getter or a proxy's trap throws, the error names the argument. An
 * error of this package stays as it is.
 */
export function readingArgument<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (isForkpointError(error)) {
      // Leave the frames of this function out, so that the stack still has the frame of the caller.
      if (Object.isExtensible(error)) Error.captureStackTrace(error, readingArgument);
      throw error;
    }
    throw new ForkpointError("INVALID_ARGUMENT", `${what} cannot be read: reading it threw ${textOf(error)}`, {
      cause: error,
    });
  }
}

/** Returns true if the value is a ForkpointError of this copy of the package. `instanceof` throws for some proxies. */
export function isOwnError(error: unknown): error is ForkpointError {
  return types.isNativeError(error) && error instanceof ForkpointError;
}

/**
 * Returns true if a write was refused because another writer was faster. Returns false for a lost lease, because that
 * writer must not try again.
 */
export function isOvertaken(error: unknown): error is ForkpointError {
  return isOwnError(error) && error.code === "CONFLICT" && error.lease === undefined;
}

/** Converts a thrown value to text. It need not be an error, and the conversion may throw too. */
export function textOf(thrown: unknown): string {
  try {
    return String(thrown);
  } catch {
    return show(thrown);
  }
}

/** Returns the message of an error, or the text of something else that was thrown. */
export function messageOf(thrown: unknown): string {
  return types.isNativeError(thrown) ? textOf(thrown.message) : textOf(thrown);
}

/** Quotes an id for a message and shortens a long one. */
export function quote(id: string): string {
  return JSON.stringify(id.length > 100 ? `${id.slice(0, 100)}...` : id);
}

/** A failure, as the addon reports it. */
export interface Failure {
  code: ErrorCode;
  message: string;
  retryable: boolean;
  outcomeUnknown: boolean;
  cause?: { message: string; code?: string | null; errno?: number | null } | null;
  /** The process whose lease forbids the write. `id` is the id of the lease. */
  lessee?: (LeaseHolder & { id: string }) | null;
}

/** The ids of the leases that have forbidden writes. */
const leaseIds = new WeakMap<object, string>();

/** Returns the id of the lease that has forbidden a write, if its process was on this machine and has ended. */
export function endedLease(error: unknown): string | undefined {
  const id = isOwnError(error) ? leaseIds.get(error) : undefined;
  return id !== undefined && hasEnded((error as ForkpointError).lease!.holder) ? id : undefined;
}

export function errorOf({ code, message, retryable, outcomeUnknown, cause, lessee }: Failure): ForkpointError {
  const error = new ForkpointError(code, message, {
    retryable: retryable || !!lessee,
    ...(outcomeUnknown && { outcome: "unknown" as const }),
    ...(cause && { cause: causeOf(cause) }),
    ...(lessee && { lease: { holder: lessee.holder, until: lessee.until } }),
  });
  if (lessee) leaseIds.set(error, lessee.id);
  return error;
}

export function causeOf({ message, code, errno }: NonNullable<Failure["cause"]>): Error {
  const cause = Object.assign(new Error(message), code != null && { code }, errno != null && { errno });
  // This error was not thrown in JavaScript, so it has no stack.
  cause.stack = String(cause);
  return cause;
}

/** Runs a synchronous call of the addon and turns the error that it throws into a ForkpointError. */
export function throwing<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    const thrown = error as { code: ErrorCode; message: string; failure?: Failure };
    throw thrown.failure ? errorOf(thrown.failure) : new ForkpointError(thrown.code, thrown.message);
  }
}
