/**
 * Reports problems that no call can reject with: as warnings of the process, and on the channel `forkpoint:warning`.
 */

import { channel } from "node:diagnostics_channel";

/**
 * A message of the diagnostics channel `forkpoint:warning`: a problem that no call can reject with. The process emits a
 * warning with the same message and code.
 */
export interface StoreWarning {
  /**
   * - `FORKPOINT_SWEEP_FAILS`: background sweeps fail, so data that retention should remove is still stored.
   * - `FORKPOINT_CLOCK_SET`: the machine's clock was set while a store was open. `ttlMs` removes nothing for an hour.
   * - `FORKPOINT_NETWORK_FILE`: the file is on a network file system.
   * - `FORKPOINT_COMMITS_LOST`: a power failure lost the newest commits of a folder of text files.
   * - `FORKPOINT_LOG_MISSING`: a database file has no tables, because its write-ahead log is missing.
   * - `FORKPOINT_SERVER_NOT_DURABLE`: a Postgres server has `fsync` or `full_page_writes` off.
   * - `FORKPOINT_SERVER_NOT_VERIFIED`: the certificate of a Postgres server is not checked.
   * - `FORKPOINT_STREAM_NOT_STORED`: a resumable stream could not be stored. Only its first reader gets all of it.
   * - `FORKPOINT_LEFT_OUT`: a function or a symbol was not stored. Once for each path, for up to 100 paths.
   */
  code:
    | "FORKPOINT_SWEEP_FAILS"
    | "FORKPOINT_CLOCK_SET"
    | "FORKPOINT_NETWORK_FILE"
    | "FORKPOINT_COMMITS_LOST"
    | "FORKPOINT_LOG_MISSING"
    | "FORKPOINT_SERVER_NOT_DURABLE"
    | "FORKPOINT_SERVER_NOT_VERIFIED"
    | "FORKPOINT_STREAM_NOT_STORED"
    | "FORKPOINT_LEFT_OUT";
  /** The problem and the remedy. Never contains the content of a state. */
  message: string;
  /** The path of the file or folder, `"memory:"`, or the server, database and schema. Null for `FORKPOINT_LEFT_OUT`. */
  target: string | null;
  /** The error behind the problem, if there is one. */
  cause?: unknown;
}

const warnings = channel("forkpoint:warning");

/** Emits a warning of the process and publishes it. `cause` is left out if it is undefined. */
export function warn(code: StoreWarning["code"], message: string, target: string | null, cause?: unknown): void {
  const details = cause === undefined ? {} : { cause };
  const warning: StoreWarning = { code, message, target, ...details };
  warnings.publish(warning);
  process.emitWarning(Object.assign(new Error(message, details), { name: "ForkpointWarning", code }));
}
