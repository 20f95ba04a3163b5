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
import type { CheckOptions, LineageStats, StatsOptions, Store, StoreOptions, StoreStats, VerifyReport } from "./index.js";

/** LangGraph's config, as far as a saver reads it: `thread_id`, `checkpoint_ns` and `checkpoint_id` of `configurable`. */
type Config = Parameters<BaseCheckpointSaver["getTuple"]>[0];

export interface SaverOptions extends Omit<StoreOptions, "serializer"> {
  /** How values become bytes; LangGraph's own unless said. Its types and bytes are stored exactly. */
  serde?: SerializerProtocol;
  /**
   * Whether a checkpoint must be the only child of its parent: of two runs that go on with a thread at the same time, one is
   * refused with `CONFLICT` instead of forking its history unseen. `false` unless said. `expected_parent` in a call's
   * `configurable` goes before it: `false` there makes a branch on purpose.
   */
  expectedParent?: boolean;
}

/**
 * What `prune` keeps of each namespace of a thread: its latest checkpoint, nothing, or the newest so many and what was saved
 * since. What a checkpoint that stays is made of (the writes that a delta channel needs) stays too.
 */
export type PruneStrategy = "keep_latest" | "delete" | { keepLast?: number | null; olderThan?: Date | number | null };

/** A page of threads. */
export interface ThreadsPage {
  /** The last to begin first. */
  threads: Array<{
    threadId: string;
    /** How many checkpoints the graph itself has; those of subgraphs are not counted. */
    checkpoints: number;
    latest: { checkpointId: string; checkpointNs: string };
  }>;
  /** Give it to the next call; null: this was the last page. */
  cursor: string | null;
}

/** How far an import has come. */
export interface ImportProgress {
  /** Threads that are here, read back and compared. */
  threads: number;
  /** Threads that the database has. */
  ofThreads: number;
  checkpoints: number;
  /** Pending writes, those of checkpoints that were gone on from too. */
  writes: number;
}

export interface ImportOptions {
  /** Stops between two pages; the promise then rejects with the signal's reason. Threads that were finished stay. */
  signal?: AbortSignal;
  /** Called after each page and each thread. If it throws, the import stops with that error. */
  onProgress?: (progress: ImportProgress) => void;
}

/** What the checkpoints of LangGraph hold and take. */
export interface SaverStats extends Omit<StoreStats, "lineages" | "largest"> {
  /** Namespaces of threads: one for each graph and subgraph that saves. */
  namespaces: number;
  /** Those that take most, the largest first; at most 10. */
  largest: Array<{ threadId: string; checkpointNs: string } & Omit<LineageStats, "lineage">>;
}

/**
 * A checkpointer that survives crashes, and whose database grows with what is new.
 *
 * - A channel is serialised and stored when its version changes; the others are its parent's.
 * - A write that resolves is durable; one that fails for a moment is tried again.
 * - Nothing here blocks the event loop, whoever holds the database.
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
   * @param options `serde`, and those of `openStore` unless the target is an open store.
   */
  constructor(target: string | URL | Store, options?: SaverOptions);

  getTuple(config: Config): Promise<CheckpointTuple | undefined>;

  /**
   * Checkpoints, the newest id first, read a page at a time. The thread, the namespace (`""`: the graph itself; left out: all)
   * and the id of the config are each optional and exact. `filter` is equality on literal top-level keys of the metadata.
   */
  list(config: Config, options?: CheckpointListOptions): AsyncGenerator<CheckpointTuple>;

  put(
    config: Config,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<Config>;

  putWrites(config: Config, writes: PendingWrite[], taskId: string): Promise<void>;

  /** Removes a thread: all of its namespaces and writes. An unknown one is fine. */
  deleteThread(threadId: string): Promise<void>;

  getDeltaChannelHistory(options: { config: Config; channels: string[] }): Promise<Record<string, DeltaChannelHistory>>;

  /** Removes checkpoints of threads, `"keep_latest"` unless said. */
  prune(threadIds: string[], strategy?: PruneStrategy): Promise<{ removed: number }>;

  /**
   * Removes the checkpoints whose metadata has one of these as `run_id`, but those that a delta channel of a later one is made of.
   * Reads the metadata of all.
   */
  deleteForRuns(runIds: string[]): Promise<{ removed: number }>;

  /** Copies a thread with its ids to another, which must be new. */
  copyThread(sourceThreadId: string, targetThreadId: string): Promise<void>;

  /** The threads that the store knows, the last to begin first. A page has 100 unless said. */
  listThreads(options?: { limit?: number; cursor?: string | null }): Promise<ThreadsPage>;

  /**
   * Copies a database of LangGraph's SqliteSaver, which is only read: checkpoints, metadata and pending writes, each read back
   * and compared. Its threads must be new here (`CONFLICT`, before anything is stored). A thread on which it fails is removed again.
   */
  importSqliteSaver(from: string | URL, options?: ImportOptions): Promise<ImportProgress>;

  /** What the checkpoints of LangGraph hold and take. */
  stats(options?: StatsOptions): Promise<SaverStats>;

  /** `Store.check()`: verifies everything in the database, of all contracts. */
  check(options?: CheckOptions): Promise<VerifyReport>;

  /** `Store.vacuum()`. */
  vacuum(): Promise<void>;

  /** Waits for what was called before, then closes. A store given to the constructor stays open. */
  close(): Promise<void>;

  /** `close()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}
