/** Stores checkpoints and pending writes. */

import type { Bytes } from "../../bridge/bytes.js";
import type { NativeStore } from "../../bridge/native.js";
import type { Serialized } from "../../bridge/serializer.js";
import type { Exact, NewPart } from "../../bridge/wire.js";
import type { CheckpointRef } from "./config.js";
import type { NewStatus } from "./next.js";
import { type FoundWrite, type Needs, type PutFields, type WriteFields, langgraph } from "./wire.js";

export interface Pieces {
  parts: NewPart[];
  inherit: string[];
  like: NewPart[];
  metadata: Serialized;
  mark: string | undefined;
  dependsOnParent: boolean;
  status: NewStatus;
}

/** A write: the channel's value, and its index among the writes of the task. */
export interface IndexedWrite {
  index: number;
  part: NewPart;
  /** The id of the checkpoint that was made from the write. Only set for copied writes. */
  claimedBy?: string | null;
}

/** The relations of a checkpoint to others in its thread. */
export interface PutPlace {
  /** For a checkpoint of a subgraph: the id of an earlier checkpoint of the graph. */
  root?: string | undefined;
  /** True: the checkpoint is refused unless its parent is the latest checkpoint of the namespace. Default: false. */
  onlyChild?: boolean;
  /** True: the checkpoint is refused if its thread was deleted. Default: false. */
  known?: boolean;
  /** If given, the checkpoint is refused unless its thread has this incarnation. */
  incarnation?: Exact | undefined;
  /** If given, the checkpoint is refused unless the thread's effects have this incarnation. */
  effects?: Exact | undefined;
  /** Gets the incarnation of the namespace when the checkpoint is stored. */
  learn?: ((incarnation: Exact | null) => void) | undefined;
  /** True: the checkpoint claims the pending writes of its parent. Default: true. */
  claims?: boolean;
}

/** Returns the fields of the call that stores a checkpoint. */
export function putFields(
  { threadId, namespace, id }: CheckpointRef,
  parent: string | undefined,
  { parts, inherit, like, metadata, mark, dependsOnParent, status }: Pieces,
  { root, onlyChild = false, known = false, incarnation, effects, claims = true }: PutPlace = {},
  writes: readonly WriteCall[] = [],
): PutFields {
  return {
    threadId,
    namespace,
    id,
    root,
    parent,
    parts: parts.map(nameOf),
    // Lists are sent as JSON. `inherit` and `like` are usually empty, and empty lists are not sent.
    inherit: inherit.length > 0 ? inherit : undefined,
    like: like.length > 0 ? like.map(nameOf) : undefined,
    metadataTag: metadata.tag,
    mark,
    savedAt: Date.now(),
    dependsOnParent,
    status,
    onlyChild,
    known,
    incarnation,
    effects,
    claims,
    writes: writes.length > 0 ? writes.map(({ fields }) => fields) : undefined,
  };
}

/**
 * Stores a checkpoint: see {@link putFields}. For a copy, the checkpoint is already stored. `writes` are stored with it,
 * all or nothing.
 */
export function putCheckpoint(
  native: NativeStore,
  checkpointRef: CheckpointRef,
  parent: string | undefined,
  pieces: Pieces,
  place?: PutPlace,
  how: "put" | "copy" = "put",
  writes: readonly WriteCall[] = [],
): Promise<null> {
  const { parts, like, metadata } = pieces;
  const buffers = [...parts, ...like, metadata].map(({ bytes }) => bytes);
  for (const call of writes) buffers.push(...call.buffers);
  return langgraph.call(native, how, putFields(checkpointRef, parent, pieces, place, writes), buffers, place?.learn);
}

function nameOf({ name, tag }: NewPart): { name: string; tag: string } {
  return { name, tag };
}

/** A task, and its path in the graph. The path is empty if LangGraph gave none. */
export interface Task {
  task: string;
  path: string;
}

/**
 * Returns the fields of the call that stores writes. If an index is taken, `replace` decides: true stores the new
 * write, false keeps the old one. The call fails with `CONFLICT` if the index `free` is taken.
 */
export function writeFields(
  { threadId, namespace, id }: CheckpointRef,
  { task, path }: Task,
  writes: IndexedWrite[],
  replace: boolean,
  needs?: Needs,
  free?: number,
): WriteFields {
  const told = writes.map(({ index, part: { name: channel, tag }, claimedBy }) => ({
    index,
    channel,
    tag,
    claimedBy: claimedBy ?? undefined,
  }));
  return { threadId, namespace, id, task, path: path || undefined, writes: told, replace, needs, free };
}

/** A call that stores the writes of a task. */
export interface WriteCall {
  native: NativeStore;
  fields: WriteFields;
  buffers: Bytes[];
}

/** Returns the call that stores writes: see {@link writeFields}. */
export function writeCall(
  native: NativeStore,
  checkpointRef: CheckpointRef,
  task: Task,
  writes: IndexedWrite[],
  replace: boolean,
  needs?: Needs,
): WriteCall {
  const buffers = writes.map(({ part }) => part.bytes);
  return { native, fields: writeFields(checkpointRef, task, writes, replace, needs), buffers };
}

/** Stores writes: see {@link writeFields}. */
export function putWrites(...call: Parameters<typeof writeCall>): Promise<null> {
  return storeWrites(writeCall(...call));
}

export function storeWrites({ native, fields, buffers }: WriteCall): Promise<null> {
  return langgraph.call(native, "putWrites", fields, buffers);
}

export async function copyWrites(
  native: NativeStore,
  checkpointRef: CheckpointRef,
  writes: readonly FoundWrite[],
): Promise<void> {
  for (const { task, path = "", ...write } of writes)
    await putWrites(native, checkpointRef, { task, path }, [write], false);
}
