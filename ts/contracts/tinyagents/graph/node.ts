/** The nodes of graphs: their functions, return values and policies. */

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
  /** The value passed to `context.interrupt`. */
  value?: unknown;
}

/** The second argument of a node. */
export interface NodeContext {
  node: string;
  /** The id of the task. It is the same on every attempt, even after a crash. */
  taskId: string;
  /** The argument of the {@link Send} that activated the task. */
  sendArg: any;
  /** The answer to the task's last question. Undefined if there is none. */
  resume: any;
  /**
   * Asks a question. Without an answer, throws an error that ends the task, and the run is interrupted when the other
   * tasks of the superstep have ended. After an answer, the node runs again from its beginning, and this call returns
   * the answer. A node may ask several questions, always in the same order.
   */
  interrupt<T = any>(value?: unknown): T;
  /** Aborts when the run is aborted, when another task has failed, or when the node's time limit is reached. */
  signal: AbortSignal;
  threadId: string;
  runId: string;
  namespace: Namespace;
  /** The number of this attempt. 0 for the first attempt. */
  attempt: number;
  /** The number of the superstep, which is the `step` of the checkpoint after it. */
  step: number;
  /**
   * Runs an effect once for each key of the thread, and stores its result before it resolves. A repeated node gets the
   * stored result. The nodes of subgraphs share the keys of their thread. If the graph stores nothing, the function
   * runs each time. If the node has `effectClass: "external"`, the effect has it too.
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
 * A node. It gets a copy of the state. It returns an update, a {@link Command}, or nothing. All tasks of a superstep
 * run concurrently on the same state.
 */
export type NodeFunction<S, U> = (state: S, context: NodeContext) => MaybePromise<U | Command<U> | void | null>;

/** The policies of all kinds of nodes. */
export interface NodePolicies {
  /**
   * The effect of the node on the outside world. It decides whether a resume repeats a finished task of an unfinished
   * superstep.
   *
   * - `"write"`, `"external"` and `"human"`: the result is recorded when the node ends. A resume uses it.
   * - `"pure"` and `"read"`: the result is not recorded. A resume runs the node again.
   * - None: the result is recorded if the superstep has other tasks or fails. A resume uses it.
   *
   * Results belong to a checkpoint. Nothing is recorded before the run's end with the durability `"exit"`, or if the
   * policies leave out the checkpoint before the node.
   */
  effectClass?: "pure" | "read" | "write" | "external" | "human";
  /** Where a checkpoint is stored. Default: `"after"` in a graph with `"every_node"`, `"none"` with `"explicit"`. */
  checkpoint?: "before" | "after" | "both" | "none";
  /** How many times a failed node is retried, after `backoffMs * 2^attempt` ms. Default of `backoffMs`: 1,000. */
  retry?: { maxRetries: number; backoffMs?: number };
  /** The time limit of an attempt, in ms. After it, the attempt fails with `UNAVAILABLE`. Default: no limit. */
  timeoutMs?: number;
  /** The part of the memory that is saved before and after the node. Default: that of the graph. */
  memory?: { consistency: MemoryConsistency };
}

export interface NodeOptions<S, U> extends NodePolicies {
  run: NodeFunction<S, U>;
}

/** The part of the memory in a checkpoint: nothing, the reads, or the reads and the pending writes. */
export type MemoryConsistency = "live" | "snapshot" | "journaled";

export interface MemorySnapshot {
  reads: unknown[];
  pendingWrites: unknown[];
}

/** The hooks of a memory. */
export interface MemoryHooks {
  /** Called at a boundary whose nodes are not `"live"`. Returns the current content of the memory. */
  capture(): MaybePromise<MemorySnapshot>;
  /** Called when a run continues from a checkpoint with a snapshot, before its first superstep. */
  restore(snapshot: MemorySnapshot): MaybePromise<void>;
}

/** Connects a subgraph with its graph. */
export interface SubgraphHooks<S, U> extends NodePolicies {
  /** Returns the subgraph's input. Default: the state. */
  input?(state: S, context: NodeContext): unknown;
  /** Returns the update. Default: the final state of the subgraph. */
  output?(result: any, state: S): MaybePromise<U | Command<U> | void | null>;
}

/** The node of a subgraph, for any class of graph. */
export interface Subgraph extends SubgraphHooks<any, any> {
  subgraph: object;
}
