/** Declares the engine's calls for LangGraph. See `engine/src/contract/langgraph/`. */

import { Contract, type Exact, type Unpack, type PackedPart, type Part } from "../../bridge/wire.js";
import type { CheckpointRef } from "./config.js";
import type { NewStatus } from "./next.js";
import type { RunStatus } from "../shared/recover-options.js";

/** The fields of a checkpoint that can be read without its payload. */
export interface Header<P = Part> extends CheckpointRef {
  /** The place in the order of the thread: see {@link placeOf}. */
  key?: string;
  parent: string | null;
  metadata: P;
  /** Who made the checkpoint: see `ts/store/mark.ts`. Missing if it has no mark. */
  mark?: string;
  savedAt: number;
  /** True if the checkpoint cannot be read without its ancestors. */
  dependsOnParent: boolean;
  /** The status at this checkpoint if no task has stopped: see `next.ts`. */
  status: NewStatus;
}

/** A write to a checkpoint. The channel is the name of its part. */
export interface FoundWrite<P = Part> {
  task: string;
  index: number;
  /** The id of the checkpoint that was made from the write. Null if the write is pending. */
  claimedBy: string | null;
  /** The path of the task in the graph. Missing if LangGraph gave none. */
  path?: string;
  part: P;
}

export interface Found<P = Part> {
  header: Header<P>;
  parts: P[];
  writes: Array<FoundWrite<P>>;
  /** True if it is the latest checkpoint of its namespace. Only for a call with `begins`. */
  isLatest?: boolean;
  /** The incarnation of the namespace: see `docs/internals/meeting.md`. Only for a call with `begins`. */
  incarnation?: Exact;
}

/** The place of a checkpoint in a listing. */
export interface PagePlace {
  key: string;
  seq: Exact;
}

/** A page of checkpoints. The next page begins after `next`. */
export interface FoundPage<P = Part> {
  found: Array<Found<P>>;
  next: PagePlace | null;
}

/** A thread, as the engine lists it: its root namespace. */
export interface FoundThread<P = Part> {
  cursor: string;
  checkpoints: number;
  latest: Header<P>;
  status: RunStatus;
}

export interface PutFields extends CheckpointRef {
  /** The id of a checkpoint of the graph. A checkpoint of a subgraph does not sort before it. */
  root: string | undefined;
  parent: string | undefined;
  parts: Array<{ name: string; tag: string }>;
  /** The names of the parts that are inherited from the parent. */
  inherit: string[] | undefined;
  /** The expected contents of inherited parts. */
  like: Array<{ name: string; tag: string }> | undefined;
  metadataTag: string;
  mark: string | undefined;
  savedAt: number;
  dependsOnParent: boolean;
  status: NewStatus;
  onlyChild: boolean;
  known: boolean;
  /** If given, the thread must have this incarnation. */
  incarnation: Exact | undefined;
  claims: boolean;
}

export interface WriteFields extends CheckpointRef {
  task: string;
  path: string | undefined;
  writes: Array<{ index: number; channel: string; tag: string; claimedBy: string | undefined }>;
  replace: boolean;
  needs?: Needs | undefined;
  /** The index that no unclaimed write of the task may have yet. */
  free?: number | undefined;
}

/**
 * What must be stored, or else the writes are refused with `CONFLICT`: their checkpoint, or any checkpoint of the graph itself.
 * Undefined: nothing.
 */
export type Needs = "checkpoint" | "thread" | undefined;

export interface LanggraphCalls {
  /** Takes one buffer for each of `parts`, one for each of `like`, and one for the metadata. */
  put(fields: PutFields): null;
  /** Stores a checkpoint that was read from the store: it may be larger than one save. */
  copy(fields: PutFields): null;
  /** Takes one buffer for each of `writes`. Fails with `CONFLICT` if the index `free` is taken. */
  putWrites(fields: WriteFields): null;
  /**
   * Stores writes and then checkpoints of a thread, all of them or none. Takes the buffers of all `writes`, and then those of
   * all `puts`. With `replace`, the stored thread is removed first. Fails with `CONFLICT` unless each namespace of `expect`
   * has this newest checkpoint.
   */
  import(fields: {
    threadId: string;
    expect: Array<{ namespace: string; newest: string | undefined }>;
    replace: boolean;
    writes: WriteFields[];
    puts: PutFields[];
  }): null;
  /** Returns the latest checkpoint if `id` is undefined. */
  get(fields: {
    threadId: string;
    namespace: string;
    id: string | undefined;
    /** True: a run begins with this read. The answer says whether it is the latest checkpoint, and the incarnation. */
    begins?: boolean;
  }): Found<PackedPart> | null;
  /**
   * Returns the latest checkpoint of a namespace with only the rest of the checkpoint, the values of the channels that
   * decide which nodes run next, and the writes. Writes to other channels than `__error__`, `__interrupt__`,
   * `__resume__` and `__forkpoint_answers__` have no bytes.
   */
  outline(fields: { threadId: string; namespace: string }): Found<PackedPart> | null;
  /** Returns a page that holds a checkpoint and its ancestors. Each has only the values and writes of `channels`. */
  ancestors(fields: { checkpoint: CheckpointRef; channels: string[]; limit: number }): Array<Found<PackedPart>>;
  /** Returns the place of the checkpoint with this id in the namespace or, if that lacks it, in the namespace `or`. */
  place(fields: { threadId: string; namespace: string; or: string; id: string }): PagePlace | null;
  /** The newest checkpoint comes first. */
  list(fields: { threadId: string | undefined; before: string | undefined; limit: number }): Array<Header<PackedPart>>;
  /**
   * Lists checkpoints as `list` does, with their payloads and writes. The page begins after the checkpoint with the
   * key `beforeKey` and the save number `beforeSeq`; without a save number, after all checkpoints with this key. The JSON of each
   * checkpoint's metadata has all `texts`, or an escape.
   * `index` is a key of the metadata that has an index, and the JSON text of its value. A filter looks at `looks` checkpoints at most.
   */
  page(fields: {
    threadId: string | undefined;
    namespace: string | undefined;
    beforeKey: string | undefined;
    beforeSeq: Exact | undefined;
    texts: string[] | undefined;
    index: { key: string; value: string } | undefined;
    limit: number;
    looks: number;
  }): FoundPage<PackedPart>;
  threads(fields: {
    /** Undefined: all. */
    statuses: RunStatus[] | undefined;
    latestFirst: boolean;
    after: number | undefined;
    limit: number;
  }): Array<FoundThread<PackedPart>>;
  deleteThread(fields: { threadId: string }): null;
  /** Removes checkpoints. The writes of the checkpoints in `reopen` become pending again. */
  delete(fields: { remove: CheckpointRef[]; reopen: CheckpointRef[] }): null;
}

export const langgraph = new Contract<LanggraphCalls>("langgraph", {
  kinds: { put: "save", copy: "save", putWrites: "save", import: "save", deleteThread: "prune", delete: "prune" },
  subject: ({ checkpoint, remove, ...fields }) => {
    // All checkpoints of a removal belong to one namespace.
    const { threadId, namespace } = checkpoint ?? remove?.[0] ?? fields;
    return { run: threadId, ns: namespace, id: checkpoint?.id ?? fields.id };
  },
  counts: { delete: (_, { remove }) => remove.length, page: ({ found }) => found.length },
});

/**
 * The key by which the store sorts the checkpoints of a thread, as a text that compares like its bytes. It is the id, or that of an earlier checkpoint if the clock had stepped
 * back: what is saved later sorts later.
 */
export const placeOf = ({ key, id }: Pick<Header, "key" | "id">): string => key ?? id;

export const openHeader: Unpack<Header<PackedPart>, Header> = (header, part) => ({
  ...header,
  metadata: part(header.metadata),
});

const openWrite: Unpack<FoundWrite<PackedPart>, FoundWrite> = (write, part) => ({ ...write, part: part(write.part) });

export const openFound: Unpack<Found<PackedPart>, Found> = ({ header, parts, writes, ...rest }, part) => ({
  ...rest,
  header: openHeader(header, part),
  parts: parts.map(part),
  writes: writes.map((write) => openWrite(write, part)),
});

export const openPage: Unpack<FoundPage<PackedPart>, FoundPage> = ({ found, next }, part) => ({
  found: found.map((one) => openFound(one, part)),
  next,
});

export const openThread: Unpack<FoundThread<PackedPart>, FoundThread> = (thread, part) => ({
  ...thread,
  latest: openHeader(thread.latest, part),
});

/** Makes the `Unpack` function for a list from the one for its items. */
export function each<T, R>(unpack: Unpack<T, R>): Unpack<T[], R[]> {
  return (items, part) => items.map((item) => unpack(item, part));
}
