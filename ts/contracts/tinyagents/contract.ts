/** TinyAgents' contract: threads, checkpoints and pending writes. */

/** The place of a graph in a thread. `[]` is the graph itself. A subgraph has its own namespace. */
export type Namespace = string[];

/** What made a checkpoint. */
export type CheckpointSource = "input" | "loop" | "update" | "fork";

/** Addresses a checkpoint. */
export interface CheckpointConfig {
  threadId: string;
  /** Default: the last checkpoint put. */
  checkpointId?: string | null;
  /** Default: any namespace of the thread. For `putWrites`: `[]`, the graph itself. */
  namespace?: Namespace;
}

/** The slot of the answer to an interrupt. */
export const RESUME = -1 as const;
/** The slot of a task's error. */
export const ERROR = -2 as const;
/** The slot of a task's interrupt. */
export const INTERRUPT = -3 as const;

/** A task's write before the end of its superstep. */
export interface PendingWrite {
  node: string;
  taskId: string;
  /**
   * The slot of the write in its task. A slot of 0 or more keeps its first write. A negative slot keeps its last write:
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
  /** The completed tasks. */
  completedTasks: string[];
  pendingWrites: PendingWrite[];
  interrupts: Interrupt[];
  pendingActivations: Array<{ node: string; sendArg?: unknown; taskId?: string }> | null;
  barrierArrivals: Array<{ node: string; arrived: string[] }>;
  /** Data for listings and filters, for example `source` and `step`. Keep it small. */
  metadata: Record<string, unknown>;
}

/** A checkpoint to put. All fields but the thread and the state have defaults. */
export type NewThreadCheckpoint<S> = Pick<ThreadCheckpoint<S>, "threadId" | "state"> &
  Partial<Omit<ThreadCheckpoint<S>, "threadId" | "state">> & {
    /**
     * True if reading the state needs the parent's state, for example because it contains only the changes. A prune or
     * a retention rule then removes the parent only together with this checkpoint. Default: false.
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
  /** When the store received the checkpoint, in ms since the epoch. */
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
