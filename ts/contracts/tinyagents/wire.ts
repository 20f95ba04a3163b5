/** Declares the engine's calls for TinyAgents' threads. See `engine/src/contract/tinyagents/call.rs`. */

import { Contract, type Exact, type Unpack, type PackedPart, type Part } from "../../bridge/wire.js";

/** The status at a checkpoint if no task has stopped: whether a node runs next. */
export type NewStatus = "unfinished" | "finished" | "unknown";

/** The place of a checkpoint. `namespace` is a JSON text. */
export interface Place {
  threadId: string;
  namespace: string;
  id: string;
}

/** A checkpoint without its state. `key` is the engine's id of the checkpoint. */
export interface Header<P = Part> extends Place {
  key: string;
  parent: string | null;
  metadata: P;
  savedAt: number;
  dependsOnParent: boolean;
  status: NewStatus;
  /** True if the id was put before. The writes then belong to the checkpoint that was put first. */
  again: boolean;
}

/** A pending write. The name of its part holds the node and the channel, as a JSON text. */
export interface FoundWrite<P = Part> {
  task: string;
  index: number;
  part: P;
}

export interface Found<P = Part> {
  header: Header<P>;
  parts: P[];
  writes: Array<FoundWrite<P>>;
  /** The incarnation of the namespace. Missing if it was not read. */
  incarnation?: Exact | undefined;
}

/**
 * What is stored for a checkpoint id: the checkpoint that was put first, and the key of the one that was put last if
 * the id was put again.
 */
interface FoundId<P> {
  first: Found<P> | null;
  later: string | null;
  incarnation?: Exact;
}

interface TinyagentsCalls {
  /** Takes a buffer for each part, and one for the metadata. */
  put(
    fields: Place & {
      /** A unique text if the id was put before. */
      again: string | undefined;
      parent: string | undefined;
      /** The key of the parent, if the parent was put again. */
      parentKey: string | undefined;
      parts: Array<{ name: string; tag: string }>;
      metadataTag: string;
      savedAt: number;
      dependsOnParent: boolean;
      expectsParent: boolean;
      /** If given, the namespace must have this incarnation. */
      incarnation: Exact | undefined;
      status: NewStatus;
    },
  ): null;
  /** Takes a buffer for each write. */
  putWrites(
    fields: Place & {
      writes: Array<{ task: string; index: number; name: string; tag: string }>;
      /** Fails with `CONFLICT` unless the checkpoint, or any checkpoint of its namespace, is stored. */
      needs: "namespace" | undefined;
      /** If given, the namespace must have this incarnation. */
      incarnation: Exact | undefined;
    },
  ): null;
  /** Without an id, finds the checkpoint of the namespace that was put last. */
  get(fields: { threadId: string; namespace: string; id: string | undefined }): FoundId<PackedPart> | null;
  /** Finds the checkpoint that was put last in any namespace of the thread. With an id, the last one of this id. */
  last(fields: { threadId: string; id: string | undefined }): FoundId<PackedPart> | null;
  load(fields: { key: string }): FoundId<PackedPart> | null;
  /** Lists the checkpoints of a namespace, or of all namespaces. The one that was put last comes first. */
  list(fields: { threadId: string; namespace: string | undefined }): Array<Header<PackedPart>>;
  /** Lists the namespaces of all threads. The one that began last comes first. */
  namespaces(fields: {
    before: number | undefined;
    limit: number;
  }): Array<{ cursor: string; threadId: string; namespace: string }>;
  deleteThread(fields: { threadId: string }): null;
  delete(fields: { keys: string[] }): null;
}

export const tinyagents = new Contract<TinyagentsCalls>("tinyagents", {
  kinds: { put: "save", putWrites: "save", deleteThread: "prune", delete: "prune" },
  // All checkpoints of a removal belong to one thread.
  subject: ({ threadId, namespace, id, key, keys }) => ({
    run: threadId ?? threadOf(key ?? keys?.[0] ?? ""),
    ns: namespace,
    id,
  }),
  counts: { delete: (_, { keys }) => keys.length },
});

/** Returns the thread of a checkpoint's key, which begins with the length of the thread's id in bytes. */
function threadOf(key: string): string | null {
  const [, length, rest] = /^(\d+):(.*)$/s.exec(key) ?? [];
  return rest === undefined ? null : Buffer.from(rest).toString("utf8", 0, Number(length));
}

const openHeader: Unpack<Header<PackedPart>, Header> = (header, part) => ({
  ...header,
  metadata: part(header.metadata),
});

export const openHeaders: Unpack<Array<Header<PackedPart>>, Header[]> = (headers, part) =>
  headers.map((header) => openHeader(header, part));

export const openFound: Unpack<FoundId<PackedPart>, FoundId<Part>> = ({ first, later, ...rest }, part) => ({
  ...rest,
  first: first && {
    ...rest,
    header: openHeader(first.header, part),
    parts: first.parts.map(part),
    writes: first.writes.map((write) => ({ ...write, part: part(write.part) })),
  },
  later,
});

/** The name of a namespace of a thread, among what a checkpointer has put or read. */
export const nameOf = ({ threadId, namespace }: Pick<Place, "threadId" | "namespace">): string =>
  `${threadId}\0${namespace}`;

/** The name of a checkpoint, among what a checkpointer has put or read. */
export const checkpointName = (of: Place): string => `${nameOf(of)}\0${of.id}`;
