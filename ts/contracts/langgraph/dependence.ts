/** Decides whether a checkpoint can be read without its ancestors. */

import type { Checkpoint, Metadata } from "@langchain/langgraph-checkpoint";
import { quote } from "../../bridge/errors.js";
import { upwards } from "./history.js";
import type { CheckpointRef } from "./config.js";
import { load } from "./serde.js";
import type { MaybePromise } from "../../bridge/maybe-promise.js";
import { metadataOf } from "./list-checkpoints.js";
import { type SaverContext } from "./tuples.js";
import { channelOf } from "./values.js";
import type { Header } from "./wire.js";
import type { Part } from "../../bridge/wire.js";

/** Yields a checkpoint and its ancestors, as {@link upwards} does. An import adds those that are not stored yet. */
export type Walk = (
  context: SaverContext,
  checkpointRef: CheckpointRef,
  channels: string[],
) => AsyncGenerator<{ header: Pick<Header, "id" | "metadata">; parts: Part[]; writes: unknown[] }>;

/**
 * Returns true if reading a checkpoint needs its ancestors: a delta channel without a stored value is rebuilt from the
 * ancestors' writes. Reads `checkpoint` immediately. Looks up the parent later, because it may not be stored yet.
 */
export function dependsOnParent(
  checkpoint: Checkpoint,
  metadata: Metadata | undefined,
  parent: CheckpointRef | undefined,
): (context: SaverContext, walk?: Walk) => MaybePromise<boolean> {
  const { channel_values: values = {}, channel_versions: versions = {} } = checkpoint;
  const missing = Object.keys(versions).filter((channel) => values[channel] === undefined);
  // The first checkpoint of a thread may have empty delta channels.
  if (parent === undefined) return () => false;
  if (deltaChannels(metadata).some((channel) => values[channel] === undefined)) return () => true;
  // Checkpoints before version 4 read their pending sends from the parent's writes.
  const sends = checkpoint.v < 4;
  // A checkpoint of the graph's loop names its delta channels in its metadata. A checkpoint of an update names none.
  const unsaid = metadata?.["source"] !== "loop" && missing.length > 0;
  if (!sends && !unsaid) return () => false;
  return async (context, walk = upwards) =>
    (sends && (await hasSends(context, walk, parent))) ||
    (unsaid && (await deltaChannelsFrom(context, walk, parent, missing)).some((channel) => missing.includes(channel)));
}

/** LangGraph's loop counts the updates of each delta channel in the metadata. */
function deltaChannels(metadata: Metadata | null | undefined): string[] {
  return Object.keys((metadata?.["counters_since_delta_snapshot"] as object | undefined) ?? {});
}

/**
 * Finds the delta channels among `channels`. Reads the stored snapshots and the metadata of the ancestors, up to the
 * nearest ancestor that LangGraph's loop saved.
 */
async function deltaChannelsFrom(
  context: SaverContext,
  walk: Walk,
  checkpointRef: CheckpointRef,
  channels: string[],
): Promise<string[]> {
  const found: string[] = [];
  for await (const { header, parts } of walk(context, checkpointRef, channels)) {
    for (const part of parts) {
      const channel = channelOf(part.name)!;
      const value: unknown = await load(
        context.serde,
        part,
        `channel ${quote(channel)} of checkpoint ${quote(header.id)}`,
      );
      if (value instanceof context.peer.DeltaSnapshot) found.push(channel);
    }
    const said = await metadataOf(context.serde, header);
    found.push(...deltaChannels(said));
    if (found.length > 0 || said?.["source"] === "loop") break;
  }
  return found;
}

async function hasSends(context: SaverContext, walk: Walk, parent: CheckpointRef): Promise<boolean> {
  for await (const { writes } of walk(context, parent, [context.peer.TASKS])) return writes.length > 0;
  return false;
}
