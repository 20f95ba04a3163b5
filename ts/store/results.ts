/** What `prune` and `stats` return. */

/** What was removed so far. */
export interface PruneProgress {
  /** How many checkpoints were removed. A prune of all frameworks also counts the effects that were too old. */
  removed: number;
  /**
   * The number of bytes by which `storedBytes` became smaller. A checkpoint that depended on a removed checkpoint is
   * now stored in full. This number can therefore be smaller than the size of the removed checkpoints, and even below
   * 0. With `dryRun`: the stored bytes of the checkpoints that would be removed. The removal frees less if it must
   * store other checkpoints in full.
   */
  bytes: number;
  /** How many runs (threads, sessions) became empty. */
  lineages: number;
}

/** What was removed. With `dryRun`: what would be removed. */
export type PruneResult = PruneProgress;

/** What was removed from a store of runs. With `dryRun`: what would be removed. */
export interface RunPruneResult extends Omit<PruneResult, "lineages"> {
  /** How many runs became empty. */
  runs: number;
}

/** Statistics of a store. */
export interface StoreStats {
  /** How many checkpoints the store holds. */
  checkpoints: number;
  /**
   * How many lineages the store holds. A lineage is a run, a thread's namespace or a session: anything with its own
   * checkpoints or messages.
   */
  lineages: number;
  /** The size of the checkpoints in bytes as they were serialized. */
  logicalBytes: number;
  /** The stored size of the checkpoints in bytes: compressed, and stored as differences to each other. */
  storedBytes: number;
  /** `logicalBytes / storedBytes`; 1 for an empty store. */
  ratio: number;
  /** The size of the database file in bytes, with its indexes and empty pages. Not set for a `memory:` store. */
  fileBytes?: number;
  /** How many messages and events are stored. One that several checkpoints refer to is counted once. */
  records: number;
  /** The bytes that these messages and events take in the store. */
  recordBytes: number;
  /** How many effects of runs are stored. See `forkpoint/effects`. */
  effects: number;
  /** The bytes that the results of these effects take in the store. */
  effectBytes: number;
  /**
   * True if the numbers above are estimates, except `fileBytes`. A store on Postgres with more than about 5,000 checkpoints
   * estimates them from some pages of its tables, because counting would read all of them.
   */
  isEstimate: boolean;
  /**
   * About how many bytes of serialized values this thread keeps, so that a later save serializes only new values.
   * Counts all stores of the thread. At most 64 MiB.
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
  /** How many runs have checkpoints. */
  runs: number;
  /**
   * The runs that use the most storage, the largest first. {@link StatsOptions.largest} limits the number of runs in
   * the list.
   */
  largest: Array<{ runId: string } & Omit<LineageStats, "lineage">>;
}

/** Statistics of a lineage. */
export interface LineageStats {
  /** The lineage's name, which is the id of the run or is made of it. */
  lineage: string;
  /** How many checkpoints the lineage has. */
  checkpoints: number;
  /** The size of the checkpoints and of the messages or entries in bytes: checkpoints as they were serialized. */
  logicalBytes: number;
  /** The stored size in bytes. Checkpoints are compressed, and stored as differences to each other. */
  storedBytes: number;
}
