/** Declares the engine's calls for LangGraph. See `engine/src/contract/langgraph/`. */

import type { CallsOf, Narrowed } from "../../bridge/calls.js";
import type * as engine from "../../bridge/calls.generated.js";
import { Contract, type Exact, type Unpack, type PackedPart, type Part } from "../../bridge/wire.js";
import type { CheckpointRef } from "./config.js";
import type { NewStatus } from "./next.js";
import type { RunStatus } from "../shared/recover-options.js";

/** The fields of a checkpoint that can be read without its payload. */
export interface Header<P = Part> extends CheckpointRef {
  /** The position in the order of the thread: see {@link sortKeyOf}. */
  key?: string;
  parent: string | null;
  metadata: P;
  /** The mark of the program that made the checkpoint: see `ts/store/mark.ts`. Missing if there is none. */
  mark?: string;
  savedAt: number;
  /** True if the checkpoint cannot be read without its ancestors. */
  dependsOnParent: boolean;
  /** The status at this checkpoint without stopped tasks: see `next.ts`. */
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

/** The position of a checkpoint in a listing. */
export interface PagePosition {
  key: string;
  seq: Exact;
}

/** A page of checkpoints. The next page begins after `next`. */
export interface FoundPage<P = Part> {
  found: Array<Found<P>>;
  next: PagePosition | null;
}

/** A thread in a listing: its root namespace. */
export interface FoundThread<P = Part> {
  cursor: string;
  checkpoints: number;
  latest: Header<P>;
  status: RunStatus;
}

export type PutFields = Omit<engine.langgraph.Put, "status"> & { status: NewStatus };

export type WriteFields = Omit<engine.langgraph.PutWrites, "needs"> & { needs?: Needs };

/**
 * What must exist, or the writes are refused with `CONFLICT`: their checkpoint, or any checkpoint of the graph itself.
 * Undefined: nothing.
 */
export type Needs = Exclude<engine.langgraph.Needs, "namespace"> | undefined;

export type LanggraphCalls = CallsOf<
  Narrowed<engine.langgraph.Call, { status: NewStatus; needs: Needs; puts: PutFields[] }>,
  {
    put: null;
    copy: null;
    putWrites: null;
    import: null;
    get: Found<PackedPart> | null;
    outline: Found<PackedPart> | null;
    ancestors: Array<Found<PackedPart>>;
    place: PagePosition | null;
    list: Array<Header<PackedPart>>;
    page: FoundPage<PackedPart>;
    threads: Array<FoundThread<PackedPart>>;
    deleteThread: null;
    delete: null;
  }
>;

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
 * The sort key of a checkpoint in its thread, as a text that compares like its bytes. It is the checkpoint's id. If the
 * clock has stepped back, it is the id of an earlier checkpoint, so that later saves sort later.
 */
export const sortKeyOf = ({ key, id }: Pick<Header, "key" | "id">): string => key ?? id;

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

/** Makes the `Unpack` function of a list from that of its items. */
export function each<T, R>(unpack: Unpack<T, R>): Unpack<T[], R[]> {
  return (items, part) => items.map((item) => unpack(item, part));
}
