/**
 * A LangGraph.js checkpointer: pass a {@link ForkpointSaver} to `compile({ checkpointer })`.
 *
 * Needs `@langchain/langgraph-checkpoint`, which LangGraph brings.
 */

import type {
  BaseCheckpointSaver,
  ChannelVersions,
  Checkpoint,
  CheckpointListOptions,
  CheckpointMetadata,
  CheckpointTuple,
  DeltaChannelHistory,
  PendingWrite,
  SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import { BaseCheckpointSaver as Base } from "@langchain/langgraph-checkpoint";
import type {
  CheckOptions,
  LineageStats,
  StatsOptions,
  Store,
  StoreOptions,
  StoreStats,
  VerifyReport,
} from "./index.js";

/** The part of LangGraph's config that a saver reads: `thread_id`, `checkpoint_ns` and `checkpoint_id` of `configurable`. */
type Config = Parameters<BaseCheckpointSaver["getTuple"]>[0];

export interface SaverOptions extends Omit<StoreOptions, "serializer"> {
  /** How values become bytes. The types and bytes that it returns are stored exactly. Default: LangGraph's own serializer. */
  serde?: SerializerProtocol;
  /**
   * Whether a checkpoint must be the only child of its parent. If two runs go on from the same checkpoint at the same time, one
   * then rejects with `CONFLICT`. Otherwise the thread's history would fork without notice. Default: false. `expected_parent`
   * in a call's `configurable` overrides this option: false makes a branch on purpose.
   */
  expectedParent?: boolean;
}

/**
 * What `prune` removes from each namespace of a thread.
 *
 * - `"keep_latest"`: all but the latest checkpoint.
 * - `"delete"`: everything.
 * - An object: what one of its rules names. A rule that is left out, and null, is no limit.
 *
 * A checkpoint that a kept one is made of (whose writes a delta channel needs) stays too.
 */
export type PruneStrategy =
  | "keep_latest"
  | "delete"
  | {
      /** How many checkpoints of each namespace to keep: those with the greatest ids. 0 and Infinity are no limit. */
      keepLastN?: number | null;
      /** Removes what was saved before this time: a Date, or ms since the epoch. */
      olderThan?: Date | number | null;
    };

/** Options of `prune()`. */
export interface SaverPruneOptions {
  /** Removes nothing and returns what would be removed. Default: false. */
  dryRun?: boolean;
  /** Stops between two transactions; the promise then rejects with the signal's reason, and what was removed stays removed. */
  signal?: AbortSignal;
  /** Called after each transaction with what was removed so far. If it throws, pruning stops with that error. */
  onProgress?: (progress: SaverPruneResult) => void;
}

/** What was removed or, with `dryRun`, would be. */
export interface SaverPruneResult {
  /** How many checkpoints were removed. */
  removed: number;
  /** How many namespaces of threads became empty. */
  namespaces: number;
}

/** A page of threads. */
export interface ThreadsPage {
  /** The thread that began last comes first. */
  threads: Array<{
    threadId: string;
    /** How many checkpoints the graph itself has. Those of subgraphs are not counted. */
    checkpoints: number;
    latest: { checkpointId: string; checkpointNs: string };
  }>;
  /** Pass it to the next call of `listThreads`. Null: this was the last page. */
  cursor: string | null;
}

/** The progress of an import. */
export interface ImportProgress {
  /** How many threads are copied, read back and compared. */
  threads: number;
  /** How many threads the other database has. */
  ofThreads: number;
  /** How many checkpoints are copied. */
  checkpoints: number;
  /** How many writes are copied, including those of checkpoints with children. */
  writes: number;
}

export interface ImportOptions {
  /** Stops between two pages; the promise then rejects with the signal's reason. Threads that were finished stay. */
  signal?: AbortSignal;
  /** Called after each page and each thread. If it throws, the import stops with that error. */
  onProgress?: (progress: ImportProgress) => void;
}

/** Statistics of the LangGraph checkpoints. */
export interface SaverStats extends Omit<StoreStats, "lineages" | "largest"> {
  /** How many namespaces the threads have: one for each graph and subgraph that saves. */
  namespaces: number;
  /** The namespaces that take most, the largest first. {@link StatsOptions.largest} says how many. */
  largest: Array<{ threadId: string; checkpointNs: string } & Omit<LineageStats, "lineage">>;
}

/**
 * A checkpointer that survives crashes. A checkpoint adds only its changes to the database.
 *
 * - A channel is serialised and stored when its version changes. The other channels are inherited from the parent checkpoint.
 * - A resolved write is durable. A write that fails temporarily is tried again.
 * - No call blocks the event loop, even while another process holds the database.
 * - Reads return fresh objects.
 *
 * @example
 * ```ts
 * import { ForkpointSaver } from "forkpoint/langgraph";
 *
 * const graph = builder.compile({ checkpointer: new ForkpointSaver("agent.db") });
 * ```
 */
export class ForkpointSaver extends Base implements AsyncDisposable {
  /**
   * @param target a file path, `"sqlite:<path>"`, a `file:` URL, `"memory:"`, or a store from `openStore`.
   *   A file is opened in the background. If that fails, the first call rejects.
   * @param options `serde` and `expectedParent`, and the options of `openStore` unless the target is an open store.
   * @throws TypeError or RangeError for a wrong target or option.
   */
  constructor(target: string | URL | Store, options?: SaverOptions);

  /**
   * Returns a checkpoint with its metadata and pending writes: the one that `checkpoint_id` names, or else the latest (the greatest
   * id) of the thread's namespace. Without a `checkpoint_ns` this is the graph itself. Returns undefined if there is none, and for a
   * config without a `thread_id`.
   * @throws ForkpointError `CORRUPT` if it is damaged.
   */
  getTuple(config: Config): Promise<CheckpointTuple | undefined>;

  /**
   * Lists checkpoints, the greatest id first. It reads a page at a time.
   *
   * `thread_id`, `checkpoint_ns` and `checkpoint_id` of the config are each optional and matched exactly. The namespace `""` is the
   * graph itself; without a namespace, all are listed. `before` lists the ids below that of its config. `limit` is the number of
   * checkpoints (default: all). `filter` compares literal top-level keys of the metadata for equality.
   */
  list(config: Config, options?: CheckpointListOptions): AsyncGenerator<CheckpointTuple>;

  /**
   * Stores a checkpoint of the config's thread and namespace. `checkpoint_id` of the config names its parent. Returns the config of
   * the new checkpoint, once it is durable. One with the same id is replaced.
   *
   * @param newVersions the channels that changed. The others are inherited from the parent.
   * @throws ForkpointError `INVALID_ARGUMENT` without a `thread_id`, or if a value cannot be stored. `CONFLICT` with
   *   `expectedParent`, if another run has gone on from the parent. Nothing was stored in either case.
   */
  put(
    config: Config,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<Config>;

  /**
   * Stores what a task wrote to channels, as pending writes of the checkpoint that the config names. It resolves when they are
   * durable. A write that the task has stored before, at the same position, stays. Writes to LangGraph's own channels (errors,
   * interrupts, resume values) replace the ones from before.
   * @throws ForkpointError `INVALID_ARGUMENT` without a `thread_id` or a `checkpoint_id`, or if a value cannot be stored.
   */
  putWrites(config: Config, writes: PendingWrite[], taskId: string): Promise<void>;

  /** Removes a thread with all of its namespaces and writes. An unknown thread is no error. */
  deleteThread(threadId: string): Promise<void>;

  /**
   * Returns what the ancestors of a checkpoint contributed to delta channels: for each of `channels`, the writes since the last
   * stored value, oldest first, and that value. LangGraph calls it to rebuild such channels. The writes of other branches are not
   * included.
   */
  getDeltaChannelHistory(options: { config: Config; channels: string[] }): Promise<Record<string, DeltaChannelHistory>>;

  /**
   * Removes checkpoints of threads, in transactions of at most 500; `"delete"` removes a thread in one. Saves go on in between. An
   * unknown thread is no error.
   *
   * @param strategy what to remove. Default: `"keep_latest"`.
   * @throws TypeError or RangeError for wrong arguments: nothing was removed. ForkpointError `CLOSED` if the saver is closed meanwhile.
   *
   * @example
   * ```ts
   * const planned = await saver.prune(["thread-1"], { keepLastN: 10 }, { dryRun: true });
   * ```
   */
  prune(threadIds: string[], strategy?: PruneStrategy, options?: SaverPruneOptions): Promise<SaverPruneResult>;

  /**
   * Removes the checkpoints whose metadata has one of these ids as `run_id`. A checkpoint that a delta channel of a later one needs
   * stays. It reads the metadata of all checkpoints. Returns how many were removed.
   */
  deleteForRuns(runIds: string[]): Promise<{ removed: number }>;

  /**
   * Copies a thread, with the ids of its checkpoints, to a new thread. It is not one transaction: if it fails, what was copied is
   * removed; if the process is killed, part of the copy stays.
   * @throws ForkpointError `NOT_FOUND` if there is no such thread. `CONFLICT` if the target exists.
   */
  copyThread(sourceThreadId: string, targetThreadId: string): Promise<void>;

  /**
   * Returns the threads that the store knows. The thread that began last comes first. A page has `limit` threads (default: 100).
   * `cursor` is the cursor of the page before.
   */
  listThreads(options?: { limit?: number; cursor?: string | null }): Promise<ThreadsPage>;

  /**
   * Copies the checkpoints, metadata and pending writes from a database of LangGraph's SqliteSaver. It only reads that file. Each
   * thread is read back and compared. A thread on which it fails is removed again.
   * @throws ForkpointError `CONFLICT` if one of the threads is in this store already: nothing was copied.
   */
  importSqliteSaver(from: string | URL, options?: ImportOptions): Promise<ImportProgress>;

  /** Returns what the checkpoints of LangGraph hold and take. */
  stats(options?: StatsOptions): Promise<SaverStats>;

  /** Verifies everything in the database, of all contracts, and changes nothing. The same as `Store.check()`. */
  check(options?: CheckOptions): Promise<VerifyReport>;

  /** Gives the space of removed checkpoints, of all contracts, back to the file system. Saves wait. The same as `Store.vacuum()`. */
  vacuum(): Promise<void>;

  /** Waits for the calls made before, then closes. May be called again. An open store given to the constructor stays open. */
  close(): Promise<void>;

  /** `close()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}
