/** The part of `recover` that is the same for every framework. */

/**
 * The status of a run, as its newest checkpoint tells it. A store cannot know whether a process works on the run.
 *
 * - `"waiting"`: a human's answer is missing.
 * - `"failed"`: a node has failed.
 * - `"unfinished"`: nodes are left to run. The run has crashed, or a process works on it.
 * - `"finished"`: no node is left to run.
 * - `"unknown"`: the checkpoint does not tell it.
 */
export type RunStatus = "waiting" | "failed" | "unfinished" | "finished" | "unknown";

/** The options of `recover` that every framework has. */
export interface RecoverOptions<R> {
  /**
   * Runs whose newest checkpoint is younger than this, in ms, are left alone, because another process may work on them.
   * Choose it greater than the time that a node takes. Default: 0. If it is given, older runs are recovered
   * although their process, on this machine, has not ended.
   */
  idleMs?: number;
  /**
   * Runs whose newest checkpoint is older than this, in ms, are left alone, unless they are named. Default: no limit. Null, 0
   * and Infinity also mean no limit.
   */
  maxAgeMs?: number | null;
  /** How many runs are recovered at once. Default: 4. */
  concurrency?: number;
  /**
   * How long the lease of a run is valid, in ms. It is renewed while the run is recovered. After a crash in a recovery on
   * another machine, the run can be recovered again when the lease has expired. After a crash on this machine, it can be
   * recovered at once. Default: 30,000.
   */
  leaseTtlMs?: number;
  /**
   * How often in a row the recovery of a run from the same checkpoint may crash the process before the run is given up.
   * Default: 3. Null, 0 and Infinity mean no limit.
   */
  maxAttempts?: number | null;
  /** Ends the recovery. The promise rejects with the signal's reason after the runs in progress have ended. */
  signal?: AbortSignal;
  /**
   * Is called when a run has been recovered, or could not be. If it throws, the recovery goes on, and the process warns.
   * @example await recover(graph, store, { onRecovered: ({ runId, outcome }) => console.log(runId, outcome) });
   */
  onRecovered?: (run: R) => void;
}

/** A run that was not recovered. */
export type UnrecoveredRun =
  | {
      /** Another process recovered the run meanwhile. */
      outcome: "elsewhere";
      /** Names the other process. */
      holder: string;
    }
  | {
      /** The recovery of the run has crashed the process too often. Pass a greater `maxAttempts` to try again. */
      outcome: "gave up";
      /** The number of crashes in a row. */
      crashes: number;
    }
  | {
      /** Resuming the run threw an error, or an option refused the run. */
      outcome: "error";
      error: unknown;
    }
  | {
      /** The run was left alone, because this program was not asked to run it. */
      outcome: "skipped";
      /**
       * - `"other program"`: another program made the run.
       * - `"unknown origin"`: the store does not know which program made the run.
       * - `"branch"`: the command line or the studio made the run's newest checkpoint.
       * - `"at work"`: the process that runs it has not ended.
       */
      why: "other program" | "unknown origin" | "branch" | "at work";
      /** The name of the program that made the run. Null if the store does not know it. */
      program: string | null;
      /** Says what to do. */
      message: string;
    };

/** What `recover` did. */
export interface RecoverReport<R> {
  /** The runs that needed recovery, in the order in which their recovery ended. */
  runs: R[];
  /** How many runs were looked at. Runs that the store knows to be finished are not counted. */
  checked: number;
}
