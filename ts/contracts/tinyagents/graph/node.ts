/** The nodes of graphs: their functions, what they may return, and their policies. */

import type { Namespace } from "../contract.js";
import type { MaybePromise } from "../../../bridge/maybe-promise.js";
import type { ContextOnce } from "../../shared/once.js";
import type { Command } from "../command.js";

/** The question of an interrupted task. */
export interface GraphInterrupt {
  node: string;
  taskId: string;
  /** The namespace of the graph that asked. A subgraph has its own namespace. */
  namespace: Namespace;
  /** What the node passed to `context.interrupt`. */
  value?: unknown;
}

/** The second argument of a node. */
export interface NodeContext {
  node: string;
  /** The same on every attempt, even after a crash. */
  taskId: string;
  /** The argument of the {@link Send} that activated the task. */
  sendArg: any;
  /** The answer to the task's last question. Undefined if there is none. */
  resume: any;
  /**
   * Asks a question. The first time, it throws an error that ends the task, and the run ends as interrupted when the
   * other tasks of the superstep have ended. After an answer, the node runs again from its beginning, and this function
   * returns the answer. A node may ask several questions, always in the same order.
   */
  interrupt<T = any>(value?: unknown): T;
  /** Aborts when the run is aborted, when another task has failed, or when the node's time limit is reached. */
  signal: AbortSignal;
  threadId: string;
  runId: string;
  namespace: Namespace;
  /** The number of this attempt. 0 for the first attempt. */
  attempt: number;
  /** The number of the superstep: the `step` of the checkpoint after it. */
  step: number;
  /**
   * Runs an effect once for each key of the thread, and stores its result before it resolves. A node that runs again gets
   * the stored result. The nodes of subgraphs share the keys of their thread. In a graph that stores nothing, the function
   * runs each time. If the node has `effectClass: "external"`, so has the effect.
   * @throws ForkpointError `UNSUPPORTED` if the graph's checkpointer is not a `Checkpointer` of this package.
   * @example
   * ```ts
   * const pay = async ({ order }: { order: number }, { once }: NodeContext) => ({
   *   receipt: await once(`charge order ${order}`, ({ idempotencyKey }) => charge(order, idempotencyKey)),
   * });
   * ```
   */
  once: ContextOnce;
}

/**
 * A node. It gets a copy of the state. It returns an update, a {@link Command}, or nothing. All tasks of a superstep run
 * at the same time on the same state.
 */
export type NodeFunction<S, U> = (state: S, context: NodeContext) => MaybePromise<U | Command<U> | void | null>;

/** What all kinds of nodes have in common. */
export interface NodePolicies {
  /**
   * The effect of the node on the outside world. It decides whether a resume runs a task again that has ended in an
   * unfinished superstep.
   *
   * - `"write"`, `"external"` and `"human"`: the result is recorded as soon as the node has ended. A resume uses it.
   * - `"pure"` and `"read"`: the result is not recorded. A resume runs the node again.
   * - None: the result is recorded if the superstep has other tasks or fails. A resume uses it.
   *
   * Results belong to a checkpoint, so nothing is recorded before the run's end with the durability `"exit"`, or if the
   * policies leave out the checkpoint before the node.
   */
  effectClass?: "pure" | "read" | "write" | "external" | "human";
  /** Where a checkpoint is stored. Default: `"after"` in a graph with `"every_node"`, `"none"` with `"explicit"`. */
  checkpoint?: "before" | "after" | "both" | "none";
  /** How often a failed node is retried. The wait is `backoffMs * 2^attempt` ms. Default of `backoffMs`: 1,000. */
  retry?: { maxRetries: number; backoffMs?: number };
  /** The longest time of one attempt, in ms. After that, the attempt fails with `UNAVAILABLE`. Default: no limit. */
  timeoutMs?: number;
  /** How much of the memory is saved before and after the node. Default: that of the graph. */
  memory?: { consistency: MemoryConsistency };
}

export interface NodeOptions<S, U> extends NodePolicies {
  run: NodeFunction<S, U>;
}

/** How much of the memory is saved with a checkpoint: nothing, the reads, or the reads and the pending writes. */
export type MemoryConsistency = "live" | "snapshot" | "journaled";

export interface MemorySnapshot {
  reads: unknown[];
  pendingWrites: unknown[];
}

/** The hooks of a memory. */
export interface MemoryHooks {
  /** Called at a boundary whose nodes are not `"live"`. Returns what the memory holds at the time of the call. */
  capture(): MaybePromise<MemorySnapshot>;
  /** Called when a run continues from a checkpoint with a snapshot, before its first superstep. */
  restore(snapshot: MemorySnapshot): MaybePromise<void>;
}

/** How a subgraph takes part in its graph. */
export interface SubgraphHooks<S, U> extends NodePolicies {
  /** Returns the subgraph's input. Default: the state. */
  input?(state: S, context: NodeContext): unknown;
  /** Returns the update. Default: the final state of the subgraph. */
  output?(result: any, state: S): MaybePromise<U | Command<U> | void | null>;
}

/** The node of a subgraph, whatever the class of its graph. */
export interface Subgraph extends SubgraphHooks<any, any> {
  subgraph: object;
}
