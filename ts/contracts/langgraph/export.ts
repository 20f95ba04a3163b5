/** Writes the threads of this store into another checkpointer of LangGraph. */

import { type OptionParser, readRecord } from "../../store/options.js";
import { stepOptions, throwIfStopped } from "../../store/retention.js";
import { ids } from "../shared/recover-options.js";
import { checkpointerOf } from "./checkpointer.js";
import { headers } from "./list-checkpoints.js";
import { sortKeyOf } from "./wire.js";
import { type Exporting, ThreadExport, type UnexportedThread } from "./thread-export.js";
import type { SaverContext } from "./tuples.js";

/** The progress of an export. */
export interface ExportProgress {
  /** The number of threads that the other saver has completely, from this export or an earlier one. */
  threads: number;
  /** The number of threads to export: all, or the existing threads of the option `threads`. */
  ofThreads: number;
  /** The number of checkpoints of these threads. */
  checkpoints: number;
  /** The number of writes of these threads, including the writes to checkpoints that have children. */
  writes: number;
  /** The number of threads that the other saver does not have completely. */
  skipped: number;
}

/** The result of an export. */
export interface ExportResult extends ExportProgress {
  /** The threads that the other saver does not have completely. The list ends after 10,000 threads; `skipped` counts all. */
  skippedThreads: UnexportedThread[];
}

export interface ExportOptions {
  /** Exports only these threads, without those that do not exist. Default: all threads. */
  threads?: readonly string[];
  /**
   * Stops the export. The promise then rejects with the signal's reason. What was written stays in the other saver, and the next
   * export continues from there.
   */
  signal?: AbortSignal;
  /** Called after each thread. If this function throws, the export stops with that error. */
  onProgress?: (progress: ExportProgress) => void;
}

/** The longest list of threads in a result. */
const LISTED = 10_000;

const exportOptions: { [K in keyof Required<ExportOptions>]: OptionParser<unknown> } = {
  threads: ids,
  ...stepOptions,
};

export async function exportTo(
  context: SaverContext,
  self: object,
  given: unknown,
  options: unknown,
  closing: () => boolean,
): Promise<ExportResult> {
  const to = checkpointerOf(given, "the saver to export to", self);
  const { threads: wanted, signal, onProgress } = readRecord(options, "options", exportOptions) as ExportOptions;
  const stop = () => throwIfStopped(signal, closing, "the export ended: export again to write the rest");
  const exporting: Exporting = { context, to, throwIfStopped: stop };
  stop();
  const threads = await threadsOf(exporting, wanted);
  const done: ExportProgress = { threads: 0, ofThreads: threads.length, checkpoints: 0, writes: 0, skipped: 0 };
  const skippedThreads: UnexportedThread[] = [];
  for (const threadId of threads) {
    const exported = await new ThreadExport(exporting, threadId).run();
    if ("why" in exported) {
      done.skipped += 1;
      if (skippedThreads.length < LISTED) skippedThreads.push(exported);
    } else {
      done.threads += 1;
      done.checkpoints += exported.checkpoints;
      done.writes += exported.writes;
    }
    onProgress?.({ ...done });
    stop();
  }
  return { ...done, skippedThreads };
}

/** Lists all threads, or those of `wanted` that have checkpoints. The thread with the newest checkpoint comes last. */
async function threadsOf({ context, throwIfStopped: stop }: Exporting, wanted?: readonly string[]): Promise<string[]> {
  const newestFirst = new Set<string>();
  if (wanted === undefined) {
    for await (const { threadId } of headers(context, undefined)) {
      stop();
      newestFirst.add(threadId);
    }
    return [...newestFirst].toReversed();
  }
  const found = [];
  for (const threadId of wanted) {
    stop();
    for await (const header of headers(context, threadId, 1)) found.push({ threadId, sortKey: sortKeyOf(header) });
  }
  return found.toSorted((a, b) => (a.sortKey < b.sortKey ? -1 : 1)).map(({ threadId }) => threadId);
}
