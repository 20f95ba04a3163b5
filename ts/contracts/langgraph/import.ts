/** Imports the databases of SqliteSaver and PostgresSaver. */

import { ForkpointError, quote } from "../../bridge/errors.js";
import { pathOf, readRecord } from "../../store/options.js";
import { stepOptions } from "../../store/retention.js";
import { type State, addSize, stateOf, verify } from "./comparison.js";
import { ThreadCopy } from "./copying.js";
import { splitsExactly } from "./serde.js";
import { openPostgresSaver } from "./postgres-saver.js";
import { type Source, SqliteSaver } from "./source.js";
import { headers } from "./list.js";
import { remove } from "./threads.js";
import type { SaverContext } from "./tuples.js";

/** The progress of an import. */
export interface ImportProgress {
  /** The number of threads that have been copied, read back and compared. */
  threads: number;
  /** The number of threads in the database from which the import copies. */
  ofThreads: number;
  /** The number of checkpoints that have been copied. */
  checkpoints: number;
  /** The number of writes that have been copied, including the writes to checkpoints that have children. */
  writes: number;
}

export interface ImportOptions {
  /**
   * Stops the import between two pages. The promise then rejects with the signal's reason. Threads that were copied
   * completely stay.
   */
  signal?: AbortSignal;
  /** Called after each page and each thread. If this function throws, the import stops with that error. */
  onProgress?: (progress: ImportProgress) => void;
}

const LOOK_UPS = 256;

export async function importSqliteSaver(
  context: SaverContext,
  from: unknown,
  options: unknown,
): Promise<ImportProgress> {
  const path = pathOf(from, "the database to import");
  const read = readRecord(options, "options", stepOptions) as ImportOptions;
  return importThreads(context, new SqliteSaver(path, await splitsExactly(context.serde)), read, "into another file");
}

export async function importPostgresSaver(
  context: SaverContext,
  from: unknown,
  options: unknown,
): Promise<ImportProgress> {
  const read = readRecord(options, "options", stepOptions) as ImportOptions;
  const source = await openPostgresSaver(context.serde, from);
  try {
    return await importThreads(context, source, read, "into another store");
  } finally {
    await source.close();
  }
}

/**
 * Copies all threads of a source, and reads everything back to compare it. Each checkpoint claims the writes that it was
 * made from, as it would in a `put` to this saver.
 *
 * Threads that the store has already are compared first. If such a thread has only what the source has, it is left
 * alone or, if something is missing, copied again. So an import that was killed is completed by the next one.
 */
async function importThreads(
  context: SaverContext,
  source: Source,
  { signal, onProgress }: ImportOptions,
  elsewhere: string,
): Promise<ImportProgress> {
  const threads = await source.threads();
  const done: ImportProgress = { threads: 0, ofThreads: threads.length, checkpoints: 0, writes: 0 };
  const step = () => {
    signal?.throwIfAborted();
    onProgress?.({ ...done });
  };
  const states = new Map<string, State>();
  for (const thread of await existing(context, threads)) {
    signal?.throwIfAborted();
    const state = await stateOf(context, source, thread);
    if (state === "other") {
      const where = `thread ${quote(thread)} already exists and differs from the database`;
      throw new ForkpointError(
        "CONFLICT",
        `${where}: import ${elsewhere}, or delete the thread first. Nothing was imported`,
      );
    }
    states.set(thread, state);
  }
  for (const [thread, state] of states) {
    if (typeof state === "string") {
      await remove(context, thread);
      continue;
    }
    done.threads += 1;
    done.checkpoints += state.checkpoints;
    done.writes += state.writes;
    step();
  }
  const missing = threads.filter((thread) => typeof (states.get(thread) ?? "part") === "string");
  await copyThreads(context, source, missing, done, step);
  return done;
}

async function existing(context: SaverContext, threads: string[]): Promise<string[]> {
  const found: string[] = [];
  for (let at = 0; at < threads.length; at += LOOK_UPS) {
    const some = threads.slice(at, at + LOOK_UPS);
    const here = await Promise.all(
      some.map(async (thread) => (await headers(context, thread, 1).next()).done !== true),
    );
    found.push(...some.filter((_, index) => here[index]));
  }
  return found;
}

async function copyThreads(
  context: SaverContext,
  source: Source,
  threads: string[],
  done: ImportProgress,
  step: () => void,
): Promise<void> {
  // The threads that were begun and not yet verified.
  const open = new Map<string, ThreadCopy>();
  try {
    for await (const page of source.pages(threads)) {
      // Send the whole page to the engine without waiting for each checkpoint, so that many share a commit.
      const stored: Array<Promise<unknown>> = [];
      for (const part of page) {
        const copy = open.get(part.threadId) ?? new ThreadCopy(context, source, part.threadId);
        open.set(part.threadId, copy);
        await copy.add(part, stored);
      }
      await Promise.all(stored);
      for (const part of page) {
        addSize(done, part);
        if (!part.ended) continue;
        if (open.get(part.threadId)!.pages === 1) await verify(context, part);
        else for await (const [again] of source.pages([part.threadId])) await verify(context, again!);
        open.delete(part.threadId);
        done.threads += 1;
        step();
      }
      if (page.at(-1)?.ended === false) step();
    }
  } catch (error) {
    // Remove the incomplete threads, so that the import can be tried again.
    await Promise.all([...open.keys()].map((thread) => remove(context, thread)));
    throw error;
  }
}
