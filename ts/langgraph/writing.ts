import type { NativeStore } from "../native.js";
import type { Serialized } from "../serializer.js";
import type { Part } from "../wire.js";
import type { Place } from "./place.js";
import { langgraph } from "./wire.js";

/** A checkpoint in the pieces that are stored. */
export interface Pieces {
  parts: Part[];
  /** The names of the parts that are the parent's. */
  inherit: string[];
  /** What some of those look like. */
  like: Part[];
  metadata: Serialized;
  /** Whether it cannot be read without its ancestors. */
  dependsOnParent: boolean;
}

/** A write: the channel's value, and its place among those of the task. */
export interface IndexedWrite {
  index: number;
  part: Part;
  /** In a copy: the id of the checkpoint that was made of it. */
  claimedBy?: string | null;
}

/** With `onlyChild` it is refused unless its parent is the latest of its namespace. */
export function putCheckpoint(
  native: NativeStore,
  { threadId, namespace, id }: Place,
  parent: string | undefined,
  { parts, inherit, like, metadata, dependsOnParent }: Pieces,
  onlyChild = false,
): Promise<null> {
  const call = {
    threadId,
    namespace,
    id,
    parent,
    parts: parts.map(nameOf),
    // A list crosses as JSON: mostly there is nothing in these.
    inherit: inherit.length > 0 ? inherit : undefined,
    like: like.length > 0 ? like.map(nameOf) : undefined,
    metadataTag: metadata.tag,
    savedAt: Date.now(),
    dependsOnParent,
    onlyChild,
  };
  return langgraph.call(native, "put", call, [...parts, ...like, metadata].map(({ bytes }) => bytes));
}

function nameOf({ name, tag }: Part): { name: string; tag: string } {
  return { name, tag };
}

/** With `replace` one in a place that is taken replaces the other; if not, the first one stays. */
export function putWrites(
  native: NativeStore,
  { threadId, namespace, id }: Place,
  task: string,
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
  return langgraph.call(native, "putWrites", { threadId, namespace, id, task, writes: told, replace }, buffers);
}
