/** `recover` for AgentOS. recover-graph.ts does the work, and is loaded with the first call. */

import type { RecoverReport } from "../shared/recover-options.js";
import type { CheckpointStore } from "./checkpoint-store.js";
import type { RecoverableGraph } from "./graph.js";
import type { AgentosRecoverOptions, RecoveredRun } from "./recover-graph.js";

const later = (): typeof import("./later.js") => require("./later.js");

/**
 * Resumes the crashed runs of a graph. Call it when the program starts.
 *
 * - A run that waits for a human is never resumed without an answer. See {@link AgentosRecoverOptions.onWaiting}.
 * - A run with failed nodes is left alone unless `onFailed` says otherwise.
 * - A run is recovered by one process at a time, which holds a lease of the run. A second process waits until the first
 *   has ended or has crashed.
 * - AgentOS stores nothing when a resumed run ends. `recover` saves a checkpoint with the final artifacts and the node id
 *   `__END__`. The run is not repeated at the next start.
 * - A run whose recovery crashes the process is given up after `maxAttempts` crashes.
 *
 * A run must fit this version of the graph: the nodes that have run and those that are next are as they were. Otherwise the run is
 * reported with the outcome `changed`, and `onChanged` decides what becomes of it. See docs/changes.md.
 *
 * A run that the command line or the studio forked is reported and left alone until it is named.
 *
 * Call `recover` before this process starts runs of the graph. Runs of other living processes of this machine are left alone. If other
 * machines work on runs of the graph, pass `idleMs`.
 *
 * A run belongs to the program that made it: see {@link CheckpointStoreOptions.program}. Other runs are reported and left alone. Runs of
 * graphs with another name (`graph-<name>-<ms>`) are ignored.
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
): Promise<RecoverReport<RecoveredRun>> {
  return later().recover(graph, store, options);
}
