import { types } from "node:util";
import type { ErrorCode, ForkpointError as Contract, isForkpointError as isForkpointErrorContract } from "../index.js";

export class ForkpointError extends Error implements Contract {
  declare readonly name: "ForkpointError";
  readonly code: ErrorCode;
  readonly retryable: boolean;
  declare readonly outcome?: "unknown";
  declare readonly cause?: unknown;

  constructor(
    code: ErrorCode,
    message: string,
    options: { retryable?: boolean; outcome?: "unknown"; cause?: unknown } = {},
  ) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.retryable = options.retryable ?? (code === "BUSY" || code === "UNAVAILABLE");
    if (options.outcome !== undefined) this.outcome = options.outcome;
  }

  static {
    Object.defineProperty(ForkpointError.prototype, "name", { value: "ForkpointError", configurable: true });
  }
}

const codes: Record<ErrorCode, true> = {
  NOT_FOUND: true,
  INVALID_ARGUMENT: true,
  CLOSED: true,
  CORRUPT: true,
  CONFLICT: true,
  BUSY: true,
  FULL: true,
  UNAVAILABLE: true,
  UNSUPPORTED: true,
};

/** By name and code: an error of another copy of this package, or of another realm, is an instance of another class. */
export const isForkpointError = ((error: unknown): boolean => {
  if (!types.isNativeError(error)) return false;
  const { name, code } = error as Error & { code?: unknown };
  if (name === "TypeError" || name === "RangeError") return code === "INVALID_ARGUMENT";
  return name === "ForkpointError" && typeof code === "string" && Object.hasOwn(codes, code);
}) as typeof isForkpointErrorContract;

/** A wrong type, where JavaScript users expect a TypeError. */
export function typeError(message: string): TypeError {
  return Object.assign(new TypeError(message), { code: "INVALID_ARGUMENT", retryable: false });
}

/** A number out of range, where JavaScript users expect a RangeError. */
export function rangeError(message: string): RangeError {
  return Object.assign(new RangeError(message), { code: "INVALID_ARGUMENT", retryable: false });
}

/** A value that cannot be stored, named by its path. Nothing is written. */
export function refusal(path: string, why: string, cause?: unknown): ForkpointError {
  const message = `${path} cannot be stored: ${why}. Leave it out of the checkpoint or replace it by data`;
  return new ForkpointError("INVALID_ARGUMENT", message, cause === undefined ? {} : { cause });
}

/** Reads what is the user's: a getter, a toJSON or a proxy's trap may throw. */
export function reading<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw refusal(path, `reading it threw ${String(error)}`, error);
  }
}

/** How messages show an id: not at any length. */
export function quote(id: string): string {
  return JSON.stringify(id.length > 100 ? `${id.slice(0, 100)}...` : id);
}

/** How messages show a value of a wrong type: never its content, which may be state. */
export function show(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
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
