import type { Checkpoint, Metadata } from "@langchain/langgraph-checkpoint";
import { upwards } from "./history.js";
import type { CheckpointRef } from "./config.js";
import { load } from "./serde.js";
import type { SaverContext } from "./tuples.js";
import { channelOf } from "./values.js";

/**
 * Whether a checkpoint cannot be read without its ancestors. That is so if a delta channel has no stored value: the value is
 * then rebuilt from the ancestors' writes. Reads `checkpoint` now and looks the parent up later, because the parent may still
 * be on its way into the store.
 */
export function dependsOnParent(
  checkpoint: Checkpoint,
  metadata: Metadata | undefined,
  parent: CheckpointRef | undefined,
): (context: SaverContext) => Promise<boolean> {
  const { channel_values: values = {}, channel_versions: versions = {} } = checkpoint;
  const missing = Object.keys(versions).filter((channel) => values[channel] === undefined);
  if (deltaChannels(metadata).some((channel) => values[channel] === undefined)) return () => Promise.resolve(true);
  if (parent === undefined) return () => Promise.resolve(false);
  // Checkpoints before version 4 read their pending sends from the parent's writes.
  const sends = checkpoint.v < 4;
  // A checkpoint of the graph's loop names its delta channels in its metadata. A checkpoint of an update does not.
  const unsaid = metadata?.["source"] !== "loop" && missing.length > 0;
  return async (context) =>
    (sends && (await hasSends(context, parent))) ||
    (unsaid && (await deltaChannelsFrom(context, parent, missing)).some((channel) => missing.includes(channel)));
}

/** The delta channels that the metadata names: the loop counts their updates. */
function deltaChannels(metadata: Metadata | undefined): string[] {
  return Object.keys((metadata?.["counters_since_delta_snapshot"] as object | undefined) ?? {});
}

/**
 * Finds delta channels among `channels`: by their stored snapshots and by the metadata, up to the nearest ancestor that the
 * loop saved.
 */
async function deltaChannelsFrom(
  context: SaverContext,
  checkpointRef: CheckpointRef,
  channels: string[],
): Promise<string[]> {
  const found: string[] = [];
  for await (const { header, parts } of upwards(context, checkpointRef, channels)) {
    for (const part of parts) {
      if ((await load(context.serde, part)) instanceof context.peer.DeltaSnapshot) found.push(channelOf(part.name)!);
    }
    const said = (await load(context.serde, header.metadata)) as Metadata | undefined;
    found.push(...deltaChannels(said));
    if (found.length > 0 || said?.["source"] === "loop") break;
  }
  return found;
}

async function hasSends(context: SaverContext, parent: CheckpointRef): Promise<boolean> {
  for await (const { writes } of upwards(context, parent, [context.peer.TASKS])) return writes.length > 0;
  return false;
}
