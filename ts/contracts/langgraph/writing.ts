/** Stores checkpoints and pending writes. */

import type { NativeStore } from "../../bridge/native.js";
import type { Serialized } from "../../bridge/serializer.js";
import type { NewPart } from "../../bridge/wire.js";
import type { CheckpointRef } from "./config.js";
import { type FoundWrite, langgraph } from "./wire.js";

export interface Pieces {
  parts: NewPart[];
  inherit: string[];
  like: NewPart[];
  metadata: Serialized;
  mark: string | undefined;
  dependsOnParent: boolean;
}

/** A write: the channel's value, and its index among the writes of the task. */
export interface IndexedWrite {
  index: number;
  part: NewPart;
  /** The id of the checkpoint that was made from the write. Only set for copied writes. */
  claimedBy?: string | null;
}

/**
 * Stores a checkpoint. With `onlyChild`, it is refused unless its parent is the latest checkpoint of the namespace. With
 * `claims`, the pending writes of its parent count as those from which it was made.
 */
export function putCheckpoint(
  native: NativeStore,
  { threadId, namespace, id }: CheckpointRef,
  parent: string | undefined,
  { parts, inherit, like, metadata, mark, dependsOnParent }: Pieces,
  onlyChild = false,
  claims = true,
): Promise<null> {
  const call = {
    threadId,
    namespace,
    id,
    parent,
    parts: parts.map(nameOf),
    // Lists are sent as JSON. `inherit` and `like` are usually empty, so an empty list is not sent.
    inherit: inherit.length > 0 ? inherit : undefined,
    like: like.length > 0 ? like.map(nameOf) : undefined,
    metadataTag: metadata.tag,
    mark,
    savedAt: Date.now(),
    dependsOnParent,
    onlyChild,
    claims,
  };
  return langgraph.call(
    native,
    "put",
    call,
    [...parts, ...like, metadata].map(({ bytes }) => bytes),
  );
}

function nameOf({ name, tag }: NewPart): { name: string; tag: string } {
  return { name, tag };
}

/** A task, and its path in the graph. The path is empty if LangGraph gave none. */
export interface Task {
  task: string;
  path: string;
}

/** Stores writes. If an index is taken, `replace` decides: true stores the new write, false keeps the old one. */
export function putWrites(
  native: NativeStore,
  { threadId, namespace, id }: CheckpointRef,
  { task, path }: Task,
  writes: IndexedWrite[],
  replace: boolean,
): Promise<null> {
  const told = writes.map(({ index, part: { name: channel, tag }, claimedBy }) => ({
    index,
    channel,
    tag,
    claimedBy: claimedBy ?? undefined,
  }));
  const buffers = writes.map(({ part }) => part.bytes);
  const call = { threadId, namespace, id, task, path: path || undefined, writes: told, replace };
  return langgraph.call(native, "putWrites", call, buffers);
}

export async function copyWrites(
  native: NativeStore,
  checkpointRef: CheckpointRef,
  writes: readonly FoundWrite[],
): Promise<void> {
  for (const { task, path = "", ...write } of writes)
    await putWrites(native, checkpointRef, { task, path }, [write], false);
}
