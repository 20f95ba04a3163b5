/** Turns errors into answers, and makes the errors of wrong requests. */

import { STATUS_CODES } from "node:http";
import { isForkpointError, messageOf } from "../../ts/bridge/errors.js";

/** An error answer: the status, and the code in `{"error":{code,message,retryable}}`. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly headers: Record<string, string>;

  constructor(status: number, code: string, message: string, headers: Record<string, string> = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.headers = headers;
  }
}

/** The answer to a forbidden request. It gives no reason, so that an attacker learns nothing. */
export function forbidden(): Refusal {
  return new Refusal(403, "FORBIDDEN", "forbidden");
}

export function invalid(message: string): Refusal {
  return new Refusal(400, "INVALID_ARGUMENT", message);
}

/** The status of each error code. Other codes are 500: the request was right, and the store failed. */
const statuses: Record<string, number> = {
  INVALID_ARGUMENT: 400,
  UNSUPPORTED: 400,
  NOT_FOUND: 404,
  CONFLICT: 409,
};

export function answerOf(error: unknown): { status: number; headers: Record<string, string>; body: string } {
  if (error instanceof Refusal) {
    const { status, code, message, headers } = error;
    return { status, headers, body: bodyOf(code, message, false) };
  }
  if (isForkpointError(error)) {
    const { code, message, retryable } = error;
    return { status: statuses[code] ?? 500, headers: {}, body: bodyOf(code, message, retryable) };
  }
  const message = `${STATUS_CODES[500]}: ${messageOf(error)}`;
  return { status: 500, headers: {}, body: bodyOf("INTERNAL", message, false) };
}

function bodyOf(code: string, message: string, retryable: boolean): string {
  return JSON.stringify({ error: { code, message, retryable } });
}
