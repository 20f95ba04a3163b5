/** Imports the threads of other checkpointers: from the databases of SqliteSaver and PostgresSaver, or by methods. */

import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { ForkpointError, readingArgument, typeError } from "../../bridge/errors.js";
import { type OptionParser, pathOf, readRecord } from "../../store/options.js";
import { stepOptions } from "../../store/retention.js";
import { ids } from "../shared/recover-options.js";
import { checkpointerOf } from "./checkpointer.js";
import { SourceOutline } from "./outline.js";
import { PostgresSaver, openPostgresSaver } from "./postgres-saver.js";
import { SaverSource } from "./checkpointer-source.js";
import { splitsExactly } from "./serde.js";
import { type Source, type SourceThread, SqliteSaver } from "./import-source.js";
import { type Importing, type SkippedThread, ThreadImport, type Turn, type WholeThread } from "./thread-import.js";

/** The progress of an import. */
export interface ImportProgress {
  /** The number of threads that the store has completely, from this import or unchanged from an earlier one. */
  threads: number;
  /** The number of threads to import: all, or the existing threads of the option `threads`. */
  ofThreads: number;
  /** The number of checkpoints of these threads in the old database. */
  checkpoints: number;
  /** The number of writes of these threads in the old database, including the writes to checkpoints that have children. */
  writes: number;
  /** The number of threads that were left as they were. */
  skipped: number;
}

/** The result of an import. */
export interface ImportResult extends ImportProgress {
  /** The threads that were left as they were. The list ends after 10,000 threads; `skipped` counts all. */
  skippedThreads: SkippedThread[];
}

export interface ImportOptions {
  /** Imports only these threads, without those that do not exist. Default: all threads. */
  threads?: readonly string[];
  /**
   * What to do with a thread that has changed in both databases since its import, or that another process works on.
   * `"skip"` lists it in `skippedThreads` and leaves it. `"fail"` rejects with `CONFLICT` before anything is imported,
   * unless a program changes the thread during the import. Default: `"skip"`.
   */
  onConflict?: "skip" | "fail";
  /**
   * Stops the import between two threads. The promise then rejects with the signal's reason. Threads that were copied
   * completely stay.
   */
  signal?: AbortSignal;
  /** Called after each thread. If this function throws, the import stops with that error. */
  onProgress?: (progress: ImportProgress) => void;
}

/** The longest list of threads in a result. */
const LISTED = 10_000;

/** A larger thread is not kept in memory, but read again. */
const KEPT_BYTES = 16 << 20;

const conflicts: readonly unknown[] = ["skip", "fail"];

const importOptions: { [K in keyof Required<ImportOptions>]: OptionParser<unknown> } = {
  threads: ids,
  onConflict: (value, name) => {
    if (!conflicts.includes(value)) throw typeError(`${name} must be one of ${conflicts.join(", ")}`);
    return value;
  },
  ...stepOptions,
};

/** The saver that imports. */
export type Target = Pick<Importing, "context" | "leaseOf" | "prunes">;

export async function importFrom(
  target: Target,
  self: object,
  given: unknown,
  options: unknown,
): Promise<ImportResult> {
  const from = checkpointerOf(given, "the saver to import", self);
  const read = readRecord(options, "options", importOptions) as ImportOptions;
  const direct = await openDirectly(target.context.serde, given);
  const source = direct ?? new SaverSource(from, target.context, () => read.signal?.throwIfAborted());
  try {
    return await importThreads(target, source, read);
  } finally {
    if (direct instanceof PostgresSaver) await direct.close();
  }
}

export async function importSqliteSaver(target: Target, from: unknown, options: unknown): Promise<ImportResult> {
  const path = pathOf(from, "the database to import");
  const read = readRecord(options, "options", importOptions) as ImportOptions;
  return importThreads(target, new SqliteSaver(path, await splitsExactly(target.context.serde)), read);
}

export async function importPostgresSaver(target: Target, from: unknown, options: unknown): Promise<ImportResult> {
  const read = readRecord(options, "options", importOptions) as ImportOptions;
  const source = await openPostgresSaver(target.context.serde, from);
  try {
    return await importThreads(target, source, read);
  } finally {
    await source.close();
  }
}

/**
 * Opens the database of a SqliteSaver or a PostgresSaver. It is read as one snapshot, byte for byte. Returns undefined
 * for another saver, and if the two savers have different serializers.
 */
async function openDirectly(serde: SerializerProtocol, given: unknown): Promise<Source | undefined> {
  const { name, isSame, isDefault, pool, path } = readingArgument("the saver to import", () => {
    const { constructor, serde: theirs, pool, db } = given as Partial<Record<"serde" | "pool" | "db", any>>;
    const path: unknown = db?.memory === false ? db.name : undefined;
    const isDefault = theirs?.constructor?.name === "JsonPlusSerializer";
    return { name: constructor?.name as unknown, isSame: theirs === serde, isDefault, pool: pool as unknown, path };
  });
  if (!isSame && !(isDefault && (await splitsExactly(serde)))) return undefined;
  if (name === "PostgresSaver" && pool !== undefined) return openPostgresSaver(serde, given);
  if (name === "SqliteSaver" && typeof path === "string" && path !== "") {
    return new SqliteSaver(path, await splitsExactly(serde));
  }
  return undefined;
}

/**
 * Copies the threads of a source, reads everything back and compares it. Each checkpoint claims the writes that it was
 * made from, as in a `put` to this saver. An existing thread gets what it lacks.
 */
async function importThreads(
  target: Target,
  source: Source,
  { threads: wanted, onConflict = "skip", signal, onProgress }: ImportOptions,
): Promise<ImportResult> {
  const importing: Importing = { ...target, source, throwIfAborted: () => signal?.throwIfAborted() };
  importing.throwIfAborted();
  const threads = await source.threads(wanted);
  if (onConflict === "fail") await refuseConflicts(importing, threads);
  const done: ImportProgress = { threads: 0, ofThreads: threads.length, checkpoints: 0, writes: 0, skipped: 0 };
  const skippedThreads: SkippedThread[] = [];
  for await (const page of wholeThreads(source, threads)) {
    for (const [at, skipped] of (await importPage(importing, page)).entries()) {
      const { outline } = page[at]!;
      if (skipped === undefined) {
        done.threads += 1;
        done.checkpoints += outline.checkpoints;
        done.writes += outline.writes;
      } else {
        if (onConflict === "fail") throw new ForkpointError("CONFLICT", skipped.message);
        done.skipped += 1;
        if (skippedThreads.length < LISTED) skippedThreads.push(skipped);
      }
      importing.throwIfAborted();
      onProgress?.({ ...done });
    }
    importing.throwIfAborted();
  }
  return { ...done, skippedThreads };
}

async function refuseConflicts(importing: Importing, threads: string[]): Promise<void> {
  for await (const page of wholeThreads(importing.source, threads)) {
    importing.throwIfAborted();
    const skipped = await Promise.all(page.map((thread) => new ThreadImport(importing, thread).check()));
    const first = skipped.find((one) => one !== undefined);
    if (first !== undefined) throw new ForkpointError("CONFLICT", `${first.message}. Nothing was imported`);
  }
}

/** Imports the threads of a page at the same time, but stores them in their order. */
async function importPage(importing: Importing, page: WholeThread[]): Promise<Array<SkippedThread | undefined>> {
  let begin: Promise<unknown> = Promise.resolve();
  const runs = page.map((thread) => {
    const turn: Turn = { begin, end: () => {} };
    const ended = new Promise<void>((resolve) => (turn.end = resolve));
    begin = Promise.all([begin, ended]);
    return new ThreadImport(importing, thread).run(turn);
  });
  const ended = await Promise.allSettled(runs);
  return ended.map((run) => {
    if (run.status === "rejected") throw run.reason;
    return run.value;
  });
}

/** Yields the threads of the source, page by page. A thread of several pages comes with its last page. */
async function* wholeThreads(source: Source, threads: string[]): AsyncGenerator<WholeThread[]> {
  let open: (WholeThread & { bytes: number }) | undefined;
  for await (const page of source.pages(threads)) {
    const ended: WholeThread[] = [];
    for (const part of page) {
      open ??= { threadId: part.threadId, outline: new SourceOutline(), pages: [], bytes: 0 };
      open.outline.add(part);
      open.bytes += sizeOf(part);
      if (open.bytes > KEPT_BYTES) open.pages = undefined;
      open.pages?.push(part);
      if (!part.ended) continue;
      ended.push(open);
      open = undefined;
    }
    yield ended;
  }
}

function sizeOf({ checkpoints, orphans }: SourceThread): number {
  let size = 0;
  for (const { parts, writes } of checkpoints) {
    for (const { bytes } of parts) size += bytes.byteLength;
    for (const { part } of writes) size += part.bytes.byteLength;
  }
  for (const { writes } of orphans) for (const { part } of writes) size += part.bytes.byteLength;
  return size;
}
