/** `recover` for LangGraph. recover-threads.ts does the work, and is loaded with the first call. */

import type { RecoverReport } from "../shared/recover-options.js";
import type { ForkpointSaver } from "./forkpoint-saver.js";
import type { RecoverableThreads } from "./mark.js";
import type { LanggraphRecoverOptions, RecoverableAgent, RecoveredThread } from "./recover-threads.js";

const later = (): typeof import("./later.js") => require("./later.js");

/**
 * Resumes the threads of a graph or an agent that a crash interrupted. Call it when the program starts.
 *
 * - A thread belongs to the program that made it: see {@link SaverOptions.program}. Threads of other programs, and of an unknown
 *   program if this one has a name, are reported and left alone.
 * - A thread must fit this version of the graph: the nodes that have run and those that are next are as they were. Otherwise the
 *   thread is reported with the outcome `changed`, and `onChanged` decides what becomes of it. See docs/changes.md.
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
): Promise<RecoverReport<RecoveredThread>> {
  return later().recover(graph, saver, options);
}
