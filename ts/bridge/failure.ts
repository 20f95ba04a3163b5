/** Turns the failures that the addon reports into errors. */

import { ForkpointError } from "./errors.js";
import type { ErrorCode } from "./forkpoint-error.js";

/** A failure, as the addon reports it. */
export interface Failure {
  code: ErrorCode;
  message: string;
  retryable: boolean;
  outcomeUnknown: boolean;
  cause?: { message: string; code?: string | null; errno?: number | null } | null;
}

export function errorOf({ code, message, retryable, outcomeUnknown, cause }: Failure): ForkpointError {
  return new ForkpointError(code, message, {
    retryable,
    ...(outcomeUnknown && { outcome: "unknown" as const }),
    ...(cause && { cause: causeOf(cause) }),
  });
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
