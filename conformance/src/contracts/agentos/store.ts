/** What the suite uses of `ICheckpointStore`. */
export interface Store {
  save(checkpoint: Checkpoint): Promise<void>;
  get(checkpointId: string): Promise<Checkpoint | null>;
  load(runId: string, nodeId?: string): Promise<Checkpoint | null>;
  latest(runId: string): Promise<Checkpoint | null>;
  list(graphId: string, options?: { limit?: number; runId?: string }): Promise<CheckpointMetadata[]>;
  delete(checkpointId: string): Promise<void>;
  fork(checkpointId: string, patchState?: Record<string, any>): Promise<string>;
}

/** A snapshot of a run at a node's boundary. */
export interface Checkpoint {
  id: string;
  graphId: string;
  runId: string;
  nodeId: string;
  timestamp: number;
  state: { input: any; scratch: any; artifacts: any; diagnostics: any };
  memorySnapshot?: { reads: object[]; pendingWrites: object[] };
  nodeResults: Record<string, { effectClass: string; output: unknown; durationMs: number }>;
  visitedNodes: string[];
  skippedNodes?: string[];
  pendingEdges: string[];
}

/** What `list` returns of a checkpoint. */
export interface CheckpointMetadata {
  id: string;
  runId: string;
  graphId: string;
  nodeId: string;
  timestamp: number;
  stateSize: number;
  hasMemorySnapshot: boolean;
}
