import { type NativeStore, call } from "../native.js";
import type { Part } from "../parcel.js";
import type { Place } from "./place.js";
import type { Typed } from "./serde.js";

/** A checkpoint in the pieces that are stored. */
export interface Pieces {
  parts: Part[];
  /** The names of the parts that are the parent's. */
  inherit: string[];
  /** What some of those look like. */
  like: Part[];
  metadata: Typed;
  /** Whether it cannot be read without its ancestors. */
  difference: boolean;
}

/** A write: the channel's value, and its place among those of the task. */
export type IndexedWrite = [index: number, part: Part];

/** With `only` it is refused unless its parent is the latest of its namespace. */
export function putCheckpoint(
  native: NativeStore,
  { threadId, namespace, id }: Place,
  parent: string | undefined,
  { parts, inherit, like, metadata: [tag, bytes], difference }: Pieces,
  only = false,
): Promise<null> {
  const all = [...parts, ...like];
  return call<null>(native, (ticket) =>
    native.langgraphPut(
      ticket,
      threadId,
      namespace,
      id,
      parent,
      all.map(([name]) => name),
      all.map(([, tag]) => tag),
      all.map(([, , bytes]) => bytes),
      inherit,
      parts.length,
      tag,
      bytes,
      Date.now(),
      difference,
      only,
    ),
  );
}

/** With `replace` one in a place that is taken replaces the other; if not, the first one stays. A copy has `owners`. */
export function putWrites(
  native: NativeStore,
  { threadId, namespace, id }: Place,
  task: string,
  writes: IndexedWrite[],
  replace: boolean,
  owners?: string[],
): Promise<null> {
  return call<null>(native, (ticket) =>
    native.langgraphPutWrites(
      ticket,
      threadId,
      namespace,
      id,
      task,
      writes.map(([index]) => index),
      writes.map(([, [channel]]) => channel),
      writes.map(([, [, tag]]) => tag),
      writes.map(([, [, , bytes]]) => bytes),
      replace,
      owners,
    ),
  );
}
