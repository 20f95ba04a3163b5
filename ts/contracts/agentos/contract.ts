/** AgentOS' contract: its checkpoints, and its store interface. */

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
  /** The checkpoint's id, assigned by the runtime and unique in the store. */
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
  /** The emitted edges whose target nodes have not started. */
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
  /** The serialized size of `state` alone, in bytes. */
  stateSize: number;
  /** True if the checkpoint has a `memorySnapshot` that is not `undefined`. */
  hasMemorySnapshot: boolean;
}

/** The documented store interface of AgentOS. */
export interface ICheckpointStore {
  /** Stores the checkpoint. A stored checkpoint with the same id is replaced. */
  save(checkpoint: Checkpoint): Promise<void>;
  /**
   * Returns the checkpoint with that id, or null if there is none.
   * @example const checkpoint = await store.get("checkpoint-1");
   */
  get(checkpointId: string): Promise<Checkpoint | null>;
  /**
   * Returns the newest checkpoint of the run or, if `nodeId` is given, of this node in the run. Returns null if there
   * is none.
   * @example const checkpoint = await store.load("run-1", "summarize");
   */
  load(runId: string, nodeId?: string): Promise<Checkpoint | null>;
  /**
   * Returns the newest checkpoint of the run, or null if there is none.
   * @example const checkpoint = await store.latest("run-1");
   */
  latest(runId: string): Promise<Checkpoint | null>;
  /** Returns the checkpoints of a graph, newest first. */
  list(graphId: string, options?: { limit?: number; runId?: string }): Promise<CheckpointMetadata[]>;
  /**
   * Removes the checkpoint. An unknown id causes no error.
   * @example await store.delete("checkpoint-1");
   */
  delete(checkpointId: string): Promise<void>;
  /** Starts a new run from a checkpoint and returns the new run's id. */
  fork(checkpointId: string, patchState?: Partial<StatePartitions>): Promise<string>;
}
