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
 * - One process at a time recovers a run, under a lease. A second process waits until the first ends or crashes.
 * - AgentOS stores nothing when a resumed run ends. `recover` saves a checkpoint with the final artifacts and the node
 *   id `__END__`, so that the next start does not repeat the run.
 * - A run whose recovery crashes the process is given up after `maxAttempts` crashes.
 *
 * A run must fit this version of the graph: its finished and its next nodes are unchanged. Otherwise the outcome is
 * `changed`, and `onChanged` decides. See docs/changes.md.
 *
 * A fork from the command line or the studio is reported and left alone until `runs` names it.
 *
 * Call `recover` before this process starts runs of the graph. Runs of other living processes of this machine are left
 * alone. If other machines work on runs of the graph, pass `idleMs`.
 *
 * A run belongs to the program that made it: see {@link CheckpointStoreOptions.program}. Other runs are reported and
 * left alone. Runs of graphs with another name (`graph-<name>-<ms>`) are ignored.
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
