/** Recovery of AgentOS runs after a crash, a deploy or a human's answer. `agentos.d.ts` exports these types. */

import type { CheckpointStore, CheckpointStoreOptions, StatePartitions } from "./agentos.js";
import type { RecoverOptions, RecoverReport, UnrecoveredRun } from "./recovery.js";

/** What {@link recover} needs of a graph: every `compile()` of AgentOS returns such a graph. */
export interface RecoverableGraph {
  /** Continues a run from its newest checkpoint and returns the artifacts. */
  resume(runId: string): Promise<unknown>;
  /** Returns the compiled graph. */
  toIR(): {
    id: string;
    checkpointPolicy: string;
    nodes: Array<{
      id: string;
      type: string;
      effectClass: string;
      checkpoint: string;
      executorConfig?: unknown;
      metadata?: Record<string, unknown> | undefined;
    }>;
    edges: Array<{ id: string; source: string; target: string }>;
  };
}

/** A human node that waits for an answer. */
export interface WaitingNode {
  runId: string;
  /** The id of the checkpoint at which the run waits. */
  checkpointId: string;
  nodeId: string;
  /** The prompt of the human node. Undefined if the checkpoint has none. */
  prompt: string | undefined;
  /** The state at the checkpoint. */
  state: StatePartitions;
  /** The ids of the runs that were forked from this checkpoint. One of them may already have the answer. */
  forks: string[];
}

/** A run whose newest checkpoint says that nodes have failed. */
export interface FailedRun {
  runId: string;
  checkpointId: string;
  /** The ids of the nodes that failed. */
  nodes: string[];
  state: StatePartitions;
}

/** The options of {@link recover}. */
export interface AgentosRecoverOptions extends RecoverOptions<RecoveredRun> {
  /**
   * Returns the answer of a human node, which becomes the output of the node. AgentOS' own answers have the form
   * `{ approved: boolean }`. If the function returns undefined, or is missing, the run keeps waiting.
   *
   * The answer is stored as a checkpoint of the run before the run goes on. So it is used once, and is not asked for
   * again after a crash.
   */
  onWaiting?: (node: WaitingNode) => unknown;
  /**
   * Decides what becomes of a run with failed nodes. `"retry"` runs these nodes again, once. AgentOS itself never
   * repeats a failed `write` or `external` node, because the node may have had its effect. Default: `"leave"`.
   */
  onFailed?: (run: FailedRun) => "retry" | "leave" | undefined | Promise<"retry" | "leave" | undefined>;
  /**
   * The ids of the runs to recover. Default: all runs of the graph but forks that have only their first checkpoint. The
   * program that makes a fork resumes it, with `recover(graph, store, { runs: [forkId] })`.
   */
  runs?: readonly string[];
  /**
   * A run keeps waiting if runs were forked from the checkpoint at which it waits, because a fork may hold the answer.
   * If true, `onWaiting` is asked for such a run too. Default: false.
   */
  askForked?: boolean;
  /**
   * An answer `{ approved: false }` is refused if the graph has a `write` or `external` node behind the human node and
   * no router or guardrail between them, because that node would run in spite of the answer. If true, the answer is
   * passed on. Default: false.
   */
  passRejections?: boolean;
}

/** What became of a run that this process worked on. */
export type RunOutcome =
  | {
      /** The run was resumed to its end. */
      outcome: "finished";
      /** The id of the checkpoint that stores the end of the run. */
      checkpointId: string;
      /** What `graph.resume` returned. */
      output: unknown;
    }
  | {
      /** Human nodes have no answer. */
      outcome: "waiting";
      checkpointId: string;
      nodes: string[];
      /** The ids of the runs that were forked from the checkpoint. */
      forks: string[];
    }
  | {
      /** Nodes have failed and were not retried, or failed again. */
      outcome: "failed";
      checkpointId: string;
      nodes: string[];
    };

/** What became of a run. */
export type RecoveredRun = { runId: string } & (RunOutcome | UnrecoveredRun);

/**
 * Resumes the crashed runs of a graph. Call it when the program starts.
 *
 * - A run that waits for a human is never resumed without an answer. See {@link AgentosRecoverOptions.onWaiting}.
 * - A run with failed nodes is left alone unless `onFailed` says otherwise.
 * - A run is recovered by one process at a time, which holds a lease of the run. A second process waits until the first
 *   has ended or has crashed.
 * - AgentOS stores nothing when a resumed run ends. `recover` saves a checkpoint with the final artifacts and the node id
 *   `__END__`. So the run is not repeated at the next start.
 * - A run whose recovery crashes the process is given up after `maxAttempts` crashes.
 *
 * A run that the command line or the studio forked is reported and left alone until it is named.
 *
 * Call `recover` before this process starts runs of the graph. Runs of other living processes of this machine are left alone. If other
 * machines work on runs of the graph, pass `idleMs`.
 *
 * A run belongs to the program that made it: see {@link CheckpointStoreOptions.program}. Other runs are reported and left alone. Runs of
 * graphs with another name (`graph-<name>-<ms>`) are not looked at.
 *
 * @throws ForkpointError `UNSUPPORTED` if the graph does not store its end: use `checkpointPolicy: "every_node"`.
 *   TypeError for a wrong argument. An error of a single run does not reject: it is in the report.
 * @example
 * ```ts
 * const { runs } = await recover(graph, store, { onWaiting: ({ runId }) => answers.get(runId) });
 * ```
 */
export function recover(
  graph: RecoverableGraph,
  store: CheckpointStore,
  options?: AgentosRecoverOptions,
): Promise<RecoverReport<RecoveredRun>>;
