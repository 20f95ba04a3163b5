/**
 * Durable checkpoints for AgentOS graphs: pass a {@link CheckpointStore} to `compile({ checkpointStore })`.
 *
 * The interfaces here are the documented contract of `@framers/agentos/orchestration/checkpoint`, declared structurally, so
 * that this package needs no AgentOS to be typed against, and the store is assignable to AgentOS' own interface.
 */

import type {
  CheckOptions,
  LineageStats,
  PruneOptions,
  RunPruneResult,
  StatsOptions,
  Store,
  StoreOptions,
  StoreStats,
  VerifyReport,
} from "./index.js";

/**
 * The effect of a node on the world. It decides whether a resume runs the node again or takes its recorded result. See {@link
 * resumePlan}.
 */
export type EffectClass = "pure" | "read" | "write" | "external" | "human";

/** Telemetry that a run has accumulated. */
export interface DiagnosticsView {
  /** Tokens consumed by all `gmi` nodes. */
  totalTokensUsed: number;
  /** From the start of the graph to its latest completed node, in ms. */
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

/** A snapshot of a run, taken before or after a node. Unknown fields are kept too. */
export interface Checkpoint {
  /** Unique in the store; assigned by the runtime. */
  id: string;
  /** The id of the compiled graph. AgentOS makes a new one (`graph-<name>-<ms>`) at every `compile()`. */
  graphId: string;
  /** The id of the run that saved the checkpoint. */
  runId: string;
  /** The id of the node before or after which the checkpoint was saved. */
  nodeId: string;
  /** Milliseconds since the Unix epoch; any finite number. */
  timestamp: number;
  /** The state's partitions; memory is read anew on resume. */
  state: StatePartitions;
  /** The state of the memory subsystem at that point. Kept as given. */
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
  /** The edges that were emitted and whose targets have not begun. */
  pendingEdges: string[];
}

/** The fields of a checkpoint in a listing. There are no others. */
export interface CheckpointMetadata {
  id: string;
  runId: string;
  graphId: string;
  nodeId: string;
  /** Milliseconds since the Unix epoch. */
  timestamp: number;
  /** The serialised size of `state` alone, in bytes. */
  stateSize: number;
  /** Whether the checkpoint has a `memorySnapshot` that is not `undefined`. */
  hasMemorySnapshot: boolean;
}

/** The documented store interface of AgentOS. */
export interface ICheckpointStore {
  /** Stores the checkpoint. One with the same id is replaced. */
  save(checkpoint: Checkpoint): Promise<void>;
  /** Returns the checkpoint with that id, or null. */
  get(checkpointId: string): Promise<Checkpoint | null>;
  /** Returns the newest checkpoint of the run, or of that node in the run. Null if there is none. */
  load(runId: string, nodeId?: string): Promise<Checkpoint | null>;
  /** Returns the newest checkpoint of the run, or null. */
  latest(runId: string): Promise<Checkpoint | null>;
  /** Returns the checkpoints of a graph, newest first. */
  list(graphId: string, options?: { limit?: number; runId?: string }): Promise<CheckpointMetadata[]>;
  /** Removes the checkpoint. An unknown id is no error. */
  delete(checkpointId: string): Promise<void>;
  /** Starts a new run from a checkpoint and returns the new run's id. */
  fork(checkpointId: string, patchState?: Partial<StatePartitions>): Promise<string>;
}

/** A run that the store knows. */
export interface RunInfo {
  runId: string;
  /** The graph id of the run's newest checkpoint. */
  graphId: string;
  /** How many checkpoints the run has. */
  checkpoints: number;
  /** The run's newest checkpoint. `get(latest.id)` returns the whole checkpoint. `graph.resume(runId)` goes on from it. */
  latest: CheckpointMetadata;
}

/** Statistics of the AgentOS checkpoints. */
export interface CheckpointStats extends Omit<StoreStats, "lineages" | "largest"> {
  /** How many runs have checkpoints. */
  runs: number;
  /** The runs that take most, the largest first. {@link StatsOptions.largest} says how many. */
  largest: Array<{ runId: string } & Omit<LineageStats, "lineage">>;
}

/** A page of runs. */
export interface RunsPage {
  /** The run that began last comes first. */
  runs: RunInfo[];
  /** Pass it to the next call of `runs`. Null: this was the last page. */
  cursor: string | null;
}

/** How a resume treats each node of a checkpoint. A node in none of the lists has not begun and must run. */
export interface ResumePlan {
  /** Completed nodes. Do not run them again: the state contains their effects. */
  completed: string[];
  /** Nodes that routing skipped. Do not run them. */
  skipped: string[];
  /** Nodes with a recorded `write`, `external` or `human` result. Use `nodeResults[id].output` instead of running them. */
  replay: string[];
  /** Nodes with a recorded `pure` or `read` result. Run them again. */
  reexecute: string[];
}

/**
 * An AgentOS checkpoint store that survives crashes.
 *
 * - `save` takes its snapshot before it returns its promise, and the promise resolves when the checkpoint is durable.
 * - Reads return a fresh object every time; a read sees every `save` that was called before it.
 * - Newest means the greatest timestamp, and among equal ones the last saved, across processes.
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
   * @param target a file path, `"sqlite:<path>"`, a `file:` URL, `"memory:"`, or a store from `openStore`.
   *   A file is opened in the background. If that fails, the first call rejects.
   * @param options as for `openStore`. An open store has its own: options are then refused.
   * @throws TypeError or RangeError for a wrong target or option.
   */
  constructor(target: string | URL | Store, options?: StoreOptions);

  /**
   * Stores the checkpoint. One with the same id is replaced.
   * @throws TypeError if a field is missing or has a wrong type. ForkpointError `INVALID_ARGUMENT` if a value in it cannot be
   *   stored; the message names its path. Nothing was written in either case.
   */
  save(checkpoint: Checkpoint): Promise<void>;

  /** Returns the checkpoint with that id, or null if there is none. */
  get(checkpointId: string): Promise<Checkpoint | null>;

  /** Returns the newest checkpoint of the run, or of that node in the run. Null if there is none. */
  load(runId: string, nodeId?: string): Promise<Checkpoint | null>;

  /** Returns the newest checkpoint of the run, or null if there is none. */
  latest(runId: string): Promise<Checkpoint | null>;

  /** Returns the checkpoints of a graph, newest first. `limit` 0: all of them, as by default. An unknown graph has none. */
  list(graphId: string, options?: { limit?: number; runId?: string }): Promise<CheckpointMetadata[]>;

  /** Removes the checkpoint. An unknown id is no error. */
  delete(checkpointId: string): Promise<void>;

  /**
   * Starts a new run from a checkpoint and returns the new run's id. The source stays as it is. For each partition in the patch: an
   * object is merged over the source's, one level deep; any other value replaces it.
   * @throws ForkpointError `NOT_FOUND` if there is no such checkpoint.
   */
  fork(checkpointId: string, patchState?: Partial<StatePartitions>): Promise<string>;

  /** Returns the checkpoints of a run, newest first, whatever their graph. `limit` 0: all of them, as by default. */
  listByRun(runId: string, options?: { limit?: number }): Promise<CheckpointMetadata[]>;

  /**
   * Returns the runs that the store knows. The run that began last comes first. Use it to find what to resume after a restart.
   *
   * Graph ids change at every `compile()`, so give `graphIdPrefix: "graph-<name>-"`: only runs that began in a graph whose id
   * begins so are listed. A page has `limit` runs (default: 100). `cursor` is the cursor of the page before.
   */
  runs(options?: { graphIdPrefix?: string; limit?: number; cursor?: string | null }): Promise<RunsPage>;

  /**
   * Removes checkpoints of AgentOS, in transactions of at most 500. Saves go on in between. Without options it applies the limits
   * that the store was opened with.
   * @throws TypeError or RangeError for a wrong option. ForkpointError `CLOSED` if the store is closed meanwhile.
   */
  prune(options?: PruneOptions<RunPruneResult>): Promise<RunPruneResult>;

  /** Returns what the checkpoints of AgentOS hold and take. */
  stats(options?: StatsOptions): Promise<CheckpointStats>;

  /** Verifies everything in the database, of all contracts, and changes nothing. The same as `Store.check()`. */
  check(options?: CheckOptions): Promise<VerifyReport>;

  /** Gives the space of removed checkpoints, of all contracts, back to the file system. Saves wait. The same as `Store.vacuum()`. */
  vacuum(): Promise<void>;

  /** Waits for the calls made before, then closes. May be called again. An open store given to the constructor stays open. */
  close(): Promise<void>;

  /** `close()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Sorts a checkpoint's nodes by what a resume does with them. Their effect classes decide that.
 * @throws ForkpointError `INVALID_ARGUMENT` for an unknown effect class. TypeError for a checkpoint without these fields.
 */
export function resumePlan(checkpoint: Pick<Checkpoint, "nodeResults" | "visitedNodes" | "skippedNodes">): ResumePlan;
