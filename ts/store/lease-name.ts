/** Names of leased runs in messages. */

import { ForkpointError, quote } from "../bridge/errors.js";
import type { LeaseHolder } from "../bridge/forkpoint-error.js";
import type { RunKey } from "../bridge/native.js";

/** The error for a run whose lease another holder has. `remedy` is the remedy for the caller. */
export function isHeld(
  of: RunKey,
  { holder, until }: LeaseHolder,
  remedy = "wait until the lease is released or expires, or stop that process",
): ForkpointError {
  const message = `${nameOf(of)} is leased by ${holder} until ${new Date(until).toISOString()}: ${remedy}`;
  return new ForkpointError("CONFLICT", message, { retryable: true, lease: { holder, until } });
}

export function nameOf({ run, ns }: RunKey): string {
  return `run ${quote(run)}${ns === "" ? "" : `, namespace ${quote(ns)}`}`;
}
