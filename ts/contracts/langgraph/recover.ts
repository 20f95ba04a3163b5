/** `recover` for LangGraph. recover-threads.ts does the work, and is loaded with the first call. */

import type { RecoverReport } from "../shared/recover-options.js";
import type { ForkpointSaver } from "./forkpoint-saver.js";
import type { RecoverableThreads } from "./mark.js";
import type { LanggraphRecoverOptions, RecoverableAgent, RecoveredThread } from "./recover-threads.js";

const later = (): typeof import("./later.js") => require("./later.js");

/**
 * Resumes the threads of a graph or an agent that a crash interrupted. Call it when the program starts.
 *
 * - A thread belongs to the program that made it: see {@link SaverOptions.program}. Threads of other programs are
 *   reported and left alone. So are threads of an unknown program if this program has a name.
 * - A thread must fit this version of the graph: its finished and its next nodes are unchanged. Otherwise the outcome
 *   is `changed`, and `onChanged` decides. See docs/changes.md.
 * - A branch from the command line or the studio is left alone until `threads` names it or the program continues it.
 * - A thread that waits for a human, after `interrupt()` or at a breakpoint, is never resumed without an answer. If the
 *   graph has `interruptAfter`, every unfinished thread counts as waiting, because it may be at a breakpoint.
 * - A failed thread is left alone unless `onFailed` says otherwise.
 * - One process at a time recovers a thread, under a lease. A second process waits until the first ends or crashes.
 *
 * Call `recover` before this process runs threads. Threads of other living processes of this machine are left alone. If
 * threads run on other machines, create the saver with `{ lease: true }`, or pass `idleMs`.
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
): Promise<RecoverReport<RecoveredThread>> {
  return later().recover(graph, saver, options);
}
