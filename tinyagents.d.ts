/**
 * Threads of TinyAgents-like graphs: checkpoints in namespaces, and pending writes.
 *
 * {@link Checkpointer} has the operations on threads. They need no graph. {@link Graph} runs nodes on a thread.
 */

import type {
  CheckOptions,
  Lease,
  LeaseHolder,
  LeaseOptions,
  LineageStats,
  RunRef,
  RunStatus,
  StatsOptions,
  Store,
  StoreOptions,
  StoreStats,
  VerifyReport,
} from "./index.js";

export * from "./tinyagents-graph.js";
export * from "./tinyagents-nodes.js";

/** The place of a graph in a thread. `[]` is the graph itself. A subgraph has a namespace of its own. */
export type Namespace = string[];

/** What made a checkpoint. */
export type CheckpointSource = "input" | "loop" | "update" | "fork";

/** The slot of the answer to an interrupt: see {@link PendingWrite.idx}. */
export declare const RESUME: -1;
/** The slot of a task's error. */
export declare const ERROR: -2;
/** The slot of a task's interrupt. */
export declare const INTERRUPT: -3;

/** Addresses a checkpoint. */
export interface CheckpointConfig {
  threadId: string;
  /** Default: the checkpoint that was put last. */
  checkpointId?: string | null;
  /** Default: any namespace of the thread. For `putWrites`: `[]`, the graph itself. */
  namespace?: Namespace;
}

/** What a task wrote before its superstep ended. */
export interface PendingWrite {
  node: string;
  taskId: string;
  /**
   * The slot of the write in its task. A slot from 0 on keeps its first write. A slot below 0 keeps its last write:
   * {@link RESUME}, {@link ERROR}, {@link INTERRUPT}.
   */
  idx: number;
  channel: string;
  payload: unknown;
}

/** A question to a human, or to another program, that stopped a task. */
export interface Interrupt {
  node: string;
  taskId?: string;
  value?: unknown;
  [field: string]: unknown;
}

/** A snapshot of a thread. Fields that are not declared here are stored too. */
export interface ThreadCheckpoint<S> {
  threadId: string;
  checkpointId: string;
  /** The run that made the checkpoint. */
  runId: string | null;
  /** The checkpoint before this one, in the same namespace. */
  parentCheckpointId: string | null;
  namespace: Namespace;
  state: S;
  /** The nodes that run next. */
  nextNodes: string[];
  /** The tasks that have been done. */
  completedTasks: string[];
  pendingWrites: PendingWrite[];
  interrupts: Interrupt[];
  pendingActivations: Array<{ node: string; sendArg?: unknown; taskId?: string }> | null;
  barrierArrivals: Array<{ node: string; arrived: string[] }>;
  /** Data for listings and filters, for example `source` and `step`. Keep it small. */
  metadata: Record<string, unknown>;
}

/** A checkpoint to put. Everything but the thread and the state has a default. */
export type NewThreadCheckpoint<S> = Pick<ThreadCheckpoint<S>, "threadId" | "state"> &
  Partial<Omit<ThreadCheckpoint<S>, "threadId" | "state">> & {
    /**
     * True if the state can be read only together with its parent's, for example because it holds only what changed.
     * No prune and no retention rule removes the parent without this checkpoint. Default: false.
     */
    dependsOnParent?: boolean;
  };

/** A checkpoint in a listing. */
export interface CheckpointMetadata {
  threadId: string;
  checkpointId: string;
  runId: string | null;
  parentCheckpointId: string | null;
  namespace: Namespace;
  nextNodes: string[];
  /** True if the checkpoint has interrupts. */
  interrupted: boolean;
  /** The time at which the store received the checkpoint, in ms since the epoch. */
  createdAt: number;
  metadata: Record<string, unknown>;
}

/** A checkpoint with its place and its pending writes. */
export interface CheckpointTuple<S> {
  config: Required<CheckpointConfig> & { checkpointId: string };
  checkpoint: ThreadCheckpoint<S>;
  /** Null if the checkpoint has no parent. */
  parentConfig: (Required<CheckpointConfig> & { checkpointId: string }) | null;
  /** The writes that `putWrites` stored. If there are none, those inside the checkpoint. */
  pendingWrites: PendingWrite[];
}

/** Options of `list()`. */
export interface ThreadListOptions {
  /** Lists only the checkpoints that were put before this one. An unknown id lists none. */
  before?: string | null;
  /** The maximum number of results. Default: all. */
  limit?: number;
  /** Lists only the checkpoints whose metadata has these top-level keys with equal values. */
  filter?: Record<string, unknown>;
  /** Default: all namespaces of the thread. */
  namespace?: Namespace | null;
}

/** Options of `prune()`. */
export interface ThreadPruneOptions {
  /**
   * Which older checkpoints stay. Default: `"ancestors"`.
   *
   * - `"ancestors"`: all ancestors of the kept checkpoints. A thread without branches then keeps all of its checkpoints.
   * - `"dependencies"`: the ancestors that the kept checkpoints cannot be read without.
   */
  protect?: "ancestors" | "dependencies";
  /** If true, removes nothing and returns how many checkpoints would be removed. Default: false. */
  dryRun?: boolean;
  /** Stops the prune between two transactions. The promise then rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Called after each transaction with the number of checkpoints that were removed so far. */
  onProgress?: (removed: number) => void;
}

export interface CheckpointerOptions extends StoreOptions {
  /**
   * If true, the parent of a checkpoint must be the latest checkpoint of its namespace. If two processes continue the
   * same thread at the same time, one of them rejects with `CONFLICT`. Default: false.
   */
  expectedParent?: boolean;
}

/** Statistics of the threads. */
export interface CheckpointerStats extends Omit<StoreStats, "lineages" | "largest"> {
  /** How many namespaces the threads have. */
  namespaces: number;
  /** The namespaces that use the most storage, the largest first. */
  largest: Array<{ threadId: string; namespace: Namespace } & Omit<LineageStats, "lineage">>;
}

/** A page of threads. */
export interface GraphThreadsPage {
  threads: Array<{
    threadId: string;
    /** The id of the latest checkpoint of the graph itself. */
    checkpointId: string;
    /**
     * How far the thread is, as its latest checkpoint tells it: `"waiting"` if a task asks a question without an answer,
     * `"failed"` if a task has failed, `"unfinished"` if nodes are left to run, and otherwise `"finished"`.
     */
    status: RunStatus;
    /** The nodes that run next. */
    next: string[];
    /** Who holds the thread's lease. Null: nobody, or the lease has expired. */
    lease: LeaseHolder | null;
  }>;
  /** Pass this cursor to the next call of `threads`. Null means that this was the last page. */
  cursor: string | null;
}

/**
 * Stores the checkpoints of threads, so that a crash loses nothing.
 *
 * - Checkpoints are appended. A stored checkpoint never changes.
 * - A resolved `put` is durable. Reads return fresh objects.
 * - Deleting, copying and pruning work without a graph.
 *
 * All methods give the error codes `CLOSED`, `BUSY`, `FULL`, `UNAVAILABLE` and `CORRUPT` where they apply.
 *
 * @example
 * ```ts
 * const checkpointer = new Checkpointer<{ topic: string }>("threads.db");
 * const checkpointId = await checkpointer.put({ threadId: "thread-1", state: { topic: "rust" } });
 * ```
 */
export declare class Checkpointer<S> implements AsyncDisposable {
  /**
   * @param target a file path, `"sqlite:<path>"`, a `file:` URL, `"jsonl:<folder>"`, `"memory:"`, or a store from `openStore`.
   * @param options `expectedParent`, and the options of `openStore` unless the target is an open store.
   * @throws TypeError or RangeError for a wrong target or option.
   */
  constructor(target: string | URL | Store, options?: CheckpointerOptions);

  /**
   * Appends a checkpoint and returns its id. Without a `checkpointId`, the checkpoint gets a random one. If the id was
   * put before, `get` returns the checkpoint that was put last; `list` lists both.
   * @throws TypeError for wrong fields. ForkpointError `INVALID_ARGUMENT` if a value cannot be stored. `CONFLICT` with
   *   `expectedParent` if the parent is not the latest checkpoint, and with `lease` if the lease was lost. In each case
   *   nothing was stored.
   *
   * @example const checkpointId = await checkpointer.put({ threadId: "thread-1", state: { topic: "rust" } });
   */
  put(checkpoint: NewThreadCheckpoint<S>, options?: { expectedParent?: boolean; lease?: Lease }): Promise<string>;

  /**
   * Returns a checkpoint, or null if there is none. Without a `checkpointId`, it is the one that was put last. Without a
   * `namespace`, it may be in any namespace of the thread; `[]` is the graph itself.
   *
   * @example const topic = (await checkpointer.get("thread-1"))?.state.topic;
   */
  get(threadId: string, checkpointId?: string | null, namespace?: Namespace): Promise<ThreadCheckpoint<S> | null>;

  /**
   * Lists the checkpoints of a thread without their states, in the order in which they were put.
   *
   * @example const updates = await checkpointer.list("thread-1", { filter: { source: "update" } });
   */
  list(threadId: string, options?: ThreadListOptions): Promise<CheckpointMetadata[]>;

  /**
   * Returns a checkpoint with its place, its parent's place and its pending writes, or null if there is none.
   *
   * @example const pending = (await checkpointer.getTuple({ threadId: "thread-1" }))?.pendingWrites;
   */
  getTuple(config: CheckpointConfig): Promise<CheckpointTuple<S> | null>;

  /**
   * Stores pending writes of a checkpoint, all or none. The checkpoint need not exist yet.
   * @throws ForkpointError `INVALID_ARGUMENT` without a `checkpointId`, or if a value cannot be stored.
   *
   * @example await checkpointer.putWrites(config, [{ node: "search", taskId: "t1", idx: 0, channel: "hits", payload: 3 }]);
   */
  putWrites(config: CheckpointConfig, writes: readonly PendingWrite[], options?: { lease?: Lease }): Promise<void>;

  /**
   * Returns the pending writes of a checkpoint. An unknown checkpoint has none.
   *
   * @example const writes = await checkpointer.getWrites({ threadId: "thread-1" });
   */
  getWrites(config: CheckpointConfig): Promise<PendingWrite[]>;

  /**
   * Returns the latest checkpoint of a namespace and its ancestors, newest first, at most `limit` (default: all). Without
   * a namespace, it begins with the latest checkpoint of the thread.
   *
   * @example const [latest, before] = await checkpointer.stateHistory("thread-1", [], 2);
   */
  stateHistory(threadId: string, namespace?: Namespace, limit?: number): Promise<Array<ThreadCheckpoint<S>>>;

  /**
   * Returns the ids of all threads that have checkpoints. The thread that began first comes first.
   *
   * @example const threadIds = await checkpointer.listThreads();
   */
  listThreads(): Promise<string[]>;

  /**
   * Returns the threads with their status. The thread that began last comes first. A page contains at most `limit` threads
   * (default: 100). Pass the cursor of the previous page as `cursor`. The latest checkpoint of each thread is read.
   *
   * @example const { threads, cursor } = await checkpointer.threads({ limit: 20 });
   */
  threads(options?: { limit?: number; cursor?: string | null | undefined }): Promise<GraphThreadsPage>;

  /**
   * Takes the lease of a run, so that no other process works on it. It is renewed until it is
   * released, or this object is closed. The lease of a process that has ended on this machine is taken at once.
   * @throws TypeError or RangeError for a wrong run or option. ForkpointError `CONFLICT` if somebody else holds the lease:
   *   `error.lease` says who, and until when.
   * @example await using lease = await checkpointer.lease({ space: "tinyagents", run: "thread-1" });
   */
  lease(run: RunRef, options?: LeaseOptions): Promise<Lease>;

  /**
   * Returns the same store for the holder of a lease: each of its writes is refused with `CONFLICT`, and stores nothing,
   * if the lease was lost.
   * @throws TypeError if the lease is of another store.
   * @example const mine = checkpointer.withLease(lease);
   */
  withLease(lease: Lease): Checkpointer<S>;

  /**
   * Removes a thread with all of its namespaces and writes, in one transaction. An unknown thread causes no error.
   *
   * @example await checkpointer.deleteThread("thread-1");
   */
  deleteThread(threadId: string): Promise<void>;

  /**
   * Removes the checkpoints with these ids from all namespaces of a thread, with their writes. Returns how many were
   * removed.
   *
   * @example const removed = await checkpointer.deleteCheckpoints("thread-1", ["checkpoint-1"]);
   */
  deleteCheckpoints(threadId: string, checkpointIds: readonly string[]): Promise<number>;

  /**
   * Removes the checkpoints of a run, with their writes. Returns how many were removed. Null removes none.
   *
   * @example const removed = await checkpointer.deleteByRun("thread-1", "run-2");
   */
  deleteByRun(threadId: string, runId: string | null): Promise<number>;

  /**
   * Copies a thread to a new thread, with its checkpoint ids, parents, order, namespaces and writes. An unknown source
   * copies nothing. If the copy fails, the part that was copied is removed.
   * @throws ForkpointError `CONFLICT` if the target has checkpoints.
   *
   * @example await checkpointer.copyThread("thread-1", "thread-1 before the experiment");
   */
  copyThread(sourceThreadId: string, targetThreadId: string): Promise<void>;

  /**
   * Keeps the last `keepLast` checkpoints of each namespace of a thread, and the older ones that `protect` names.
   * Returns how many were removed. 0 keeps one. The first checkpoint of an id stays as long as a later one of the same
   * id stays, because it has the writes.
   *
   * @example const removed = await checkpointer.prune("thread-1", 10, { protect: "dependencies" });
   */
  prune(threadId: string, keepLast: number, options?: ThreadPruneOptions): Promise<number>;

  /**
   * Returns how many checkpoints are stored and how much storage they use.
   *
   * @example const { checkpoints, storedBytes } = await checkpointer.stats();
   */
  stats(options?: StatsOptions): Promise<CheckpointerStats>;

  /**
   * Verifies the whole database and changes nothing. The same as `Store.check()`.
   *
   * @example const { ok, findings } = await checkpointer.check();
   */
  check(options?: CheckOptions): Promise<VerifyReport>;

  /**
   * Gives the space of removed data back to the file system. The same as `Store.vacuum()`.
   *
   * @example await checkpointer.vacuum();
   */
  vacuum(): Promise<void>;

  /**
   * Waits for earlier calls to end, then closes this object. An open store that was given to the constructor stays
   * open.
   *
   * @example await checkpointer.close();
   */
  close(): Promise<void>;

  /**
   * Calls `close()` at the end of an `await using` block.
   *
   * @example await using checkpointer = new Checkpointer("threads.db");
   */
  [Symbol.asyncDispose](): Promise<void>;
}
