/** What a listing tells about an effect. */

/** An effect of a run, as `list` returns it. */
export interface Effect {
  key: string;
  /**
   * - `"running"`: a process runs it.
   * - `"done"`: its result is stored.
   * - `"failed"`: the function has thrown. The next call runs it again.
   * - `"error"`: the function has thrown, and the error is stored in place of a result.
   * - `"unknown"`: the process that began it ended before it stored the result. It may have happened.
   */
  state: "running" | "done" | "failed" | "error" | "unknown";
  idempotencyKey: string;
  /** How many attempts were begun. */
  attempts: number;
  /** Names the process that began the last attempt. */
  holder: string;
  /** When the last attempt began, in ms since the epoch. */
  startedAt: number;
  /** When the last attempt ended. Null if it has not, or if it is not known. */
  endedAt: number | null;
  /** What the function has thrown. Null if it has not. */
  error: string | null;
  /** The id of the checkpoint from which the effect was begun. Null if the run had none. */
  checkpointId: string | null;
}
