/** An effect in a listing. */

/** An effect of a run, as `list` returns it. */
export interface Effect {
  key: string;
  /**
   * - `"running"`: a process runs it.
   * - `"done"`: its result is stored.
   * - `"failed"`: the function threw. The next call runs it again.
   * - `"error"`: the function threw, and the error is stored in place of a result.
   * - `"unknown"`: its process ended before it stored the result. It may have happened.
   */
  state: "running" | "done" | "failed" | "error" | "unknown";
  idempotencyKey: string;
  /** The number of attempts. */
  attempts: number;
  /** The process that began the last attempt. */
  holder: string;
  /** When the last attempt began, in ms since the epoch. */
  startedAt: number;
  /** When the last attempt ended. Null if it has not ended, or if the time is unknown. */
  endedAt: number | null;
  /** The error of the function. Null if there is none. */
  error: string | null;
  /** The id of the checkpoint that the effect began from. Null if the run had none. */
  checkpointId: string | null;
}
