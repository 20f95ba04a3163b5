/** Declares the engine's calls for TinyAgents' threads. See `engine/src/contract/tinyagents/call.rs`. */

import type { CallsOf } from "../../bridge/calls.js";
import type * as engine from "../../bridge/calls.generated.js";
import { Contract, type Exact, type PackedPart, type Part, type Unpack, type Unpacked } from "../../bridge/wire.js";

/** The status at a checkpoint without stopped tasks: whether a node runs next. */
export type NewStatus = engine.tinyagents.NewStatus;

/** The place of a checkpoint. `namespace` is a JSON text. */
export interface Place {
  threadId: string;
  namespace: string;
  id: string;
}

export type Header = Unpacked<engine.tinyagents.FoundHeader>;
export type FoundWrite = Unpacked<engine.tinyagents.FoundWrite>;

export interface Found extends Unpacked<engine.tinyagents.Found> {
  /** The incarnation of the namespace. Missing if it was not read. */
  incarnation?: Exact | undefined;
}

type TinyagentsCalls = CallsOf<engine.tinyagents.Call, engine.tinyagents.Responses>;

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

const openHeader: Unpack<engine.tinyagents.FoundHeader> = (header, part) => ({
  ...header,
  metadata: part(header.metadata),
});

export const openHeaders: Unpack<engine.tinyagents.FoundHeader[]> = (headers, part) =>
  headers.map((header) => openHeader(header, part));

/** Adds the incarnation to the first checkpoint. */
export const openFound = (
  { first, later, ...rest }: engine.tinyagents.FoundId,
  part: (packed: PackedPart) => Part,
) => ({
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
