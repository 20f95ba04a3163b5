/** Lists threads with their status. */

import type { Engine } from "../../store/engine.js";
import { readRecord } from "../../store/options.js";
import type { ProgramVersion } from "../../store/compare-programs.js";
import { stopsOf } from "../../store/ended-runs.js";
import type { RunStop } from "../../store/results.js";
import type { Newest } from "../../store/newest.js";
import { versionsOf } from "../../store/stored-programs.js";
import { PAGE, pageOf, pageOptions } from "../../store/page.js";
import { getSnapshot, type StateSnapshot } from "./graph/inspection.js";
import { tinyagents } from "./wire.js";
import type { RunStatus } from "../shared/recover-options.js";
import type { LeaseHolder } from "../../bridge/forkpoint-error.js";
import type { GraphCheckpointer } from "./graph/recorder.js";

/** A page of threads. */
export interface GraphThreadsPage {
  threads: Array<{
    threadId: string;
    /** The id of the latest checkpoint of the graph itself. */
    checkpointId: string;
    /**
     * The status of the thread, read from its latest checkpoint: `"waiting"` if a task asks a question without an
     * answer, `"failed"` if a task has failed, `"unfinished"` if nodes are left to run, and otherwise `"finished"`.
     * `"stopped"` if somebody has stopped the thread.
     */
    status: RunStatus;
    /** Who has stopped the thread, when, and why. Null if the status is not `"stopped"`. */
    stopped: RunStop | null;
    /** The nodes that run next. */
    next: string[];
    /** The version of the graph that stored the latest checkpoint. Null: unknown. */
    version: ProgramVersion | null;
    /** The holder of the thread's lease. Null: there is no lease, or it has expired. */
    lease: LeaseHolder | null;
  }>;
  /** Pass this cursor to the next call of `threads`. Null means that this was the last page. */
  cursor: string | null;
}

/** The number of threads that are read together. A remote store answers them in one round trip. */
const AT_ONCE = 32;

export async function listWithStatus<S>(
  { native }: Engine,
  checkpointer: GraphCheckpointer<S>,
  options: unknown,
): Promise<GraphThreadsPage> {
  const range = readRecord(options, "options", pageOptions);
  const { page, cursor } = await pageOf(native, range, {
    space: tinyagents.name,
    fetch: (before, limit) => tinyagents.call(native, "namespaces", { before, limit }),
    // The namespace of the graph itself.
    picks: ({ namespace }) => namespace === "",
    batch: (range.limit ?? PAGE) + 1,
    runOf: ({ threadId }) => threadId,
    show: ({ threadId }, lease) => ({ threadId, lease }),
  });
  const threads: GraphThreadsPage["threads"] = [];
  for (let from = 0; from < page.length; from += AT_ONCE) {
    const some = page.slice(from, from + AT_ONCE);
    const read = some.map(({ threadId }) => getSnapshot(checkpointer, { threadId, namespace: [] }));
    const snapshots = await Promise.all(read);
    const shapes = snapshots.map((snapshot) => snapshot?.metadata["shape"]);
    const versions = await versionsOf(
      native,
      tinyagents.name,
      shapes.map((shape) => (typeof shape === "string" ? shape : null)),
    );
    const newest = snapshots.map((snapshot, at): Newest | null => {
      if (snapshot === null) return null;
      const { checkpointId: newest } = snapshot.config;
      return { run: some[at]!.threadId, ns: "", newest, status: statusOf(snapshot) };
    });
    const stops = await stopsOf(native, tinyagents.name, newest);
    for (const [at, snapshot] of snapshots.entries()) {
      // The thread may have been removed after it was listed.
      if (snapshot === null) continue;
      const { threadId, lease } = some[at]!;
      const { config, next } = snapshot;
      const { checkpointId } = config;
      const stopped = stops[at]!;
      const status = stopped === null ? statusOf(snapshot) : "stopped";
      threads.push({ threadId, checkpointId, status, stopped, next, version: versions[at]!, lease });
    }
  }
  return { threads, cursor };
}

function statusOf<S>({ tasks, next }: StateSnapshot<S>): RunStatus {
  if (tasks.some(({ status }) => status === "interrupted")) return "waiting";
  if (tasks.some(({ status }) => status === "failed")) return "failed";
  return next.length > 0 ? "unfinished" : "finished";
}
