/** The errors of the command line, and the exit code of each error. */

import { isForkpointError, messageOf } from "../../ts/bridge/errors.js";
import type { ErrorCode } from "../../ts/bridge/forkpoint-error.js";

/** The exit codes. docs/cli.md explains them. */
export const exitCodes = {
  done: 0,
  no: 1,
  usage: 2,
  notFound: 3,
  notConfirmed: 4,
  refused: 5,
  SIGINT: 130,
  SIGTERM: 143,
} as const;

/** The signals that end a command. */
export type EndingSignal = "SIGINT" | "SIGTERM";

/** A wrong flag, argument, JSON text or path. */
export class UsageError extends Error {
  readonly code = "USAGE";
}

/** A dangerous command that nobody has confirmed. */
export class NotConfirmedError extends Error {
  readonly code = "NOT_CONFIRMED";
}

/** The command was stopped by a signal. */
export class StoppedError extends Error {
  readonly code = "STOPPED";
  readonly signal: EndingSignal;

  constructor(signal: EndingSignal) {
    super(`stopped by ${signal === "SIGINT" ? "Ctrl-C" : signal}`);
    this.signal = signal;
  }
}

/** Nobody reads the output any more. */
export class BrokenPipeError extends Error {}

/** An error as the command line shows it. */
export interface Shown {
  code: ErrorCode | "USAGE" | "NOT_CONFIRMED" | "STOPPED" | "INTERNAL";
  message: string;
  retryable: boolean;
}

const systemCodes: Record<string, ErrorCode> = {
  ENOENT: "NOT_FOUND",
  ENOTDIR: "NOT_FOUND",
  EEXIST: "CONFLICT",
  ENOSPC: "FULL",
  EDQUOT: "FULL",
};

/** Describes an error for the user. */
export function describe(error: unknown): Shown {
  if (error instanceof UsageError || error instanceof NotConfirmedError || error instanceof StoppedError) {
    return { code: error.code, message: error.message, retryable: false };
  }
  if (isForkpointError(error)) return { code: error.code, message: error.message, retryable: error.retryable };
  const { code, syscall } = (error ?? {}) as { code?: unknown; syscall?: unknown };
  if (typeof code === "string" && typeof syscall === "string") {
    return { code: systemCodes[code] ?? "UNAVAILABLE", message: messageOf(error), retryable: false };
  }
  return { code: "INTERNAL", message: messageOf(error), retryable: false };
}

export function exitCodeOf(error: unknown): number {
  if (error instanceof StoppedError) return exitCodes[error.signal];
  switch (describe(error).code) {
    case "USAGE":
      return exitCodes.usage;
    case "NOT_FOUND":
      return exitCodes.notFound;
    case "NOT_CONFIRMED":
      return exitCodes.notConfirmed;
    default:
      return exitCodes.refused;
  }
}
