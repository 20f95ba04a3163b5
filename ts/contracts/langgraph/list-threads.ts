/** Lists threads page by page, with their status. */

import { ForkpointError } from "../../bridge/errors.js";
import type { LeaseHolder } from "../../bridge/forkpoint-error.js";
import { flag, object, oneOf, readRecord } from "../../store/options.js";
import { decodeMark } from "../../store/mark.js";
import { pageOf, pageOptions } from "../../store/page.js";
import type { ProgramVersion } from "../../store/compare-programs.js";
import { storedStatuses } from "../../store/ended-runs.js";
import type { RunStop } from "../../store/results.js";
import { versionsOf } from "../../store/stored-programs.js";
import type { RunStatus } from "../shared/recover-options.js";
import { storedStatus } from "./status.js";
import { filterOf, matches, metadataOf } from "./list-checkpoints.js";
import { type SaverContext } from "./tuples.js";
import { type FoundThread, each, langgraph, openThread } from "./wire.js";

/** Options of `listThreads()`. */
export interface ListThreadsOptions {
  /** The maximum number of threads in the page, from 1 to 100,000. Default: 100. */
  limit?: number | undefined;
  /** The cursor of the previous page. Pass it with the same order and the same filter. */
  cursor?: string | null | undefined;
  /** `"desc"`: the last active thread comes first. `"asc"`: it comes last. Default: `"desc"`. */
  order?: "desc" | "asc" | undefined;
  /**
   * Lists only threads whose newest checkpoint has these metadata keys with equal values. Only literal top-level keys
   * are compared, as in `list`. The metadata of other threads is read and skipped.
   */
  filter?: Record<string, unknown> | null | undefined;
  /** Lists only threads with this status, or with one of several. Uses an index. */
  status?: RunStatus | RunStatus[] | undefined;
  /**
   * If true, reads the newest checkpoint of each listed thread to find the nodes that run next. If false, `next` is
   * null, and listing is several times faster. Default: true.
   */
  withNext?: boolean | undefined;
}

/** A page of threads. */
export interface ThreadsPage {
  /** The last active thread comes first, unless the option `order` is `"asc"`. */
  threads: Array<{
    threadId: string;
    /** The number of checkpoints of the graph itself, without its subgraphs. */
    checkpoints: number;
    /**
     * When this store received the newest checkpoint of the graph itself, in ms since the epoch. For a copied or
     * imported thread: the time of the copy or the import. Imported threads keep their order.
     */
    updatedAt: number;
    latest: { checkpointId: string; checkpointNs: string };
    /** See `status()`. */
    status: RunStatus;
    /** See `status()`. */
    stopped: RunStop | null;
    /** See `status()`. Null if the checkpoint cannot be read, or with `withNext: false`. */
    next: string[] | null;
    /**
     * The version of the program that saved the newest checkpoint. Null: unknown, for example because the program has
     * not called `recover`.
     */
    version: ProgramVersion | null;
    /** The holder of the thread's lease. Null: there is no lease, or it has expired. */
    lease: LeaseHolder | null;
  }>;
  /** Pass this cursor to the next call of `listThreads`. Null means that this was the last page. */
  cursor: string | null;
}

/** The number of threads that one query reads if a filter of the metadata selects among them. */
const BATCH = 100;

/** The number of threads whose status is read at the same time. */
const READS = 32;

export async function listThreads(context: SaverContext, options: unknown): Promise<ThreadsPage> {
  const {
    order = "desc",
    withNext = true,
    status,
    filter: given,
    ...range
  } = readRecord(options, "options", listOptions);
  const { native, serde } = context;
  const latestFirst = order === "desc";
  const filter = filterOf(given);
  const wanted = status === undefined || Array.isArray(status) ? status : [status];
  const statuses = wanted && storedStatuses(wanted);
  const picks = async ({ latest }: FoundThread) => matches(await metadataOf(serde, latest), filter);
  const { page, cursor } = await pageOf(native, range, {
    space: langgraph.name,
    fetch: (after, limit): Promise<FoundThread[]> =>
      langgraph.find(native, "threads", { statuses, latestFirst, after, limit }, each(openThread)),
    picks: filter.length > 0 ? picks : undefined,
    batch: BATCH,
    runOf: ({ latest }) => latest.threadId,
    newestOf: ({ latest, status }) => ({ newest: latest.id, status }),
    statuses: wanted,
    show: (thread, lease, stopped) => ({ thread, lease, stopped }),
  });
  const shapes = page.map(({ thread }) => decodeMark(thread.latest.mark).shape);
  const versions = await versionsOf(native, langgraph.name, shapes);
  const threads: ThreadsPage["threads"] = [];
  for (let from = 0; from < page.length; from += READS) {
    const some = page.slice(from, from + READS);
    const read = some.map(({ thread, lease, stopped }, at) =>
      entryOf(context, thread, { version: versions[from + at]!, lease, stopped }, withNext),
    );
    threads.push(...(await Promise.all(read)));
  }
  return { threads, cursor };
}

async function entryOf(
  context: SaverContext,
  { checkpoints, status, latest: { threadId, namespace, id, savedAt } }: FoundThread,
  { version, lease, stopped }: Pick<ThreadsPage["threads"][number], "version" | "lease" | "stopped">,
  withNext: boolean,
): Promise<ThreadsPage["threads"][number]> {
  return {
    threadId,
    checkpoints,
    updatedAt: savedAt,
    latest: { checkpointId: id, checkpointNs: namespace },
    status: stopped === null ? status : "stopped",
    stopped,
    next: withNext ? await nextOf(context, threadId) : null,
    version,
    lease,
  };
}

/** Returns the nodes that run next. Null if the checkpoint cannot be read. The other threads are still listed. */
async function nextOf(context: SaverContext, threadId: string): Promise<string[] | null> {
  try {
    return (await storedStatus(context, threadId))?.next ?? null;
  } catch (error) {
    if (error instanceof ForkpointError && error.code !== "CORRUPT") throw error;
    return null;
  }
}

const oneStatus = oneOf("waiting", "failed", "unfinished", "stopped", "finished", "unknown");

const statusesOption = (value: unknown, name: string): RunStatus | RunStatus[] =>
  Array.isArray(value) ? value.map((each) => oneStatus(each, name)) : oneStatus(value, name);

const listOptions = {
  ...pageOptions,
  order: oneOf("desc", "asc"),
  filter: (value: unknown, name: string) => (value === null ? null : object(value, name)),
  status: statusesOption,
  withNext: flag,
};
