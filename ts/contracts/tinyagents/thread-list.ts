/** Lists threads with their status. */

import type { Engine } from "../../store/engine.js";
import { readRecord } from "../../store/options.js";
import { holdersOf } from "../../store/lease.js";
import { PAGE, pageOptions } from "../../store/page.js";
import { getSnapshot, type StateSnapshot } from "./graph/inspection.js";
import { tinyagents } from "./wire.js";
import type { RunStatus } from "../shared/recovery.js";
import type { LeaseHolder } from "../../bridge/forkpoint-error.js";
import type { GraphCheckpointer } from "./graph/recorder.js";

/** A page of threads. */
export interface GraphThreadsPage {
  threads: Array<{
    threadId: string;
    /** The id of the latest checkpoint of the graph itself. */
    checkpointId: string;
    /**
     * How far the thread is, as its latest checkpoint tells it: `"waiting"` if a task asks a question without an answer,
     * `"failed"` if a task has failed, `"unfinished"` if nodes are left to run, and otherwise `"finished"`.
     */
    status: RunStatus;
    /** The nodes that run next. */
    next: string[];
    /** Who holds the thread's lease. Null: nobody, or the lease has expired. */
    lease: LeaseHolder | null;
  }>;
  /** Pass this cursor to the next call of `threads`. Null means that this was the last page. */
  cursor: string | null;
}

export async function listWithStatus<S>(
  { native }: Engine,
  checkpointer: GraphCheckpointer<S>,
  options: unknown,
): Promise<GraphThreadsPage> {
  const { limit = PAGE, cursor: after } = readRecord(options, "options", pageOptions);
  let before = after;
  const found: Array<Omit<GraphThreadsPage["threads"][number], "lease">> = [];
  const pageWith = async (cursor: string | null): Promise<GraphThreadsPage> => {
    const leases = await holdersOf(
      native,
      tinyagents.name,
      found.map(({ threadId }) => threadId),
    );
    return { threads: found.map((thread, at) => ({ ...thread, lease: leases[at]! })), cursor };
  };
  for (;;) {
    const batch = await tinyagents.call(native, "namespaces", { before, limit: limit + 1 });
    for (const { cursor, threadId, namespace } of batch) {
      if (found.length === limit) return pageWith(String(before));
      before = Number(cursor);
      const snapshot = namespace === "" ? await getSnapshot(checkpointer, { threadId, namespace: [] }) : null;
      // The thread may have been removed since it was listed.
      if (snapshot === null) continue;
      const { checkpointId } = snapshot.config;
      found.push({ threadId, checkpointId, status: statusOf(snapshot), next: snapshot.next });
    }
    if (batch.length <= limit) return pageWith(null);
  }
}

function statusOf<S>({ tasks, next }: StateSnapshot<S>): RunStatus {
  if (tasks.some(({ status }) => status === "interrupted")) return "waiting";
  if (tasks.some(({ status }) => status === "failed")) return "failed";
  return next.length > 0 ? "unfinished" : "finished";
}
