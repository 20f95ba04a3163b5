/** The errors of the command line, and the exit code of each error. */

import { isForkpointError, messageOf } from "../../ts/bridge/errors.js";
import type { ErrorCode } from "../../ts/bridge/forkpoint-error.js";

/** The exit codes. docs/cli-reference.md explains them. */
export const exitCodes = {
  done: 0,
  no: 1,
  usage: 2,
  notFound: 3,
  /** A run that does not fit a new version of its program. */
  unfit: 3,
  notConfirmed: 4,
  refused: 5,
  SIGINT: 130,
  SIGTERM: 143,
} as const;

export type EndingSignal = "SIGINT" | "SIGTERM";

/** A wrong flag, argument, JSON text or path. */
export class UsageError extends Error {
  readonly code = "USAGE";
}

/** A dangerous command without confirmation. */
export class NotConfirmedError extends Error {
  readonly code = "NOT_CONFIRMED";
}

export class StoppedError extends Error {
  readonly code = "STOPPED";
  readonly signal: EndingSignal;

  constructor(signal: EndingSignal) {
    super(`stopped by ${signal === "SIGINT" ? "Ctrl-C" : signal}`);
    this.signal = signal;
  }
}

/** The reader has closed the output. */
export class BrokenPipeError extends Error {}

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
  const { usage, notFound, notConfirmed, refused } = exitCodes;
  const ofCodes: Record<string, number> = { USAGE: usage, NOT_FOUND: notFound, NOT_CONFIRMED: notConfirmed };
  return ofCodes[describe(error).code] ?? refused;
}
