/** The error of this package and how it is made, without a module of Node: the studio's page has these as well. */

import type { ErrorCode, ForkpointError as Contract, LeaseHolder } from "../../index.js";

export class ForkpointError extends Error implements Contract {
  declare readonly name: "ForkpointError";
  readonly code: ErrorCode;
  readonly retryable: boolean;
  declare readonly outcome?: "unknown";
  declare readonly cause?: unknown;
  declare readonly lease?: LeaseHolder | null;

  constructor(
    code: ErrorCode,
    message: string,
    options: { retryable?: boolean; outcome?: "unknown"; cause?: unknown; lease?: LeaseHolder | null } = {},
  ) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.retryable = options.retryable ?? (code === "BUSY" || code === "UNAVAILABLE");
    if (options.outcome !== undefined) this.outcome = options.outcome;
    if (options.lease !== undefined) this.lease = options.lease;
  }

  static {
    Object.defineProperty(ForkpointError.prototype, "name", { value: "ForkpointError", configurable: true });
  }
}

/** Makes the TypeError for an argument of a wrong type. */
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
