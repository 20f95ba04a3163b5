import type { Checkpoint } from "@langchain/langgraph-checkpoint";
import type { ImportOptions, ImportProgress } from "../../langgraph.js";
import { ForkpointError, quote } from "../errors.js";
import { type ImportedCheckpoint, type ImportedWrite, type NativeSqliteSaver, direct, read } from "../native.js";
import { type Reader as OptionReader, pathOf, readRecord } from "../options.js";
import { pruneOptions } from "../retention.js";
import { asDifference } from "./difference.js";
import type { Place } from "./place.js";
import { headers, remove } from "./threads.js";
import { type Reader, find } from "./tuples.js";
import { type Typed, dump, loadPart } from "./serde.js";
import { putTogether, takeApart } from "./values.js";
import { putCheckpoint, putWrites } from "./writing.js";

/** Checkpoints that are under way at a time. */
const PAGE = 64;

/**
 * Copies a SqliteSaver's database, thread by thread, and reads each back. What a checkpoint was made of becomes its own, as if
 * all of it had been put here.
 */
export async function importSqliteSaver(reader: Reader, from: unknown, options: unknown): Promise<ImportProgress> {
  const path = pathOf(from, "the database to import");
  const { signal, onProgress } = readRecord(options, "options", importOptions) as ImportOptions;
  const source = direct((binding) => new binding.NativeSqliteSaver(path));
  const threads = await read<string[]>(() => source.threads());
  const done: ImportProgress = { threads: 0, ofThreads: threads.length, checkpoints: 0, writes: 0 };
  for (const thread of threads) {
    for await (const _ of headers(reader, thread)) {
      const where = `thread ${quote(thread)} is there already`;
      throw new ForkpointError("CONFLICT", `${where}: import into another file, or delete it first. Nothing was imported`);
    }
  }
  const step = () => {
    signal?.throwIfAborted();
    onProgress?.({ ...done });
  };
  for (const thread of threads) {
    try {
      await copyThread(reader, source, thread, done, step);
      await verifyThread(reader, source, thread);
    } catch (error) {
      // Half a thread is none: whoever tries again finds room for it.
      await remove(reader, thread);
      throw error;
    }
    done.threads += 1;
    step();
  }
  return done;
}

const importOptions: { [K in keyof Required<ImportOptions>]: OptionReader<unknown> } = {
  signal: pruneOptions.signal,
  onProgress: pruneOptions.onProgress,
};

async function copyThread(
  reader: Reader,
  source: NativeSqliteSaver,
  thread: string,
  done: ImportProgress,
  step: () => void,
): Promise<void> {
  const { native } = reader;
  // Whose writes have been taken along by a child.
  const parents = new Set<string>();
  const all: Place[] = [];
  for await (const page of pages(source, thread)) {
    const arriving = await Promise.all(
      page.map(async (row) => {
        const [namespace, id, parent] = row;
        const checkpoint = await checkpointOf(reader, row);
        const versions = { ...checkpoint.channel_versions };
        for (const channel of Object.keys(checkpoint.channel_values ?? {})) versions[channel] ??= 0;
        const { parts } = await takeApart(reader.serde, checkpoint, versions);
        const before = parent ? { threadId: thread, namespace, id: parent } : undefined;
        const writes = before ? await writesTo(source, before) : [];
        const [, , , , [, tag, bytes]] = row;
        const pieces = { parts, inherit: [], like: [], metadata: [tag, bytes] as Typed };
        const difference = asDifference(checkpoint, await loadPart(reader.serde, row[4]), before);
        return { place: { threadId: thread, namespace, id }, before, writes, pieces, difference };
      }),
    );
    // Handed over in order, all of a page at once: they share commits.
    const stored: Array<Promise<null>> = [];
    for (const { place, before, writes, pieces, difference } of arriving) {
      if (before) stored.push(...writes.map((write) => putWrite(reader, before, write)));
      stored.push(putCheckpoint(native, place, before?.id, { ...pieces, difference: await difference(reader) }));
    }
    await Promise.all(stored);
    for (const { place, before } of arriving) {
      all.push(place);
      if (before) parents.add(keyOf(before));
    }
    done.checkpoints += page.length;
    step();
  }
  const orphans = await read<Array<[string, string]>>(() => source.orphans(thread));
  for (const [namespace, id] of orphans) all.push({ threadId: thread, namespace, id });
  for (const place of all) {
    const writes = await writesTo(source, place);
    done.writes += writes.length;
    // Nothing was made of them yet: they are pending.
    if (!parents.has(keyOf(place))) await Promise.all(writes.map((write) => putWrite(reader, place, write)));
  }
}

/** Every checkpoint and every write must be there as they were. */
async function verifyThread(reader: Reader, source: NativeSqliteSaver, thread: string): Promise<void> {
  for await (const page of pages(source, thread)) {
    for (const row of page) {
      const [namespace, id, parent, , metadata] = row;
      const place = { threadId: thread, namespace, id };
      const what = `checkpoint ${quote(id)} of thread ${quote(thread)}`;
      const found = await find(reader, thread, namespace, id);
      const same =
        found !== null &&
        (found[0][3] ?? "") === (parent ?? "") &&
        found[0][4][1] === metadata[1] &&
        Buffer.compare(found[0][4][2], metadata[2]) === 0 &&
        (await isSame(reader, await checkpointOf(reader, row), await putTogether(reader.serde, found[1], what))) &&
        holdsAll(found[2], await writesTo(source, place));
      if (!same) {
        throw new ForkpointError("CORRUPT", `${what} does not read back as it was: this thread was not imported. Please report this`);
      }
    }
  }
}

/** By what the serializer makes of both, whatever the order of the channels. */
async function isSame({ serde }: Reader, one: Checkpoint, other: Checkpoint): Promise<boolean> {
  const [a, b] = await Promise.all(
    [one, other].map(({ channel_values: values = {}, ...rest }) => {
      const sorted = Object.entries(values).toSorted(([x], [y]) => (x < y ? -1 : 1));
      return dump(serde, { ...rest, channel_values: Object.fromEntries(sorted) }, "a checkpoint");
    }),
  );
  return a![0] === b![0] && Buffer.compare(a![1], b![1]) === 0;
}

function holdsAll(found: Array<[string, number, unknown, ImportedWrite[2]]>, wanted: ImportedWrite[]): boolean {
  const held = new Map(found.map(([task, index, , part]) => [`${index},${task}`, part]));
  if (held.size !== wanted.length) return false;
  return wanted.every(([task, index, [channel, tag, bytes]]) => {
    const part = held.get(`${index},${task}`);
    return part !== undefined && part[0] === channel && part[1] === tag && Buffer.compare(part[2], bytes) === 0;
  });
}

async function checkpointOf({ serde }: Reader, [, id, , whole]: ImportedCheckpoint): Promise<Checkpoint> {
  const checkpoint: unknown = await loadPart(serde, whole);
  if (typeof checkpoint === "object" && checkpoint !== null && "channel_versions" in checkpoint) return checkpoint as Checkpoint;
  throw new ForkpointError("UNSUPPORTED", `checkpoint ${quote(id)} of the database to import is no checkpoint that LangGraph.js made`);
}

async function* pages(source: NativeSqliteSaver, thread: string): AsyncGenerator<ImportedCheckpoint[]> {
  for (let [namespace, id, full] = ["", "", true]; full; ) {
    const [ns, after] = [namespace, id];
    const page = await read<ImportedCheckpoint[]>(() => source.checkpoints(thread, ns, after, PAGE));
    if (page.length > 0) yield page;
    full = page.length === PAGE;
    [namespace, id] = page.at(-1) ?? ["", ""];
  }
}

function writesTo(source: NativeSqliteSaver, { threadId, namespace, id }: Place): Promise<ImportedWrite[]> {
  return read<ImportedWrite[]>(() => source.writes(threadId, namespace, id));
}

function putWrite({ native }: Reader, place: Place, [task, index, part]: ImportedWrite): Promise<null> {
  return putWrites(native, place, task, [[index, part]], false);
}

function keyOf({ namespace, id }: Place): string {
  return JSON.stringify([namespace, id]);
}
