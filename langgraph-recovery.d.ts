/** Recovery of LangGraph threads after a crash, a deploy or a human's answer. `langgraph.d.ts` exports these types. */

import type { ForkpointSaver, SaverOptions, ThreadStatus } from "./langgraph.js";
import type { RecoverOptions, RecoverReport, UnrecoveredRun } from "./recovery.js";

/** What {@link recover} needs of a graph: `compile()` of a `StateGraph` and `entrypoint` return such graphs. */
export interface RecoverableThreads {
  invoke(input: any, config?: any): Promise<unknown>;
  /** The name that `compile({ name })` or `entrypoint({ name })` got. */
  name?: string | undefined;
  nodes: object;
  channels?: object | undefined;
  /** `recover` adds the identity of the graph, so that the graph's later runs are marked. */
  config?: { configurable?: Record<string, unknown> | undefined } | undefined;
  checkpointer?: unknown;
  interruptBefore?: readonly string[] | "*" | undefined;
  interruptAfter?: readonly string[] | "*" | undefined;
}

/** What {@link recover} needs of an agent: `createAgent` of LangChain returns such agents. */
export interface RecoverableAgent {
  invoke(input: any, config?: any): Promise<unknown>;
  graph: RecoverableThreads;
}

/** A thread that waits for a human. */
export interface WaitingThread {
  threadId: string;
  /** The id of the checkpoint at which the thread waits. */
  checkpointId: string;
  /** The nodes that run when the thread goes on. */
  next: string[];
  /** The questions of `interrupt()`. The list is empty at a breakpoint (`interruptBefore`, `interruptAfter`). */
  interrupts: ThreadStatus["interrupts"];
}

/** A thread in which a node threw an error. */
export interface FailedThread {
  threadId: string;
  checkpointId: string;
  /** The nodes that a retry runs. */
  next: string[];
}

/** The options of {@link recover}. */
export interface LanggraphRecoverOptions extends RecoverOptions<RecoveredThread> {
  /**
   * Returns the input with which a waiting thread goes on: `new Command({ resume: answer })`, or null to go on from a
   * breakpoint. If the function returns undefined, or is missing, the thread keeps waiting.
   *
   * If the thread asks the same question again, the answer was not accepted, and the thread keeps waiting.
   */
  onWaiting?: (thread: WaitingThread) => unknown;
  /** Decides what becomes of a failed thread. `"retry"` runs the failed nodes again, once. Default: `"leave"`. */
  onFailed?: (thread: FailedThread) => "retry" | "leave" | undefined | Promise<"retry" | "leave" | undefined>;
  /**
   * The ids of the threads to recover. Default: all threads of this program. A named thread is recovered also if a tool made it, or
   * if the store does not know its program.
   */
  threads?: readonly string[];
  /**
   * The config for `graph.invoke`. `thread_id` is filled in, and `durability` is `"sync"` unless given. Give
   * `interruptBefore` and `interruptAfter` here if the threads were run with them.
   */
  config?: {
    configurable?: Record<string, unknown>;
    interruptBefore?: readonly string[] | "*" | undefined;
    interruptAfter?: readonly string[] | "*" | undefined;
    [key: string]: unknown;
  };
}

/** What became of a thread that this process worked on. */
export type ThreadOutcome =
  | {
      /** The thread was resumed to its end. */
      outcome: "finished";
      /** What `graph.invoke` returned. */
      output: unknown;
    }
  | {
      /** The thread waits for a human. */
      outcome: "waiting";
      checkpointId: string;
      next: string[];
      interrupts: ThreadStatus["interrupts"];
    }
  | {
      /** A node threw an error and was not retried, or failed again. */
      outcome: "failed";
      checkpointId: string;
      next: string[];
    };

/** What became of a thread. */
export type RecoveredThread = { threadId: string } & (ThreadOutcome | UnrecoveredRun);

/**
 * Resumes the threads of a graph or an agent that a crash cut off. Call it when the program starts.
 *
 * - A thread belongs to the program that made it: see {@link SaverOptions.program}. Threads of other programs, and of an unknown
 *   program if this one has a name, are reported and left alone.
 * - A branch that the command line or the studio made is left alone until `threads` names it or the program continues it.
 * - A thread that waits for a human is never resumed without an answer: after `interrupt()`, and at a breakpoint. If the
 *   graph has `interruptAfter`, every thread that is not finished may be at a breakpoint and counts as waiting.
 * - A failed thread is left alone unless `onFailed` says otherwise.
 * - A thread is recovered by one process at a time, which holds a lease of the thread. A second process waits until the
 *   first has ended or has crashed.
 *
 * Call `recover` before this process runs threads. Threads of other living processes of this machine are left alone. If other
 * machines run threads, create the saver with `{ lease: true }`, or pass `idleMs`.
 *
 * @throws TypeError for a wrong argument. An error of a single thread does not reject: it is in the report.
 * @example
 * ```ts
 * const { runs } = await recover(graph, saver, { onWaiting: ({ threadId }) => answers.get(threadId) });
 * ```
 */
export function recover(
  graph: RecoverableThreads | RecoverableAgent,
  saver: ForkpointSaver,
  options?: LanggraphRecoverOptions,
): Promise<RecoverReport<RecoveredThread>>;
