/** LangGraph's calls on the engine, and those on another saver's file: see `src/contract/langgraph/`. */

import { Tool } from "../native.js";
import { Contract, type Open, type PackedPart, type Part, opened } from "../wire.js";
import type { Place } from "./place.js";

/** What is known of a checkpoint without its payload. */
export interface Header<P = Part> extends Place {
  parent: string | null;
  metadata: P;
  savedAt: number;
  /** Whether it cannot be read without its ancestors. */
  dependsOnParent: boolean;
}

/** A write to a checkpoint; its part is named by the channel. */
export interface FoundWrite<P = Part> {
  task: string;
  index: number;
  /** The id of the checkpoint that was made of it. */
  claimedBy: string | null;
  part: P;
}

/** A checkpoint with what was written to it. */
export interface Found<P = Part> {
  header: Header<P>;
  parts: P[];
  writes: Array<FoundWrite<P>>;
}

/** A namespace of a thread as the engine lists it. */
export interface FoundThread<P = Part> {
  cursor: string;
  checkpoints: number;
  latest: Header<P>;
}

interface LanggraphCalls {
  /** A buffer for each of `parts`, for each of `like`, and for the metadata. */
  put(fields: {
    threadId: string;
    namespace: string;
    id: string;
    parent: string | undefined;
    parts: Array<{ name: string; tag: string }>;
    /** The names of the parts that are the parent's. */
    inherit: string[] | undefined;
    /** What some of those look like. */
    like: Array<{ name: string; tag: string }> | undefined;
    metadataTag: string;
    savedAt: number;
    dependsOnParent: boolean;
    onlyChild: boolean;
  }): null;
  /** A buffer for each of `writes`. */
  putWrites(fields: {
    threadId: string;
    namespace: string;
    id: string;
    task: string;
    writes: Array<{ index: number; channel: string; tag: string; claimedBy: string | undefined }>;
    replace: boolean;
  }): null;
  /** Without an id: the latest. */
  get(fields: { threadId: string; namespace: string; id: string | undefined }): Found<PackedPart> | null;
  /** A page of a checkpoint and its ancestors, with these channels' values and writes. */
  ancestors(fields: { checkpoint: Place; channels: string[]; limit: number }): Array<Found<PackedPart>>;
  list(fields: {
    threadId: string | undefined;
    namespace: string | undefined;
    before: string | undefined;
    limit: number;
  }): Array<Header<PackedPart>>;
  threads(fields: { before: number | undefined; limit: number }): Array<FoundThread<PackedPart>>;
  deleteThread(fields: { threadId: string }): null;
  /** What was written to the reopened ones is pending again. */
  delete(fields: { remove: Place[]; reopen: Place[] }): null;
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

/** Opens every item of a list. */
export function each<T, R>(open: Open<T, R>): Open<T[], R[]> {
  return (items, part) => items.map((item) => open(item, part));
}

/** A checkpoint of another saver. */
export interface ImportedCheckpoint<P = Part> {
  namespace: string;
  id: string;
  parent: string | null;
  checkpoint: P;
  metadata: P;
}

/** A write of another saver; its part is named by the channel. */
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
  /** A page of a thread's checkpoints, from behind a namespace and an id. */
  checkpoints(fields: {
    threadId: string;
    namespace: string;
    id: string;
    limit: number;
  }): Array<ImportedCheckpoint<PackedPart>>;
  writes(fields: Place): Array<ImportedWrite<PackedPart>>;
  orphans(fields: { threadId: string }): Array<{ namespace: string; id: string }>;
}

/** A SqliteSaver's database. It is read on Node's thread pool. */
export class SqliteSaver {
  readonly #tool: Tool;

  constructor(path: string) {
    this.#tool = new Tool(langgraph.name, JSON.stringify({ sqliteSaver: { path } }));
  }

  threads(): Promise<string[]> {
    return this.#ask("threads", {}, (threads) => threads);
  }

  checkpoints(threadId: string, after: { namespace: string; id: string }, limit: number): Promise<ImportedCheckpoint[]> {
    const { namespace, id } = after;
    return this.#ask("checkpoints", { threadId, namespace, id, limit }, each(openImported));
  }

  writes({ threadId, namespace, id }: Place): Promise<ImportedWrite[]> {
    return this.#ask("writes", { threadId, namespace, id }, each(openImportedWrite));
  }

  /** Where something was written to a checkpoint that is not there. */
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
