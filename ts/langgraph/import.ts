import type { Checkpoint } from "@langchain/langgraph-checkpoint";
import type { ImportOptions, ImportProgress } from "../../langgraph.js";
import { ForkpointError, quote } from "../errors.js";
import { type OptionParser, pathOf, readRecord } from "../options.js";
import { pruneOptions } from "../retention.js";
import type { Serialized } from "../serializer.js";
import { dependsOnParent } from "./dependence.js";
import type { CheckpointRef } from "./config.js";
import { headers, remove } from "./threads.js";
import { type SaverContext, find } from "./tuples.js";
import { dump, load } from "./serde.js";
import { decodeCheckpoint, encodeCheckpoint } from "./values.js";
import { type FoundWrite, type ImportedCheckpoint, type ImportedWrite, SqliteSaver } from "./wire.js";
import { putCheckpoint, putWrites } from "./writing.js";

/** The number of checkpoints that are copied at the same time. */
const PAGE = 64;

/**
 * Copies a SqliteSaver's database thread by thread, and reads each thread back to compare it. Each checkpoint claims
 * the writes that it was made from, as it would in a `put` to this saver.
 */
export async function importSqliteSaver(
  context: SaverContext,
  from: unknown,
  options: unknown,
): Promise<ImportProgress> {
  const path = pathOf(from, "the database to import");
  const { signal, onProgress } = readRecord(options, "options", importOptions) as ImportOptions;
  const source = new SqliteSaver(path);
  const threads = await source.threads();
  const done: ImportProgress = { threads: 0, ofThreads: threads.length, checkpoints: 0, writes: 0 };
  for (const thread of threads) {
    for await (const _ of headers(context, thread)) {
      const where = `thread ${quote(thread)} already exists`;
      throw new ForkpointError(
        "CONFLICT",
        `${where}: import into another file, or delete the thread first. Nothing was imported`,
      );
    }
  }
  const step = () => {
    signal?.throwIfAborted();
    onProgress?.({ ...done });
  };
  for (const thread of threads) {
    try {
      await copyThread(context, source, thread, done, step);
      await verifyThread(context, source, thread);
    } catch (error) {
      // Remove the incomplete thread, so that the import can be tried again.
      await remove(context, thread);
      throw error;
    }
    done.threads += 1;
    step();
  }
  return done;
}

const importOptions: { [K in keyof Required<ImportOptions>]: OptionParser<unknown> } = {
  signal: pruneOptions.signal,
  onProgress: pruneOptions.onProgress,
};

async function copyThread(
  context: SaverContext,
  source: SqliteSaver,
  thread: string,
  done: ImportProgress,
  step: () => void,
): Promise<void> {
  const { native } = context;
  // The checkpoints that have a child. Their writes are copied when the child is imported.
  const parents = new Set<string>();
  const all: CheckpointRef[] = [];
  for await (const page of pages(source, thread)) {
    const arriving = await Promise.all(
      page.map(async (row) => {
        const { namespace, id, parent, metadata } = row;
        const checkpoint = await checkpointOf(context, row);
        const versions = { ...checkpoint.channel_versions };
        for (const channel of Object.keys(checkpoint.channel_values ?? {})) versions[channel] ??= 0;
        const { parts } = await encodeCheckpoint(context.serde, checkpoint, versions);
        const before = parent ? { threadId: thread, namespace, id: parent } : undefined;
        const writes = before ? await source.writes(before) : [];
        const pieces = { parts, inherit: [], like: [], metadata };
        const depends = dependsOnParent(checkpoint, await load(context.serde, metadata), before);
        return { checkpointRef: { threadId: thread, namespace, id }, before, writes, pieces, depends };
      }),
    );
    // Send all checkpoints of the page to the engine in order, without waiting for each one, so that several are stored
    // in one commit.
    const stored: Array<Promise<null>> = [];
    for (const { checkpointRef, before, writes, pieces, depends } of arriving) {
      if (before) stored.push(...writes.map((write) => putWrite(context, before, write)));
      stored.push(
        putCheckpoint(native, checkpointRef, before?.id, { ...pieces, dependsOnParent: await depends(context) }),
      );
    }
    await Promise.all(stored);
    for (const { checkpointRef, before } of arriving) {
      all.push(checkpointRef);
      if (before) parents.add(keyOf(before));
    }
    done.checkpoints += page.length;
    step();
  }
  for (const { namespace, id } of await source.orphans(thread)) all.push({ threadId: thread, namespace, id });
  for (const checkpointRef of all) {
    const writes = await source.writes(checkpointRef);
    done.writes += writes.length;
    // If the checkpoint has no child, its writes are still pending.
    if (!parents.has(keyOf(checkpointRef)))
      await Promise.all(writes.map((write) => putWrite(context, checkpointRef, write)));
  }
}

/** Throws unless every copied checkpoint and write equals the original. */
async function verifyThread(context: SaverContext, source: SqliteSaver, thread: string): Promise<void> {
  for await (const page of pages(source, thread)) {
    for (const row of page) {
      const { namespace, id, parent, metadata } = row;
      const checkpointRef = { threadId: thread, namespace, id };
      const what = `checkpoint ${quote(id)} of thread ${quote(thread)}`;
      const found = await find(context, thread, namespace, id);
      const same =
        found !== null &&
        (found.header.parent ?? "") === (parent ?? "") &&
        isEqual(found.header.metadata, metadata) &&
        (await isSame(
          context,
          await checkpointOf(context, row),
          await decodeCheckpoint(context.serde, found.parts, what),
        )) &&
        holdsAll(found.writes, await source.writes(checkpointRef));
      if (!same) {
        throw new ForkpointError(
          "CORRUPT",
          `${what} cannot be read back unchanged: this thread was not imported. Please report this`,
        );
      }
    }
  }
}

/** Compares two checkpoints by their serialised bytes. The order of the channels does not matter. */
async function isSame({ serde }: SaverContext, one: Checkpoint, other: Checkpoint): Promise<boolean> {
  const [a, b] = await Promise.all(
    [one, other].map(({ channel_values: values = {}, ...rest }) => {
      const sorted = Object.entries(values).toSorted(([x], [y]) => (x < y ? -1 : 1));
      return dump(serde, { ...rest, channel_values: Object.fromEntries(sorted) }, "a checkpoint");
    }),
  );
  return isEqual(a!, b!);
}

function isEqual(one: Serialized, other: Serialized): boolean {
  return one.tag === other.tag && Buffer.compare(one.bytes, other.bytes) === 0;
}

function holdsAll(found: FoundWrite[], wanted: ImportedWrite[]): boolean {
  const held = new Map(found.map(({ task, index, part }) => [`${index},${task}`, part]));
  if (held.size !== wanted.length) return false;
  return wanted.every(({ task, index, part }) => {
    const known = held.get(`${index},${task}`);
    return known !== undefined && known.name === part.name && isEqual(known, part);
  });
}

async function checkpointOf(
  { serde }: SaverContext,
  { id, checkpoint: whole }: ImportedCheckpoint,
): Promise<Checkpoint> {
  const checkpoint: unknown = await load(serde, whole);
  if (typeof checkpoint === "object" && checkpoint !== null && "channel_versions" in checkpoint)
    return checkpoint as Checkpoint;
  throw new ForkpointError(
    "UNSUPPORTED",
    `checkpoint ${quote(id)} of the database to import was not made by LangGraph.js`,
  );
}

async function* pages(source: SqliteSaver, thread: string): AsyncGenerator<ImportedCheckpoint[]> {
  for (let [after, full] = [{ namespace: "", id: "" }, true]; full;) {
    const page: ImportedCheckpoint[] = await source.checkpoints(thread, after, PAGE);
    if (page.length > 0) yield page;
    full = page.length === PAGE;
    after = page.at(-1) ?? after;
  }
}

function putWrite(
  { native }: SaverContext,
  checkpointRef: CheckpointRef,
  { task, ...write }: ImportedWrite,
): Promise<null> {
  return putWrites(native, checkpointRef, task, [write], false);
}

function keyOf({ namespace, id }: CheckpointRef): string {
  return JSON.stringify([namespace, id]);
}
