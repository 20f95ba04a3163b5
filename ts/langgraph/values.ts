import type { Checkpoint, ChannelVersions, SerializerProtocol } from "@langchain/langgraph-checkpoint";
import type { Held } from "../backlog.js";
import { ForkpointError } from "../errors.js";
import type { Part } from "../wire.js";
import { dump, load } from "./serde.js";
import type { Pieces } from "./writing.js";

/** Names the part that holds a channel's value at a version. */
export function partName(channel: string, version: number | string): string {
  return `${channel}\0${version}`;
}

/** Returns the channel of a part. Returns undefined for the part that holds the rest of the checkpoint. */
export function channelOf(name: string): string | undefined {
  const end = name.lastIndexOf("\0");
  return end < 0 ? undefined : name.slice(0, end);
}

/**
 * Splits a checkpoint into parts. Changed channels and the rest become bytes; unchanged channels are named in
 * `inherit`. `held` counts the bytes.
 */
export async function encodeCheckpoint(
  serde: SerializerProtocol,
  checkpoint: Checkpoint,
  newVersions: ChannelVersions,
  held?: Held,
): Promise<Pick<Pieces, "parts" | "inherit" | "like">> {
  const { channel_values: values = {}, ...rest } = checkpoint;
  const versions = rest.channel_versions ?? {};
  const part = (name: string, value: unknown, what: string) =>
    dump(serde, value, what, held).then(({ tag, bytes }): Part => ({ name, tag, bytes }));
  // Start all serialisations before awaiting the first one, because the graph continues during an await and may change
  // the values.
  const parts = [part("", rest, "the checkpoint")];
  const inherit: string[] = [];
  const like: Array<Promise<Part>> = [];
  // A checkpoint without new versions may be a copy of another checkpoint. Its parent may then hold other values, so
  // `like` carries the values that the checkpoint expects.
  const copy = Object.keys(newVersions).length === 0;
  for (const [channel, value] of Object.entries(values)) {
    if (value === undefined) continue;
    const what = `channel ${JSON.stringify(channel)}`;
    if (Object.hasOwn(newVersions, channel)) {
      parts.push(part(partName(channel, newVersions[channel]!), value, what));
    } else if (Object.hasOwn(versions, channel)) {
      const name = partName(channel, versions[channel]!);
      inherit.push(name);
      if (copy) like.push(part(name, value, what));
    }
  }
  const [dumped, looks] = await Promise.all([Promise.all(parts), Promise.all(like)]);
  return { parts: dumped.toSorted((a, b) => (a.name < b.name ? -1 : 1)), inherit, like: looks };
}

/** Joins a checkpoint from its parts. */
export async function decodeCheckpoint(serde: SerializerProtocol, parts: Part[], what: string): Promise<Checkpoint> {
  let checkpoint: Checkpoint | undefined;
  const values: Array<[string, unknown]> = [];
  for (const part of parts) {
    const value = await load(serde, part);
    const channel = channelOf(part.name);
    if (channel === undefined) checkpoint = value as Checkpoint;
    else values.push([channel, value]);
  }
  if (checkpoint === undefined)
    throw new ForkpointError("CORRUPT", `${what} has no part that holds the checkpoint itself: restore a backup`);
  return { ...checkpoint, channel_values: Object.fromEntries(values) };
}
