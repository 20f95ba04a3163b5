/** The error of this package. Uses no Node module, because the studio's page needs it too. */

/**
 * The code of an error. Each code asks the caller for a different reaction. See docs/errors.md.
 *
 * - `NOT_FOUND`: the checkpoint, thread or file that the call names does not exist.
 * - `INVALID_ARGUMENT`: the call is wrong, for example because a value cannot be stored. The call wrote nothing.
 * - `CLOSED`: the store was closed.
 * - `CORRUPT`: stored bytes are damaged.
 * - `CONFLICT`: the call conflicts with what is stored or with another call.
 * - `STOPPED`: somebody has stopped the run: see {@link StoppedBy}.
 * - `BUSY`: another process held the database for longer than `busyTimeoutMs`, or more than `maxQueueBytes` bytes wait
 *   to be written.
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
  | "STOPPED"
  | "BUSY"
  | "FULL"
  | "UNAVAILABLE"
  | "UNSUPPORTED";

/** The holder of a lease. */
export interface LeaseHolder {
  /** Names the process and its machine, for people. */
  holder: string;
  /** The time at which the lease expires unless it is renewed, in ms since the epoch on the store's clock. */
  until: number;
}

/** The caller that has taken something that only one caller can get. */
export interface TakenBy {
  /** When it was taken, in ms since the epoch on the store's clock. */
  at: number;
  /** Names the process and its machine, for people. */
  by: string;
}

/** Who has stopped a run, and why. */
export interface StoppedBy {
  /**
   * `"stop"`: a call of `stop()`. `"interrupt"` and `"rollback"`: a newer request took the run's place, see
   * `whenBusy`.
   */
  kind: "stop" | "interrupt" | "rollback";
  /** The person or the program that has stopped the run, if it was named. */
  by: string | null;
  /** The reason, if one was given. */
  reason: string | null;
  /** When it was asked for, in ms since the epoch on the store's clock. */
  at: number;
}

/**
 * The class of the errors of this package. A wrong argument is the exception: it causes a TypeError or a RangeError
 * with the code `INVALID_ARGUMENT`. {@link isForkpointError} returns true for all of these errors.
 * @example if (error instanceof ForkpointError && error.code === "BUSY") console.error(error.message);
 */
export class ForkpointError extends Error {
  declare readonly name: "ForkpointError";
  readonly code: ErrorCode;
  /** True if the same call may succeed later. */
  readonly retryable: boolean;
  /**
   * `"unknown"`: the write failed, but its data may still be stored. Saving the same id again is
   * safe.
   */
  declare readonly outcome?: "unknown";
  /**
   * The error of the operating system or of SQLite, if there was one: an Error with its `message`, its name as `code`
   * (`"ENOENT"`, `"SQLITE_IOERR_FSYNC"`) and its number as `errno`. Use the cause for logs only. Use this error's own
   * `code` to decide what to do.
   */
  declare readonly cause?: unknown;
  /**
   * Only for an error about a lease: the lease's current holder. Null if there is no holder, or if the holder is
   * unknown. See docs/leases.md.
   */
  declare readonly lease?: LeaseHolder | null;
  /** Only if a run's state is taken: by whom, and when. See the guide of the framework. */
  declare readonly taken?: TakenBy;
  /** Only for the code `STOPPED`: the author of the stop, its time and its reason. See docs/leases.md. */
  declare readonly stopped?: StoppedBy;

  constructor(
    code: ErrorCode,
    message: string,
    options: {
      retryable?: boolean;
      outcome?: "unknown";
      cause?: unknown;
      lease?: LeaseHolder | null;
      taken?: TakenBy;
      stopped?: StoppedBy;
    } = {},
  ) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.retryable = options.retryable ?? (code === "BUSY" || code === "UNAVAILABLE");
    if (options.outcome !== undefined) this.outcome = options.outcome;
    if (options.lease !== undefined) this.lease = options.lease;
    if (options.taken !== undefined) this.taken = options.taken;
    if (options.stopped !== undefined) this.stopped = options.stopped;
  }

  static {
    Object.defineProperty(ForkpointError.prototype, "name", { value: "ForkpointError", configurable: true });
  }
}

export function typeError(message: string): TypeError {
  return Object.assign(new TypeError(message), { code: "INVALID_ARGUMENT", retryable: false });
}

/** Describes a value of a wrong type for a message. Never shows the value's content, which may be part of a state. */
export function show(value: unknown): string {
  if (value === null) return "null";
  if (isArray(value)) return "an array";
  switch (typeof value) {
    case "undefined":
      return "undefined";
    case "number":
    case "boolean":
      return String(value);
    case "string":
      return value === "" ? "an empty string" : "a string";
    case "object":
      return "an object";
    default:
      return `a ${typeof value}`;
  }
}

/** `Array.isArray`, which throws for a revoked proxy. */
export function isArray(value: unknown): value is unknown[] {
  try {
    return Array.isArray(value);
  } catch {
    return false;
  }
}
