/**
 * Declares the engine's calls for LangGraph, and the calls that read another saver's file. See
 * `src/contract/langgraph/`.
 */

import { Tool } from "../native.js";
import { Contract, type Open, type PackedPart, type Part, opened } from "../wire.js";
import type { CheckpointRef } from "./config.js";

/** The fields of a checkpoint that can be read without its payload. */
export interface Header<P = Part> extends CheckpointRef {
  parent: string | null;
  metadata: P;
  savedAt: number;
  /** True if the checkpoint cannot be read without its ancestors. */
  dependsOnParent: boolean;
}

/** A write to a checkpoint. The channel is the name of its part. */
export interface FoundWrite<P = Part> {
  task: string;
  index: number;
  /** The id of the checkpoint that was made from the write. Null if the write is pending. */
  claimedBy: string | null;
  part: P;
}

/** A checkpoint with its writes. */
export interface Found<P = Part> {
  header: Header<P>;
  parts: P[];
  writes: Array<FoundWrite<P>>;
}

/** A namespace of a thread, as the engine lists it. */
export interface FoundThread<P = Part> {
  cursor: string;
  checkpoints: number;
  latest: Header<P>;
}

interface LanggraphCalls {
  /** Takes one buffer for each of `parts`, one for each of `like`, and one for the metadata. */
  put(fields: {
    threadId: string;
    namespace: string;
    id: string;
    parent: string | undefined;
    parts: Array<{ name: string; tag: string }>;
    /** The names of the parts that are inherited from the parent. */
    inherit: string[] | undefined;
    /** The expected contents of inherited parts. */
    like: Array<{ name: string; tag: string }> | undefined;
    metadataTag: string;
    savedAt: number;
    dependsOnParent: boolean;
    onlyChild: boolean;
  }): null;
  /** Takes one buffer for each of `writes`. */
  putWrites(fields: {
    threadId: string;
    namespace: string;
    id: string;
    task: string;
    writes: Array<{ index: number; channel: string; tag: string; claimedBy: string | undefined }>;
    replace: boolean;
  }): null;
  /** Returns the latest checkpoint if `id` is undefined. */
  get(fields: { threadId: string; namespace: string; id: string | undefined }): Found<PackedPart> | null;
  /**
   * Returns the latest checkpoint of a namespace with only the rest of the checkpoint, the values of the channels that
   * decide which nodes run next, and the writes. Writes to other channels than `__error__`, `__interrupt__` and
   * `__resume__` have no bytes.
   */
  outline(fields: { threadId: string; namespace: string }): Found<PackedPart> | null;
  /** Returns a page that holds a checkpoint and its ancestors. Each has only the values and writes of `channels`. */
  ancestors(fields: { checkpoint: CheckpointRef; channels: string[]; limit: number }): Array<Found<PackedPart>>;
  list(fields: {
    threadId: string | undefined;
    namespace: string | undefined;
    before: string | undefined;
    limit: number;
  }): Array<Header<PackedPart>>;
  threads(fields: { before: number | undefined; limit: number }): Array<FoundThread<PackedPart>>;
  deleteThread(fields: { threadId: string }): null;
  /** Removes checkpoints. The writes of the checkpoints in `reopen` become pending again. */
  delete(fields: { remove: CheckpointRef[]; reopen: CheckpointRef[] }): null;
}

export const langgraph = new Contract<LanggraphCalls>("langgraph");

export const openHeader: Open<Header<PackedPart>, Header> = (header, part) => ({
  ...header,
  metadata: part(header.metadata),
});

const openWrite: Open<FoundWrite<PackedPart>, FoundWrite> = (write, part) => ({ ...write, part: part(write.part) });

export const openFound: Open<Found<PackedPart>, Found> = ({ header, parts, writes }, part) => ({
  header: openHeader(header, part),
  parts: parts.map(part),
  writes: writes.map((write) => openWrite(write, part)),
});

export const openThread: Open<FoundThread<PackedPart>, FoundThread> = (thread, part) => ({
  ...thread,
  latest: openHeader(thread.latest, part),
});

/** Makes the `Open` function for a list from the `Open` function for its items. */
export function each<T, R>(open: Open<T, R>): Open<T[], R[]> {
  return (items, part) => items.map((item) => open(item, part));
}

/** A checkpoint in another saver's file. */
export interface ImportedCheckpoint<P = Part> {
  namespace: string;
  id: string;
  parent: string | null;
  checkpoint: P;
  metadata: P;
}

/** A write in another saver's file. The channel is the name of its part. */
export interface ImportedWrite<P = Part> {
  task: string;
  index: number;
  part: P;
}

const openImported: Open<ImportedCheckpoint<PackedPart>, ImportedCheckpoint> = (found, part) => ({
  ...found,
  checkpoint: part(found.checkpoint),
  metadata: part(found.metadata),
});

const openImportedWrite: Open<ImportedWrite<PackedPart>, ImportedWrite> = (write, part) => ({
  ...write,
  part: part(write.part),
});

interface SqliteSaverCalls {
  threads(fields: {}): string[];
  /** Returns a page of a thread's checkpoints, starting after a namespace and an id. */
  checkpoints(fields: {
    threadId: string;
    namespace: string;
    id: string;
    limit: number;
  }): Array<ImportedCheckpoint<PackedPart>>;
  writes(fields: CheckpointRef): Array<ImportedWrite<PackedPart>>;
  orphans(fields: { threadId: string }): Array<{ namespace: string; id: string }>;
}

/** Reads a SqliteSaver's database on Node's thread pool. */
export class SqliteSaver {
  readonly #tool: Tool;

  constructor(path: string) {
    this.#tool = new Tool(langgraph.name, JSON.stringify({ sqliteSaver: { path } }));
  }

  threads(): Promise<string[]> {
    return this.#ask("threads", {}, (threads) => threads);
  }

  checkpoints(
    threadId: string,
    after: { namespace: string; id: string },
    limit: number,
  ): Promise<ImportedCheckpoint[]> {
    const { namespace, id } = after;
    return this.#ask("checkpoints", { threadId, namespace, id, limit }, each(openImported));
  }

  writes({ threadId, namespace, id }: CheckpointRef): Promise<ImportedWrite[]> {
    return this.#ask("writes", { threadId, namespace, id }, each(openImportedWrite));
  }

  /** Lists the checkpoints that have writes but are not stored themselves. */
  orphans(threadId: string): Promise<Array<{ namespace: string; id: string }>> {
    return this.#ask("orphans", { threadId }, (orphans) => orphans);
  }

  async #ask<K extends keyof SqliteSaverCalls, R>(
    call: K,
    fields: Parameters<SqliteSaverCalls[K]>[0],
    open: Open<ReturnType<SqliteSaverCalls[K]>, R>,
  ): Promise<R> {
    const response = await this.#tool.callOnPool(JSON.stringify({ [call]: fields }));
    return opened(response!, open);
  }
}
