/** Graphs: nodes that run in supersteps, with a checkpoint at the boundaries. See {@link Graph}. */

import type {
  CheckpointConfig,
  CheckpointSource,
  CheckpointTuple,
  Namespace,
  NewThreadCheckpoint,
  PendingWrite,
  ThreadCheckpoint,
} from "./tinyagents.js";
import type { Lease } from "./index.js";

import type {
  Command,
  CommandFields,
  Goto,
  GraphInterrupt,
  MaybePromise,
  MemoryConsistency,
  MemoryHooks,
  NodeFunction,
  NodeOptions,
  SubgraphNode,
} from "./tinyagents-nodes.js";

export { DrainController, RunDrainedError } from "./agentium.js";

/**
 * When checkpoints are stored.
 *
 * - `"sync"`: before the next superstep begins.
 * - `"async"`: in order, while the next supersteps run. If a write fails, nothing more is stored, and the run rejects at
 *   its next boundary. The run waits for the last write before it returns.
 * - `"exit"`: when the run ends, in any way but a crash: only the last checkpoint, and what is known about its tasks.
 */
export type Durability = "sync" | "async" | "exit";

/** Where an edge leads: to nodes, or to what a function of the state chooses. */
export type EdgeTarget<S> = string | readonly string[] | ((state: S) => MaybePromise<Goto | null | undefined>);

/**
 * An edge. From {@link START} or a node, to nodes or {@link END}. From several nodes: a barrier. The target then runs
 * when all of them have run.
 */
export type Edge<S> = readonly [from: string | readonly string[], to: EdgeTarget<S>];

/** The methods of a checkpointer that a graph uses. It must keep all fields and values. */
export interface GraphCheckpointer<S> {
  /** `expectedParent: false`: the checkpoint begins a branch, so its parent is not the latest checkpoint. */
  put(checkpoint: NewThreadCheckpoint<S>, options?: { expectedParent?: boolean; lease?: Lease }): Promise<unknown>;
  get(threadId: string, checkpointId?: string | null, namespace?: Namespace): Promise<ThreadCheckpoint<S> | null>;
  getTuple(config: CheckpointConfig): Promise<CheckpointTuple<S> | null>;
  putWrites(config: CheckpointConfig, writes: readonly PendingWrite[], options?: { lease?: Lease }): Promise<void>;
}

export interface GraphConfig<S, U, I = S> {
  nodes: Record<string, NodeFunction<S, U> | NodeOptions<S, U> | SubgraphNode<S, U>>;
  /** Default: none. A node without edges leads to the end. */
  edges?: ReadonlyArray<Edge<S>>;
  /** The first node. The same as the edge `[START, entry]`. */
  entry?: string;
  /**
   * Returns the state after an update. The updates of a superstep are folded in the order in which its tasks were
   * activated, whichever ended first. The reducer may change the state that it is given.
   */
  reducer: (state: S, update: U) => S;
  /** Returns the state with which a run begins. `current` is the thread's state, or null. Default: the input itself. */
  input?: (current: S | null, input: I) => S;
  /** Without one, the graph stores nothing, and no node may ask a question. */
  checkpointer?: GraphCheckpointer<S>;
  /** Default: `"sync"`. */
  durability?: Durability;
  /**
   * Where checkpoints are stored. A question is always stored, unless the policy is `"none"`. Default: `"every_node"`.
   *
   * - `"every_node"`: before the first superstep, and after every node without a policy of its own.
   * - `"explicit"`: where a node's policy says so.
   * - `"none"`: nowhere. No node may ask a question.
   */
  checkpoint?: "every_node" | "explicit" | "none";
  /** The hooks of the memory, and the default of its consistency (`"live"`). */
  memory?: Partial<MemoryHooks> & { consistency?: MemoryConsistency };
  /** The maximum number of supersteps of one run. After that, the run rejects. Default: 1,000. */
  maxSupersteps?: number;
  /** Default: `"graph"`. */
  name?: string;
  /**
   * If true, a thread is run by one process at a time: a run takes the lease of its thread and namespace, and releases it
   * when it ends. A run on a thread that another process runs rejects with `CONFLICT`. Needs a `Checkpointer`; over
   * another store the constructor throws `UNSUPPORTED`. Default: false. See docs/leases.md.
   */
  lease?: boolean | { ttlMs?: number };
}

export interface GraphRunOptions {
  /** The thread. Needed if the graph has a checkpointer. */
  threadId?: string;
  /** The run's id. Its checkpoints carry it. Default: a generated id. */
  runId?: string;
  /** The namespace of the graph in the thread. Default: `[]`. */
  namespace?: Namespace;
  /** Continues from this checkpoint. Only if the input is a {@link Command} or null. Default: the latest. */
  checkpointId?: string | null;
  /** Default: that of the graph. */
  durability?: Durability;
  /** An abort of this signal ends the run at once. The run rejects with the signal's reason. */
  signal?: AbortSignal;
  /** When a drain is requested, the superstep is finished and stored, and the run rejects with `RunDrainedError`. */
  drain?: { readonly drained: boolean; waitForDrain(): Promise<void> };
}

/** The end of a run. */
export interface GraphResult<S> {
  /** `"interrupted"`: tasks wait for answers. Continue with `resume()`. */
  status: "done" | "interrupted";
  /** The final state, or the state of the interrupted superstep's beginning. */
  state: S;
  /** The questions without answers. */
  interrupts: GraphInterrupt[];
  /** The id of the checkpoint that was stored last, or from which the run continued. Null if there is none. */
  checkpointId: string | null;
  /** The number of supersteps of the thread. */
  step: number;
  threadId: string;
  runId: string;
  namespace: Namespace;
}

/** A task of a {@link StateSnapshot}. */
export interface TaskSnapshot {
  id: string;
  node: string;
  sendArg?: unknown;
  /** `"done"`: the result is recorded. `"failed"`: the task runs again on resume. */
  status: "pending" | "done" | "interrupted" | "failed";
  /** The recorded update. */
  result?: unknown;
  error?: { name: string; message: string };
  interrupts: GraphInterrupt[];
}

/** The state of a thread at a checkpoint. */
export interface StateSnapshot<S> {
  values: S;
  /** The nodes that run next: those without a recorded result, or all if all have one. */
  next: string[];
  config: CheckpointTuple<S>["config"];
  parentConfig: CheckpointTuple<S>["parentConfig"];
  /** `source`, `step`, `graph` and `createdAt`. */
  metadata: Record<string, unknown>;
  /** The time at which the graph stored the checkpoint, in ms since the epoch. Null if it was put by hand. */
  createdAt: number | null;
  /** The tasks of the next superstep. */
  tasks: TaskSnapshot[];
  /** The questions without answers. */
  interrupts: GraphInterrupt[];
}

export interface HistoryOptions {
  /** Only the ancestors of this checkpoint. An unknown id lists none. */
  before?: string;
  /** Default: all. */
  limit?: number;
  /** Only the checkpoints whose metadata has these top-level keys with equal values. */
  filter?: Record<string, unknown>;
  /** Default: `[]`. */
  namespace?: Namespace;
}

/** An event of a run. The events of subgraphs have their namespace. */
export type GraphEvent<S> = { runId: string; threadId: string; namespace: Namespace } & (
  | { type: "run.start"; kind: "invoke" | "resume" | "update" }
  | { type: "superstep.start"; step: number; tasks: Array<{ node: string; taskId: string }> }
  | {
      type: "task";
      node: string;
      taskId: string;
      status: "start" | "retry" | "done" | "interrupted" | "error";
      /** The task's update (`"done"`). */
      update?: unknown;
      /** The task's questions (`"interrupted"`). */
      interrupts?: GraphInterrupt[];
      /** The error that the node threw (`"retry"`, `"error"`). */
      error?: unknown;
      /** The attempt that failed, counted from 0 (`"retry"`). */
      attempt?: number;
      /** The wait before the next attempt, in ms (`"retry"`). */
      delayMs?: number;
    }
  /** A boundary was reached. */
  | { type: "state"; step: number; source: CheckpointSource; state: S; nextNodes: string[] }
  | { type: "checkpoint.saved"; checkpointId: string; step: number; source: CheckpointSource }
  | { type: "run.complete" | "run.interrupted"; result: GraphResult<S> }
  | { type: "run.error"; error: unknown }
);

/**
 * Runs nodes in supersteps over a state, and stores a checkpoint at the boundaries.
 *
 * A run that failed, was killed, drained or interrupted continues with `resume()`. A task whose result is recorded does
 * not run again, unless its `effectClass` is `"pure"` or `"read"`. If a node throws, the run rejects with the node's
 * error. The fields `node`, `taskId`, `threadId` and `runId` are added to the error, and its `cause` has them too if it
 * had none.
 *
 * Each method that runs or reads rejects with:
 *
 * - a TypeError for a wrong argument.
 * - `INVALID_ARGUMENT` if a method needs a checkpointer and there is none, for a node that does not exist, or after
 *   `maxSupersteps`.
 * - `NOT_FOUND` if there is no checkpoint to continue from.
 * - `CONFLICT` if the thread is already running in this process, or if the checkpoint names a node that the graph no
 *   longer has.
 * - `RunDrainedError` after a drain, and the signal's reason after an abort.
 * - the checkpointer's own error if it fails.
 *
 * @example
 * ```ts
 * const graph = new Graph<{ n: number }>({
 *   nodes: { add: ({ n }) => ({ n: n + 1 }) },
 *   edges: [[START, "add"], ["add", ({ n }) => (n < 3 ? "add" : END)]],
 *   reducer: (state, update) => ({ ...state, ...update }),
 *   checkpointer: new Checkpointer("threads.db"),
 * });
 * ```
 */
export declare class Graph<S, U = Partial<S>, I = S> {
  /** @throws TypeError or RangeError for a wrong definition. */
  constructor(config: GraphConfig<S, U, I>);
  readonly name: string;

  /**
   * Runs the graph from its start with an input. The thread may have been used before: then its pending tasks are
   * dropped. With a {@link Command} or null, continues the thread instead.
   * @example const { state } = await graph.invoke({ n: 0 }, { threadId: "thread-1" });
   */
  invoke(input: I | Command<U> | null, options?: GraphRunOptions): Promise<GraphResult<S>>;

  /**
   * Does the same as `invoke`, and returns an iterator over the events. The run does not wait for the reader of the
   * events. If the reader leaves the loop early, the run is aborted. The iterator throws the error that the run rejects
   * with.
   * @example for await (const event of graph.stream({ n: 0 }, { threadId: "thread-1" })) console.log(event.type);
   */
  stream(input: I | Command<U> | null, options?: GraphRunOptions): AsyncGenerator<GraphEvent<S>, GraphResult<S>, void>;

  /**
   * Continues a thread from its latest checkpoint. Answers go only to interrupted tasks. A task without an answer does
   * not run, and neither does what follows its superstep.
   * @example const { status } = await graph.resume("thread-1", { resume: "yes" });
   */
  resume(
    threadId: string,
    command?: Command<U> | CommandFields<U>,
    options?: Omit<GraphRunOptions, "threadId" | "checkpointId">,
  ): Promise<GraphResult<S>>;

  /**
   * Continues a thread from `"latest"` or from the checkpoint with this id. Tasks with a recorded result are skipped.
   * Questions of an older checkpoint may be answered again. Older checkpoints and their writes do not change: new
   * checkpoints are appended. A subgraph whose result is not recorded begins again.
   * @example const { state } = await graph.resumeFrom("thread-1", checkpointId, { resume: "no" });
   */
  resumeFrom(
    threadId: string,
    target: "latest" | (string & {}),
    command?: Command<U> | CommandFields<U>,
    options?: Omit<GraphRunOptions, "threadId" | "checkpointId">,
  ): Promise<GraphResult<S>>;

  /**
   * Returns the state of a thread, or null if there is none. Default: the latest checkpoint of the graph itself.
   * @example const next = (await graph.getState("thread-1"))?.next;
   */
  getState(threadId: string, checkpointId?: string | null, namespace?: Namespace): Promise<StateSnapshot<S> | null>;

  /**
   * Returns the states of the latest checkpoint and its ancestors, newest first.
   * @example const updates = await graph.getStateHistory("thread-1", { filter: { source: "update" } });
   */
  getStateHistory(threadId: string, options?: HistoryOptions): Promise<Array<StateSnapshot<S>>>;

  /**
   * Updates the state of a thread through the reducer, as a new checkpoint with the source `"update"`. No node runs.
   * Without `asNode`, the same tasks wait to run as before, with their results and questions. With `asNode`, the update
   * counts as a run of that node: a waiting task of the node is removed, and the node's successors join the others.
   * @returns where the new checkpoint is.
   * @throws ForkpointError `NOT_FOUND` if the thread has no checkpoint. `INVALID_ARGUMENT` for an unknown node.
   * @example const { checkpointId } = await graph.updateState("thread-1", { n: 7 }, "add");
   */
  updateState(threadId: string, update: U, asNode?: string | null): Promise<CheckpointTuple<S>["config"]>;

  /**
   * Does several updates, one after another. Returns where the last checkpoint is.
   * @throws ForkpointError `INVALID_ARGUMENT` if there are no updates.
   * @example const config = await graph.bulkUpdateState("thread-1", [{ update: { n: 1 } }, { update: { n: 2 }, asNode: "add" }]);
   */
  bulkUpdateState(
    threadId: string,
    updates: ReadonlyArray<{ update: U; asNode?: string | null }>,
  ): Promise<CheckpointTuple<S>["config"]>;

  /**
   * Copies a checkpoint with its recorded writes into another thread, as a checkpoint without a parent and with the
   * source `"fork"`. The source does not change. Without an id, copies the latest checkpoint, and the subgraphs that
   * have begun.
   * @throws ForkpointError `NOT_FOUND` if there is no such checkpoint.
   * @example const { checkpointId } = await graph.forkState("thread-1", null, "thread-2");
   */
  forkState(
    sourceThreadId: string,
    checkpointId: string | null | undefined,
    targetThreadId: string,
  ): Promise<CheckpointTuple<S>["config"]>;
}
