/** Reports what no call can reject with: to the process, and to the channel `forkpoint:warning`. */

import { channel } from "node:diagnostics_channel";
import type { StoreWarning } from "../../index.js";

const warnings = channel("forkpoint:warning");

/** Emits a warning of the process and publishes it. `cause` is left out if it is undefined. */
export function warn(code: StoreWarning["code"], message: string, target: string | null, cause?: unknown): void {
  const details = cause === undefined ? {} : { cause };
  const warning: StoreWarning = { code, message, target, ...details };
  warnings.publish(warning);
  process.emitWarning(Object.assign(new Error(message, details), { name: "ForkpointWarning", code }));
}
