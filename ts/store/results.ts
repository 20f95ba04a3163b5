/** The results of `prune`, `stats` and `stop`, as types alone: the studio's page uses them too. */

/** The removals so far. */
export interface PruneProgress {
  /** The number of removed checkpoints. A prune of all frameworks also counts the expired effects. */
  removed: number;
  /**
   * The number of bytes by which `storedBytes` became smaller. Checkpoints that depended on removed checkpoints are now
   * stored in full, so this can be less than the size of the removed checkpoints, and even below 0. With `dryRun`: the
   * stored bytes of the checkpoints to remove. The removal frees less if it must store other checkpoints in full.
   */
  bytes: number;
  /** The number of runs (threads, sessions) that became empty. */
  lineages: number;
}

/** What was removed. With `dryRun`: what would be removed. */
export type PruneResult = PruneProgress;

/** What was removed from a store of runs. With `dryRun`: what would be removed. */
export interface RunPruneResult extends Omit<PruneResult, "lineages"> {
  /** The number of runs that became empty. */
  runs: number;
}

/** Statistics of a store. */
export interface StoreStats {
  /** The number of checkpoints in the store. */
  checkpoints: number;
  /**
   * The number of lineages in the store. A lineage is a run, a thread's namespace or a session: anything with its own
   * checkpoints or messages.
   */
  lineages: number;
  /** The serialized size of the checkpoints in bytes. */
  logicalBytes: number;
  /** The stored size of the checkpoints in bytes: compressed, and as deltas. */
  storedBytes: number;
  /** `logicalBytes / storedBytes`; 1 for an empty store. */
  ratio: number;
  /** The size of the database file in bytes, including indexes and empty pages. Not set for a `memory:` store. */
  fileBytes?: number;
  /** The number of messages and events. Each counts once, even if several checkpoints refer to it. */
  records: number;
  /** The stored size of these messages and events in bytes. */
  recordBytes: number;
  /** The number of effects of runs. See `forkpoint/effects`. */
  effects: number;
  /** The stored size of the results of these effects in bytes. */
  effectBytes: number;
  /**
   * True if the numbers above are estimates, except `fileBytes`. A Postgres store with more than about 5,000
   * checkpoints estimates them from some pages of its tables, because counting would read all of them.
   */
  isEstimate: boolean;
  /**
   * The approximate number of bytes of serialized values that this thread keeps, so that later saves serialize only new
   * values. Counts all stores of the thread. At most 64 MiB.
   */
  keptBytes: number;
  /**
   * The lineages that use the most storage, the largest first. {@link StatsOptions.largest} limits the number of
   * lineages in the list.
   */
  largest: LineageStats[];
}

/** Statistics of the checkpoints of a framework whose checkpoints belong to runs. */
export interface RunStats extends Omit<StoreStats, "lineages" | "largest"> {
  /** The number of runs with checkpoints. */
  runs: number;
  /**
   * The runs that use the most storage, the largest first. {@link StatsOptions.largest} limits the number of runs in
   * the list.
   */
  largest: Array<{ runId: string } & Omit<LineageStats, "lineage">>;
}

/** Statistics of a lineage. */
export interface LineageStats {
  /** The lineage's name: the id of the run, or a text that contains it. */
  lineage: string;
  /** The number of checkpoints of the lineage. */
  checkpoints: number;
  /** The size of the checkpoints, messages and entries in bytes, with checkpoints in serialized form. */
  logicalBytes: number;
  /** The stored size in bytes. Checkpoints are compressed and stored as deltas. */
  storedBytes: number;
}

/** Who has stopped a run, when, and why. */
export interface RunStop {
  /** The person or the program that has stopped the run. Null: unknown. */
  by: string | null;
  /** Null: no reason was given. */
  reason: string | null;
  /** When it was asked for, in ms since the epoch on the store's clock. */
  at: number;
}

export interface StopResult {
  /**
   * - `"stopped"`: the run has ended.
   * - `"not running"`: no process worked on the run. If a process that has ended left it unfinished, it counts as
   *   stopped from now on.
   * - `"no answer"`: the process did not end the run in `waitMs`. It may be too busy, not listen, or have lost its
   *   connection. It still stops when it notices the request.
   */
  outcome: "stopped" | "not running" | "no answer";
  /** The process that works on the run, or has worked on it. */
  holder: string | null;
}
