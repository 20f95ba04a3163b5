/** Declares the engine's calls for TinyAgents' threads. See `engine/src/contract/tinyagents/call.rs`. */

import type { CallsOf, Narrowed } from "../../bridge/calls.js";
import type * as engine from "../../bridge/calls.generated.js";
import { Contract, type Exact, type Unpack, type PackedPart, type Part } from "../../bridge/wire.js";

/** The status at a checkpoint without stopped tasks: whether a node runs next. */
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
  /** True if the id was put before. The writes then belong to the first checkpoint of this id. */
  again: boolean;
}

/** A pending write. The name of its part is the node and the channel, as a JSON text. */
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

/** The stored checkpoints of an id: the first one and, if the id was put again, the key of the last one. */
interface FoundId<P> {
  first: Found<P> | null;
  later: string | null;
  incarnation?: Exact;
}

type TinyagentsCalls = CallsOf<
  Narrowed<engine.tinyagents.Call, { status: NewStatus; needs: "namespace" | undefined }>,
  {
    put: null;
    putWrites: null;
    get: FoundId<PackedPart> | null;
    last: FoundId<PackedPart> | null;
    load: FoundId<PackedPart> | null;
    list: Array<Header<PackedPart>>;
    namespaces: Array<{ cursor: string; threadId: string; namespace: string }>;
    deleteThread: null;
    delete: null;
  }
>;

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

/** The name of a thread's namespace in a checkpointer's set of known ones. */
export const nameOf = ({ threadId, namespace }: Pick<Place, "threadId" | "namespace">): string =>
  `${threadId}\0${namespace}`;

/** The name of a checkpoint in a checkpointer's set of known ones. */
export const checkpointName = (of: Place): string => `${nameOf(of)}\0${of.id}`;
