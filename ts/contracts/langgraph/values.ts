/** Turns checkpoints into parts and back: a part for each channel, and one for the rest. */

import type { Checkpoint, ChannelVersions, SerializerProtocol } from "@langchain/langgraph-checkpoint";
import type { Held } from "../../store/backlog.js";
import { ForkpointError, quote, readingArgument, show, typeError } from "../../bridge/errors.js";
import { requireId } from "../../store/ids.js";
import type { NewPart, Part } from "../../bridge/wire.js";
import { atOneMoment } from "../../bridge/incremental/lists.js";
import { dump, load } from "./serde.js";
import { type MaybePromise, all, both, when } from "../../bridge/maybe-promise.js";
import type { Pieces } from "./writing.js";

/** Names the part of a channel's value at a version. Throws if the part could not be found under its name. */
function partName(channel: string, version: unknown): string {
  const name = requireId(channel, "the name of a channel");
  if (typeof version === "number") return `${name}\0${version}`;
  const what = `the version of channel ${quote(channel)}`;
  if (typeof version !== "string") throw typeError(`${what} must be a number or a string, but is ${show(version)}`);
  if (version.includes("\0")) throw new ForkpointError("INVALID_ARGUMENT", `${what} contains a NUL character`);
  return `${name}\0${requireId(version, what)}`;
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
export function encodeCheckpoint(
  serde: SerializerProtocol,
  checkpoint: Checkpoint,
  newVersions: ChannelVersions,
  held?: Held,
): MaybePromise<Pick<Pieces, "parts" | "inherit" | "like">> {
  const { rest, changed, unchanged, isCopy } = readingArgument("checkpoint", () => split(checkpoint, newVersions));
  const part = (name: string, value: unknown, what: string) =>
    when(dump(serde, value, what, held), ({ tag, bytes }): NewPart => ({ name, tag, bytes }));
  // Start all serializations before the first await, because the graph continues during an await and may change the
  // values.
  const channelPart = ({ name, channel, value }: ChannelValue) => part(name, value, `channel ${quote(channel)}`);
  const [parts, like] = atOneMoment(() => [
    [part("", rest, "the checkpoint"), ...changed.map(channelPart)],
    // A checkpoint without new versions may be a copy. Its parent may then hold other values, so `like` carries the
    // expected values.
    isCopy ? unchanged.map(channelPart) : [],
  ]);
  const inherit = unchanged.map(({ name }) => name);
  return when(both(all(parts), all(like)), ([dumped, looks]) => {
    return { parts: byName(dumped), inherit, like: looks };
  });
}

/**
 * Completes the parts of a checkpoint whose parent no longer exists, so that it inherits nothing. Values that were
 * already serialized are not read again, because the caller may have changed them.
 */
export async function completeCheckpoint(
  serde: SerializerProtocol,
  checkpoint: Checkpoint,
  newVersions: ChannelVersions,
  { parts, like }: Pick<Pieces, "parts" | "like">,
  held?: Held,
): Promise<Pick<Pieces, "parts" | "inherit" | "like">> {
  const known = [...parts, ...like];
  const names = new Set(known.map(({ name }) => name));
  const { unchanged } = readingArgument("checkpoint", () => split(checkpoint, newVersions));
  const missing = unchanged.filter(({ name }) => !names.has(name));
  const dumped = missing.map(async ({ name, channel, value }): Promise<NewPart> => {
    const { tag, bytes } = await dump(serde, value, `channel ${quote(channel)}`, held);
    return { name, tag, bytes };
  });
  return { parts: byName([...known, ...(await Promise.all(dumped))]), inherit: [], like: [] };
}

const byName = (parts: NewPart[]): NewPart[] => parts.toSorted((a, b) => (a.name < b.name ? -1 : 1));

interface ChannelValue {
  name: string;
  channel: string;
  value: unknown;
}

/**
 * Reads every field of a checkpoint once. `changed` are the channels with new versions. In `rest` the id is null,
 * because the row has it. This keeps the order of the keys.
 */
function split(checkpoint: Checkpoint, newVersions: ChannelVersions) {
  const { channel_values: values = {}, ...rest }: Omit<Checkpoint, "id"> & { id: string | null } = checkpoint;
  if (Object.hasOwn(rest, "id")) rest.id = null;
  const versions = rest.channel_versions ?? {};
  const [changed, unchanged]: [ChannelValue[], ChannelValue[]] = [[], []];
  for (const [channel, value] of Object.entries(values)) {
    if (value === undefined) continue;
    if (Object.hasOwn(newVersions, channel)) {
      changed.push({ name: partName(channel, newVersions[channel]), channel, value });
    } else if (Object.hasOwn(versions, channel)) {
      unchanged.push({ name: partName(channel, versions[channel]), channel, value });
    }
  }
  return { rest, changed, unchanged, isCopy: Object.keys(newVersions).length === 0 };
}

/** Puts the parts of the checkpoint with this id together. */
export function decodeCheckpoint(
  serde: SerializerProtocol,
  parts: Part[],
  id: string,
  what: string,
): MaybePromise<Checkpoint> {
  const loaded = parts.map((part): MaybePromise<[channel: string | undefined, value: unknown]> => {
    const channel = channelOf(part.name);
    const value = load(serde, part, channel === undefined ? what : `channel ${quote(channel)} of ${what}`);
    return when(value, (value) => [channel, value]);
  });
  return when(all(loaded), (values) => {
    const rest = values.find(([channel]) => channel === undefined);
    if (rest === undefined)
      throw new ForkpointError("CORRUPT", `${what} has no part that holds the checkpoint itself: restore a backup`);
    const channels = values.filter(([channel]) => channel !== undefined) as Array<[string, unknown]>;
    return { ...(rest[1] as Checkpoint), id, channel_values: Object.fromEntries(channels) };
  });
}
