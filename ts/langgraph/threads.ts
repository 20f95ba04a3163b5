import type { Metadata } from "@langchain/langgraph-checkpoint";
import type { Engine } from "../engine.js";
import { ForkpointError, quote, show, typeError } from "../errors.js";
import { lookup, own } from "../ids.js";
import type { NativeStore } from "../native.js";
import { atMost, pageOptions, readRecord } from "../options.js";
import { pruneOptions } from "../retention.js";
import type { Place } from "./place.js";
import { type Reader, find, listed, placeOf } from "./tuples.js";
import { load } from "./serde.js";
import { type FoundThread, type FoundWrite, type Header, each, langgraph, openThread } from "./wire.js";
import { type Pieces, putCheckpoint, putWrites } from "./writing.js";

/** Checkpoints that one transaction removes. */
const BATCH = 500;

export type Strategy = "keep_latest" | "delete" | { keepLast?: number; olderThan?: Date | number };

/** A page of threads. */
export interface Page {
  threads: Array<{ threadId: string; checkpoints: number; latest: { checkpointId: string; checkpointNs: string } }>;
  cursor: string | null;
}

/** Removes a thread: all of its namespaces, and what was written to checkpoints that never came. */
export async function remove({ native }: Pick<Engine, "native">, threadId: unknown): Promise<void> {
  const thread = lookup(threadId, "threadId");
  if (thread !== null) await langgraph.call(native, "deleteThread", { threadId: thread });
}

/** The threads, the last to begin first: by the namespace of the graph itself. */
export async function list({ native }: Pick<Engine, "native">, options: unknown): Promise<Page> {
  const read = readRecord(options, "options", pageOptions);
  const limit = (read["limit"] as number | undefined) ?? 100;
  let before = read["cursor"] as number | undefined;
  const found: FoundThread[] = [];
  for (;;) {
    const page: FoundThread[] = await langgraph.find(native, "threads", { before, limit: limit + 1 }, each(openThread));
    found.push(...page.filter(({ latest }) => latest.namespace === ""));
    if (found.length > limit || page.length <= limit) break;
    before = Number(page.at(-1)!.cursor);
  }
  const shown = found.slice(0, limit);
  return {
    threads: shown.map(({ checkpoints, latest: { threadId, namespace, id } }) => ({
      threadId,
      checkpoints,
      latest: { checkpointId: id, checkpointNs: namespace },
    })),
    cursor: found.length > limit ? shown.at(-1)!.cursor : null,
  };
}

/** Removes checkpoints of threads. What a checkpoint that stays is made of stays with it. */
export async function prune(reader: Reader, threadIds: unknown, strategy: unknown = "keep_latest"): Promise<{ removed: number }> {
  const keeps = readStrategy(strategy);
  let removed = 0;
  for (const threadId of strings(threadIds, "threadIds")) {
    if (strategy === "delete") {
      for await (const _ of headers(reader, threadId)) removed += 1;
      await remove(reader, threadId);
    } else {
      removed += await keepOnly(reader, threadId, keeps);
    }
  }
  return { removed };
}

/** Removes the checkpoints that were made in runs, by their metadata's `run_id`, as far as no other is made of them. */
export async function removeRuns(reader: Reader, runIds: unknown): Promise<{ removed: number }> {
  const runs = new Set(strings(runIds, "runIds"));
  const threads = new Map<string, Set<string>>();
  for await (const header of headers(reader, undefined)) {
    const { threadId: thread, namespace, id, metadata } = header;
    const { run_id: runId } = (await load(reader.serde, metadata)) as Metadata;
    if (typeof runId !== "string" || !runs.has(runId)) continue;
    const gone = threads.get(thread) ?? new Set();
    threads.set(thread, gone.add(JSON.stringify([namespace, id])));
  }
  let removed = 0;
  for (const [thread, gone] of threads) {
    removed += await keepOnly(reader, thread, ({ namespace, id }) => !gone.has(JSON.stringify([namespace, id])));
  }
  return { removed };
}

/** Removes from each namespace of a thread what is not to be kept, and says how many checkpoints that were. */
async function keepOnly(reader: Reader, threadId: string, keeps: (header: Header, at: number) => boolean): Promise<number> {
  const namespaces = new Map<string, Header[]>();
  for await (const header of headers(reader, threadId)) {
    const known = namespaces.get(header.namespace) ?? [];
    namespaces.set(header.namespace, known);
    known.push(header);
  }
  let removed = 0;
  for (const newestFirst of namespaces.values()) {
    const kept = new Set(newestFirst.filter((header, at) => keeps(header, at)).map(({ id }) => id));
    keepWhatIsNeeded(newestFirst, kept);
    const gone = newestFirst.filter(({ id }) => !kept.has(id));
    await removeAll(reader.native, gone, leftAlone(newestFirst, kept));
    removed += gone.length;
  }
  return removed;
}

/** Copies a thread, byte by byte: the same ids in another thread, which must be new. */
export async function copy(reader: Reader, source: unknown, target: unknown): Promise<void> {
  const [from, to] = [own(source, "sourceThreadId"), own(target, "targetThreadId")];
  const { native } = reader;
  for await (const _ of headers(reader, to)) {
    throw new ForkpointError("CONFLICT", `thread ${quote(to)} is there already: copy to a new one, or delete it first`);
  }
  const found: Header[] = [];
  for await (const header of headers(reader, from)) found.push(header);
  if (found.length === 0) throw new ForkpointError("NOT_FOUND", `thread ${quote(from)} not found: nothing to copy`);
  try {
    // Oldest first, so that each is stored as the difference to the one before.
    for (const header of found.toReversed()) {
      const { namespace, id, parent, metadata, dependsOnParent } = header;
      const tuple = await find(reader, from, namespace, id);
      if (tuple === null) continue;
      const pieces: Pieces = { parts: tuple.parts, inherit: [], like: [], metadata, dependsOnParent };
      await putCheckpoint(native, { threadId: to, namespace, id }, parent ?? undefined, pieces);
    }
    // Only now: a child takes up what was written to its parent.
    for (const header of found) {
      const { namespace, id } = header;
      const tuple = await find(reader, from, namespace, id);
      await copyWrites(native, { threadId: to, namespace, id }, tuple?.writes ?? []);
    }
  } catch (error) {
    await remove(reader, to);
    throw error;
  }
}

async function copyWrites(native: NativeStore, place: Place, writes: FoundWrite[]): Promise<void> {
  for (const { task, ...write } of writes) await putWrites(native, place, task, [write], false);
}

/** All that is known of the checkpoints of a thread, or of all threads, newest id first. */
export function headers(reader: Reader, threadId: string | undefined): AsyncGenerator<Header> {
  const all = { namespace: undefined, id: undefined, before: undefined, limit: Number.POSITIVE_INFINITY, filter: [] };
  return listed(reader, { ...all, threadId });
}

/** What cannot be read without its parent has it, whatever becomes of the others. */
function keepWhatIsNeeded(newestFirst: Header[], kept: Set<string>): void {
  const known = new Map(newestFirst.map((header) => [header.id, header]));
  for (const header of newestFirst) {
    if (!kept.has(header.id)) continue;
    let needing: Header | undefined = header;
    while (needing?.dependsOnParent && needing.parent && !kept.has(needing.parent)) {
      kept.add(needing.parent);
      needing = known.get(needing.parent);
    }
  }
}

/** Those that stay and whose children all go: what is written to them is pending again. */
function leftAlone(newestFirst: Header[], kept: Set<string>): Header[] {
  const [going, staying] = [new Set<string>(), new Set<string>()];
  for (const { id, parent } of newestFirst) if (parent) (kept.has(id) ? staying : going).add(parent);
  return newestFirst.filter(({ id }) => kept.has(id) && going.has(id) && !staying.has(id));
}

async function removeAll(native: NativeStore, gone: Header[], left: Header[]): Promise<void> {
  // In transactions of this many: a save waits for one at most. The last one has what is left.
  for (let from = 0; from < gone.length; from += BATCH) {
    const remove = gone.slice(from, from + BATCH).map(placeOf);
    const reopen = from + BATCH < gone.length ? [] : left.map(placeOf);
    await langgraph.call(native, "delete", { remove, reopen });
  }
}

function readStrategy(strategy: unknown): (header: Header, at: number) => boolean {
  if (strategy === "delete") return () => false;
  if (strategy === "keep_latest") return (_, at) => at === 0;
  if (typeof strategy !== "object" || strategy === null) {
    throw typeError(`strategy must be "keep_latest", "delete" or an object, and is ${show(strategy)}`);
  }
  const read = readRecord(strategy, "strategy", strategyOptions);
  const keepLast = (read["keepLast"] as number | null | undefined) ?? Number.POSITIVE_INFINITY;
  const olderThan = (read["olderThan"] as number | null | undefined) ?? Number.NEGATIVE_INFINITY;
  return (header, at) => at < keepLast && header.savedAt >= olderThan;
}

const strategyOptions = { keepLast: atMost("checkpoints"), olderThan: pruneOptions.olderThan };

function strings(value: unknown, what: string): string[] {
  if (!Array.isArray(value)) throw typeError(`${what} must be an array of strings, and is ${show(value)}`);
  return value.map((item, index) => own(item, `${what}[${index}]`));
}
