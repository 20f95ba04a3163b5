import type { Metadata } from "@langchain/langgraph-checkpoint";
import { ForkpointError, quote, show, typeError } from "../errors.js";
import { lookup, own } from "../ids.js";
import { type NativeStore, call } from "../native.js";
import { type FoundThread, type FoundWrite, type ListedTuple, fetchThreads } from "../parcel.js";
import { atMost, pageOptions, readRecord } from "../options.js";
import { pruneOptions } from "../retention.js";
import type { Engine } from "../store.js";
import type { Place } from "./place.js";
import { type Reader, find, listed, placeOf } from "./tuples.js";
import { loadPart } from "./serde.js";
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
  if (thread !== null) await call<null>(native, (ticket) => native.langgraphDeleteThread(ticket, thread));
}

/** The threads, the last to begin first: by the namespace of the graph itself. */
export async function list({ native }: Pick<Engine, "native">, options: unknown): Promise<Page> {
  const read = readRecord(options, "options", pageOptions);
  const limit = (read["limit"] as number | undefined) ?? 100;
  let before = read["cursor"] as number | undefined;
  const found: FoundThread[] = [];
  for (;;) {
    const from = before;
    const page = await fetchThreads(native, (ticket) => native.langgraphThreads(ticket, from, limit + 1));
    found.push(...page.filter(([, , [, namespace]]) => namespace === ""));
    if (found.length > limit || page.length <= limit) break;
    before = Number(page.at(-1)![0]);
  }
  const shown = found.slice(0, limit);
  return {
    threads: shown.map(([, checkpoints, [threadId, checkpointNs, checkpointId]]) => ({
      threadId,
      checkpoints,
      latest: { checkpointId, checkpointNs },
    })),
    cursor: found.length > limit ? shown.at(-1)![0] : null,
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
    const [thread, namespace, id, , metadata] = header;
    const { run_id: runId } = (await loadPart(reader.serde, metadata)) as Metadata;
    if (typeof runId !== "string" || !runs.has(runId)) continue;
    const gone = threads.get(thread) ?? new Set();
    threads.set(thread, gone.add(JSON.stringify([namespace, id])));
  }
  let removed = 0;
  for (const [thread, gone] of threads) {
    removed += await keepOnly(reader, thread, ([, namespace, id]) => !gone.has(JSON.stringify([namespace, id])));
  }
  return { removed };
}

/** Removes from each namespace of a thread what is not to be kept, and says how many checkpoints that were. */
async function keepOnly(reader: Reader, threadId: string, keeps: (header: ListedTuple, at: number) => boolean): Promise<number> {
  const namespaces = new Map<string, ListedTuple[]>();
  for await (const header of headers(reader, threadId)) {
    const known = namespaces.get(header[1]) ?? [];
    namespaces.set(header[1], known);
    known.push(header);
  }
  let removed = 0;
  for (const newestFirst of namespaces.values()) {
    const kept = new Set(newestFirst.filter((header, at) => keeps(header, at)).map(([, , id]) => id));
    keepWhatIsNeeded(newestFirst, kept);
    const gone = newestFirst.filter(([, , id]) => !kept.has(id));
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
  const found: ListedTuple[] = [];
  for await (const header of headers(reader, from)) found.push(header);
  if (found.length === 0) throw new ForkpointError("NOT_FOUND", `thread ${quote(from)} not found: nothing to copy`);
  try {
    // Oldest first, so that each is stored as the difference to the one before.
    for (const header of found.toReversed()) {
      const { namespace, id } = placeOf(header);
      const [, , , parent, metadata, , difference] = header;
      const tuple = await find(reader, from, namespace, id);
      if (tuple === null) continue;
      const pieces: Pieces = { parts: tuple[1], inherit: [], like: [], metadata: [metadata[1], metadata[2]], difference };
      await putCheckpoint(native, { threadId: to, namespace, id }, parent ?? undefined, pieces);
    }
    // Only now: a child takes up what was written to its parent.
    for (const header of found) {
      const { namespace, id } = placeOf(header);
      const tuple = await find(reader, from, namespace, id);
      await copyWrites(native, { threadId: to, namespace, id }, tuple?.[2] ?? []);
    }
  } catch (error) {
    await remove(reader, to);
    throw error;
  }
}

async function copyWrites(native: NativeStore, place: Place, writes: FoundWrite[]): Promise<void> {
  for (const [task, index, owner, part] of writes) {
    await putWrites(native, place, task, [[index, part]], false, owner ? [owner] : undefined);
  }
}

/** All that is known of the checkpoints of a thread, or of all threads, newest id first. */
export function headers(reader: Reader, threadId: string | undefined): AsyncGenerator<ListedTuple> {
  const all = { namespace: undefined, id: undefined, before: undefined, limit: Number.POSITIVE_INFINITY, filter: [] };
  return listed(reader, { ...all, threadId });
}

/** What cannot be read without its parent has it, whatever becomes of the others. */
function keepWhatIsNeeded(newestFirst: ListedTuple[], kept: Set<string>): void {
  const known = new Map(newestFirst.map((header) => [header[2], header]));
  for (const header of newestFirst) {
    if (!kept.has(header[2])) continue;
    let [, , , parent, , , difference] = header;
    while (difference && parent && !kept.has(parent)) {
      kept.add(parent);
      [, , , parent, , , difference] = known.get(parent) ?? ([] as never);
    }
  }
}

/** Those that stay and whose children all go: what is written to them is pending again. */
function leftAlone(newestFirst: ListedTuple[], kept: Set<string>): ListedTuple[] {
  const [going, staying] = [new Set<string>(), new Set<string>()];
  for (const [, , id, parent] of newestFirst) if (parent) (kept.has(id) ? staying : going).add(parent);
  return newestFirst.filter(([, , id]) => kept.has(id) && going.has(id) && !staying.has(id));
}

async function removeAll(native: NativeStore, gone: ListedTuple[], left: ListedTuple[]): Promise<void> {
  // In transactions of this many: a save waits for one at most. The last one has what is left.
  for (let from = 0; from < gone.length; from += BATCH) {
    const batch = gone.slice(from, from + BATCH);
    const all = from + BATCH < gone.length ? batch : [...batch, ...left];
    const [namespaces, ids] = [all.map(([, namespace]) => namespace), all.map(([, , id]) => id)];
    await call<null>(native, (ticket) => native.langgraphDelete(ticket, gone[0]![0], namespaces, ids, batch.length));
  }
}

function readStrategy(strategy: unknown): (header: ListedTuple, at: number) => boolean {
  if (strategy === "delete") return () => false;
  if (strategy === "keep_latest") return (_, at) => at === 0;
  if (typeof strategy !== "object" || strategy === null) {
    throw typeError(`strategy must be "keep_latest", "delete" or an object, and is ${show(strategy)}`);
  }
  const read = readRecord(strategy, "strategy", strategyOptions);
  const keepLast = (read["keepLast"] as number | null | undefined) ?? Number.POSITIVE_INFINITY;
  const olderThan = (read["olderThan"] as number | null | undefined) ?? Number.NEGATIVE_INFINITY;
  return (header, at) => at < keepLast && header[5] >= olderThan;
}

const strategyOptions = { keepLast: atMost("checkpoints"), olderThan: pruneOptions.olderThan };

function strings(value: unknown, what: string): string[] {
  if (!Array.isArray(value)) throw typeError(`${what} must be an array of strings, and is ${show(value)}`);
  return value.map((item, index) => own(item, `${what}[${index}]`));
}
