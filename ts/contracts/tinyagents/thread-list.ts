/** Lists threads with their status. */

import type { RunStatus } from "../../../index.js";
import type { GraphCheckpointer, StateSnapshot } from "../../../tinyagents-graph.js";
import type { GraphThreadsPage } from "../../../tinyagents.js";
import type { Engine } from "../../store/engine.js";
import { holdersOf } from "../../store/lease.js";
import { pageOptions, readRecord } from "../../store/options.js";
import { getSnapshot } from "./graph/inspection.js";
import { tinyagents } from "./wire.js";

/** Returns a page of threads. The thread that began last comes first. */
export async function listWithStatus<S>(
  { native }: Engine,
  checkpointer: GraphCheckpointer<S>,
  options: unknown,
): Promise<GraphThreadsPage> {
  const read = readRecord(options, "options", pageOptions);
  const limit = (read["limit"] as number | undefined) ?? 100;
  let before = read["cursor"] as number | undefined;
  const threads: Array<Omit<GraphThreadsPage["threads"][number], "lease">> = [];
  const pageWith = async (cursor: string | null) => {
    const leases = await holdersOf(
      native,
      tinyagents.name,
      threads.map(({ threadId }) => threadId),
    );
    return { threads: threads.map((thread, at) => ({ ...thread, lease: leases[at]! })), cursor };
  };
  for (;;) {
    const page = await tinyagents.call(native, "namespaces", { before, limit: limit + 1 });
    for (const { cursor, threadId, namespace } of page) {
      if (threads.length === limit) return pageWith(String(before));
      before = Number(cursor);
      const snapshot = namespace === "" ? await getSnapshot(checkpointer, { threadId, namespace: [] }) : null;
      // The thread may have been removed since it was listed.
      if (snapshot === null) continue;
      const { checkpointId } = snapshot.config;
      threads.push({ threadId, checkpointId, status: statusOf(snapshot), next: snapshot.next });
    }
    if (page.length <= limit) return pageWith(null);
  }
}

function statusOf<S>({ tasks, next }: StateSnapshot<S>): RunStatus {
  if (tasks.some(({ status }) => status === "interrupted")) return "waiting";
  if (tasks.some(({ status }) => status === "failed")) return "failed";
  return next.length > 0 ? "unfinished" : "finished";
}
