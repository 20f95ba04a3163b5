/**
 * Durable checkpoints for AgentOS graphs: pass a {@link CheckpointStore} to `compile({ checkpointStore })`.
 *
 * The interfaces in this file are the documented contract of `@framers/agentos/orchestration/checkpoint`. They are
 * declared structurally. This package therefore compiles without AgentOS, and the store is assignable to AgentOS' own
 * interface.
 */

import type {
  CheckOptions,
  ErrorCode,
  Lease,
  LeaseHolder,
  LeaseOptions,
  LineageStats,
  PruneOptions,
  RunPruneResult,
  RunRef,
  RunStatus,
  StatsOptions,
  Store,
  StoreOptions,
  StoreStats,
  VerifyReport,
} from "./index.js";

export * from "./agentos-recovery.js";

/**
 * The effect of a node on the world. The effect class decides whether a resume runs the node again or uses the node's
 * recorded result. See {@link resumePlan}.
 */
export type EffectClass = "pure" | "read" | "write" | "external" | "human";

/** Telemetry that a run has accumulated. */
export interface DiagnosticsView {
  /** Tokens consumed by all `gmi` nodes. */
  totalTokensUsed: number;
  /** The time from the start of the graph to the end of its latest completed node, in ms. */
  totalDurationMs: number;
  nodeTimings: Record<string, { startMs: number; endMs: number; tokensUsed: number }>;
  discoveryResults: Record<string, { query: string; toolsFound: string[]; latencyMs: number }>;
  guardrailResults: Record<string, { guardrailId: string; passed: boolean; action: string; latencyMs: number }>;
  checkpointsSaved: number;
  memoryReads: number;
  memoryWrites: number;
}

/** The partitions of a graph's state that `fork` can patch. */
export interface StatePartitions {
  /** The user's input to the graph. */
  input: unknown;
  /** The data that nodes pass to each other. */
  scratch: unknown;
  /** The results of the graph. */
  artifacts: unknown;
  diagnostics: DiagnosticsView;
}

/** A snapshot of a run, taken before or after a node. Unknown fields are stored too. */
export interface Checkpoint {
  /** The checkpoint's id. The runtime assigns the id. The id is unique in the store. */
  id: string;
  /** The id of the compiled graph. AgentOS makes a new graph id (`graph-<name>-<ms>`) at every `compile()`. */
  graphId: string;
  /** The id of the run that saved the checkpoint. */
  runId: string;
  /** The id of the node before or after which the checkpoint was saved. */
  nodeId: string;
  /** Milliseconds since the Unix epoch; any finite number. */
  timestamp: number;
  /** The partitions of the state. On a resume, the memory is read again. */
  state: StatePartitions;
  /** The state of the memory subsystem when the checkpoint was saved. The store returns it unchanged. */
  memorySnapshot?: {
    reads: Array<{ traceId: string; content: string; strength: number }>;
    pendingWrites: Array<{ type: string; content: string; scope: string }>;
  };
  /** The results of all completed nodes, by node id. */
  nodeResults: Record<string, { effectClass: EffectClass; output: unknown; durationMs: number }>;
  /** Completed nodes, in order. */
  visitedNodes: string[];
  /** The nodes that routing skipped. */
  skippedNodes?: string[];
  /** The edges that were emitted but whose target nodes have not started. */
  pendingEdges: string[];
}

/** The fields of a checkpoint in a listing. A listing contains only these fields. */
export interface CheckpointMetadata {
  id: string;
  runId: string;
  graphId: string;
  nodeId: string;
  /** Milliseconds since the Unix epoch. */
  timestamp: number;
  /** The serialised size of `state` alone, in bytes. */
  stateSize: number;
  /** True if the checkpoint has a `memorySnapshot` that is not `undefined`. */
  hasMemorySnapshot: boolean;
}

/** The documented store interface of AgentOS. */
export interface ICheckpointStore {
  /** Stores the checkpoint. A stored checkpoint with the same id is replaced. */
  save(checkpoint: Checkpoint): Promise<void>;
  /** Returns the checkpoint with that id, or null. */
  get(checkpointId: string): Promise<Checkpoint | null>;
  /**
   * Returns the newest checkpoint of the run or, if `nodeId` is given, of this node in the run. Returns null if there
   * is none.
   */
  load(runId: string, nodeId?: string): Promise<Checkpoint | null>;
  /** Returns the newest checkpoint of the run, or null. */
  latest(runId: string): Promise<Checkpoint | null>;
  /** Returns the checkpoints of a graph, newest first. */
  list(graphId: string, options?: { limit?: number; runId?: string }): Promise<CheckpointMetadata[]>;
  /** Removes the checkpoint. An unknown id causes no error. */
  delete(checkpointId: string): Promise<void>;
  /** Starts a new run from a checkpoint and returns the new run's id. */
  fork(checkpointId: string, patchState?: Partial<StatePartitions>): Promise<string>;
}

/** A run that has checkpoints in the store. */
export interface RunInfo {
  runId: string;
  /** The graph id of the run's newest checkpoint. */
  graphId: string;
  /** How many checkpoints the run has. */
  checkpoints: number;
  /**
   * The run's newest checkpoint. `get(latest.id)` returns the whole checkpoint. `graph.resume(runId)` continues from
   * this checkpoint.
   */
  latest: CheckpointMetadata;
  /** How far the run is, as its newest checkpoint tells it. Checkpoints of older versions of Forkpoint tell nothing. */
  status: RunStatus;
  /** If the run is a fork: the id of the checkpoint that it was forked from. Null if it is none. */
  forkedFrom: string | null;
  /** Who holds the run's lease. Null: nobody, or the lease has expired. */
  lease: LeaseHolder | null;
}

/** Statistics of the AgentOS checkpoints. */
export interface CheckpointStats extends Omit<StoreStats, "lineages" | "largest"> {
  /** How many runs have checkpoints. */
  runs: number;
  /**
   * The runs that use the most storage, the largest first. {@link StatsOptions.largest} limits the number of runs in
   * the list.
   */
  largest: Array<{ runId: string } & Omit<LineageStats, "lineage">>;
}

/** A page of runs. */
export interface RunsPage {
  /** The run that began last comes first. */
  runs: RunInfo[];
  /** Pass this cursor to the next call of `runs`. Null means that this was the last page. */
  cursor: string | null;
}

/** How a resume treats each node of a checkpoint. A node that is in none of the lists has not started and must run. */
export interface ResumePlan {
  /** Completed nodes. Do not run them again: the state contains their effects. */
  completed: string[];
  /** Nodes that routing skipped. Do not run them. */
  skipped: string[];
  /**
   * Nodes with a recorded `write`, `external` or `human` result. Use `nodeResults[id].output` instead of running them.
   */
  replay: string[];
  /** Nodes with a recorded `pure` or `read` result. Run them again. */
  reexecute: string[];
}

/** The options of {@link CheckpointStore}. */
export interface CheckpointStoreOptions extends StoreOptions {
  /**
   * The name of the program that uses this store. It is stored with each checkpoint, and `recover` takes only runs with this
   * name. Give it if several programs share a database. Default: the name of the graph, see docs/agentos.md#several-programs.
   */
  program?: string;
}

/**
 * An AgentOS checkpoint store that survives crashes.
 *
 * - `save` takes its snapshot before it returns its promise, and the promise resolves when the checkpoint is durable.
 * - Every read returns a fresh object. A read sees every `save` that was called before the read.
 * - The newest checkpoint is the one with the greatest timestamp. Of checkpoints with the same timestamp, the one that
 *   was saved last is the newest, even if several processes save.
 * - Any call can reject with `BUSY`, `CLOSED`, `UNAVAILABLE` or `UNSUPPORTED`. A read can also reject with `CORRUPT`,
 *   and a save with `FULL`. {@link ErrorCode} explains the codes.
 * - A wrong argument rejects with a TypeError or a RangeError.
 *
 * @example
 * ```ts
 * import { CheckpointStore } from "forkpoint";
 *
 * const store = new CheckpointStore("agent.db");
 * const graph = builder.compile({ checkpointStore: store });
 * ```
 */
export class CheckpointStore implements ICheckpointStore, AsyncDisposable {
  /**
   * @param target a file path, `"sqlite:<path>"`, a `file:` URL, `"jsonl:<folder>"`, `"memory:"`, or a store from
   *   `openStore`. A file is opened in the background. If the file cannot be opened, the first call of a method rejects.
   * @param options `program`, and the options of `openStore`. If the target is an open store, only `program` is allowed, because
   *   an open store has its own options.
   * @throws TypeError or RangeError for a wrong target or option.
   */
  constructor(target: string | URL | Store, options?: CheckpointStoreOptions);

  /**
   * Stores the checkpoint. A stored checkpoint with the same id is replaced.
   * @throws TypeError if a field is missing or has a wrong type. ForkpointError `INVALID_ARGUMENT` if a value in the
   *   checkpoint cannot be stored (the message names the value's path), or if the checkpoint is larger than
   *   `maxPayloadBytes`. In all of these cases nothing was written.
   * @example await store.save(checkpoint); // when this resolves, the checkpoint is durable
   */
  save(checkpoint: Checkpoint): Promise<void>;

  /**
   * Returns the checkpoint with that id, or null if there is none.
   * @example const checkpoint = await store.get("checkpoint-1");
   */
  get(checkpointId: string): Promise<Checkpoint | null>;

  /**
   * Returns the newest checkpoint of the run or, if `nodeId` is given, of this node in the run. Returns null if there
   * is none.
   * @example const checkpoint = await store.load("run-1", "summarise");
   */
  load(runId: string, nodeId?: string): Promise<Checkpoint | null>;

  /**
   * Returns the newest checkpoint of the run, or null if there is none.
   * @example const checkpoint = await store.latest("run-1");
   */
  latest(runId: string): Promise<Checkpoint | null>;

  /**
   * Returns the checkpoints of a graph, newest first. If `limit` is 0 or missing, all checkpoints are returned. For an
   * unknown graph the list is empty.
   * @example const checkpoints = await store.list(graphId, { runId: "run-1", limit: 20 });
   */
  list(graphId: string, options?: { limit?: number; runId?: string }): Promise<CheckpointMetadata[]>;

  /**
   * Removes the checkpoint. An unknown id causes no error.
   * @example await store.delete("checkpoint-1");
   */
  delete(checkpointId: string): Promise<void>;

  /**
   * Removes all checkpoints of a run. An unknown run causes no error.
   * @example await store.clear("run-1");
   */
  clear(runId: string): Promise<void>;

  /**
   * Starts a new run from a checkpoint and returns the new run's id. The source run does not change. For each partition
   * in the patch, an object is merged over the source's partition, one level deep. A list or another special object
   * replaces `input`. A partition that is missing, undefined or null does not change.
   * @throws ForkpointError `NOT_FOUND` if there is no such checkpoint. `INVALID_ARGUMENT` if a value in the patch
   *   cannot be stored. TypeError if a partition in the patch is not an object, or if the patch has another key. In all of
   *   these cases nothing was written.
   * @example const runId = await store.fork("checkpoint-1", { scratch: { city: "Rome" } });
   */
  fork(checkpointId: string, patchState?: Partial<StatePartitions>): Promise<string>;

  /**
   * Returns the checkpoints of a run from all graphs, newest first. If `limit` is 0 or missing, all checkpoints are
   * returned.
   * @example const checkpoints = await store.listByRun("run-1", { limit: 20 });
   */
  listByRun(runId: string, options?: { limit?: number }): Promise<CheckpointMetadata[]>;

  /**
   * Returns the runs that have checkpoints in the store. The run that began last comes first. Use this method to find
   * the runs to resume after a restart.
   *
   * Graph ids change at every `compile()`. To find the runs of one graph, pass `graphIdPrefix: "graph-<name>-"`. Only
   * runs that began in a graph whose id starts with this prefix are then listed. A page contains at most `limit`
   * runs. Default: 100. At most 100,000. Pass the cursor of the previous page as `cursor`.
   * @example const { runs, cursor } = await store.runs({ graphIdPrefix: "graph-trip-", limit: 20 });
   */
  runs(options?: { graphIdPrefix?: string; limit?: number; cursor?: string | null | undefined }): Promise<RunsPage>;

  /**
   * Takes the lease of a run, so that no other process works on it. It is renewed until it is
   * released, or this object is closed. The lease of a process that has ended on this machine is taken at once.
   * @throws TypeError or RangeError for a wrong run or option. ForkpointError `CONFLICT` if somebody else holds the lease:
   *   `error.lease` says who, and until when.
   * @example await using lease = await store.lease({ space: "agentos", run: "run-1" });
   */
  lease(run: RunRef, options?: LeaseOptions): Promise<Lease>;

  /**
   * Returns the same store for the holder of a lease: each of its writes is refused with `CONFLICT`, and stores nothing,
   * if the lease was lost.
   * @throws TypeError if the lease is of another store.
   * @example const mine = store.withLease(lease);
   */
  withLease(lease: Lease): CheckpointStore;

  /**
   * Removes checkpoints of AgentOS, at most 500 in each transaction. Saves can run between the transactions. Without
   * options, `prune` applies the limits that the store was opened with.
   * @throws TypeError or RangeError for a wrong option. ForkpointError `CLOSED` if the store is closed before `prune`
   *   ends.
   * @example const { removed, runs } = await store.prune({ keepLastN: 10, dryRun: true });
   */
  prune(options?: PruneOptions<RunPruneResult>): Promise<RunPruneResult>;

  /**
   * Returns how many AgentOS checkpoints are stored and how much storage they use, in bytes.
   * @example const { runs, storedBytes, largest } = await store.stats({ largest: 5 });
   */
  stats(options?: StatsOptions): Promise<CheckpointStats>;

  /**
   * Verifies the whole database, including the data of other contracts, and changes nothing. The same as
   * `Store.check()`.
   * @example const { ok, findings } = await store.check({ signal: AbortSignal.timeout(60_000) });
   */
  check(options?: CheckOptions): Promise<VerifyReport>;

  /**
   * Gives the space of removed checkpoints of all contracts back to the file system. Saves wait until `vacuum` ends.
   * The same as `Store.vacuum()`.
   * @example await store.vacuum();
   */
  vacuum(): Promise<void>;

  /**
   * Waits for earlier calls to end, then closes this object. A second call is allowed. An open store that was given to
   * the constructor stays open.
   * @example await store.close();
   */
  close(): Promise<void>;

  /**
   * Calls `close()` at the end of an `await using` block.
   * @example await using store = new CheckpointStore("agent.db"); // closed at the end of the block
   */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Sorts a checkpoint's nodes by how a resume treats them. The effect class of a node decides how a resume treats it.
 * @throws ForkpointError `INVALID_ARGUMENT` for an unknown effect class. TypeError if the checkpoint lacks one of the
 *   fields that this function reads.
 * @example const { completed, skipped, replay, reexecute } = resumePlan(checkpoint);
 */
export function resumePlan(checkpoint: Pick<Checkpoint, "nodeResults" | "visitedNodes" | "skippedNodes">): ResumePlan;
