import type { Checkpoint, ChannelVersions, SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { ForkpointError } from "../errors.js";
import type { Part } from "../native.js";

/** A value as the saver's serializer wrote it. */
export type Typed = [tag: string, bytes: Uint8Array];

/** Serialises a value; `what` names it in messages. */
export async function dump(serde: SerializerProtocol, value: unknown, what: string): Promise<Typed> {
  const [tag, bytes] = await serde.dumpsTyped(value);
  // What LangGraph's serializer writes in place of a value that it cannot hold: a BigInt somewhere in it, for one.
  if (typeof value !== "string" && tag === "json" && Buffer.from(bytes.subarray(0, 24)).toString() === '"[unable to serialize, c') {
    throw new ForkpointError(
      "INVALID_ARGUMENT",
      `${what} cannot be stored: the serializer cannot hold a value in it (a BigInt, for one). Replace it by data that JSON ` +
        "has, or pass a serde of your own",
    );
  }
  return [tag, bytes];
}

/** The name of the part that holds a channel's value at that version. */
export function partName(channel: string, version: number | string): string {
  return `${channel}\0${version}`;
}

/** The channel of a part; undefined for the one that holds the rest of the checkpoint. */
export function channelOf(name: string): string | undefined {
  const end = name.lastIndexOf("\0");
  return end < 0 ? undefined : name.slice(0, end);
}

/** A checkpoint in parts: what changed and the rest as bytes, what did not by its name. */
export async function takeApart(
  serde: SerializerProtocol,
  checkpoint: Checkpoint,
  newVersions: ChannelVersions,
): Promise<{ parts: Part[]; inherit: string[] }> {
  const { channel_values: values = {}, ...rest } = checkpoint;
  const inherit: string[] = [];
  // All of them are serialised before the first is waited for: the graph goes on meanwhile.
  const parts = [dump(serde, rest, "the checkpoint").then(([tag, bytes]): Part => ["", tag, bytes])];
  for (const [channel, value] of Object.entries(values)) {
    if (value === undefined) continue;
    if (Object.hasOwn(newVersions, channel)) {
      const name = partName(channel, newVersions[channel]!);
      parts.push(dump(serde, value, `channel ${JSON.stringify(channel)}`).then(([tag, bytes]): Part => [name, tag, bytes]));
    } else if (Object.hasOwn(rest.channel_versions ?? {}, channel)) {
      inherit.push(partName(channel, rest.channel_versions[channel]!));
    }
  }
  const dumped = await Promise.all(parts);
  return { parts: dumped.toSorted(([a], [b]) => (a < b ? -1 : 1)), inherit };
}

/** A checkpoint from its parts. */
export async function putTogether(serde: SerializerProtocol, parts: Part[], what: string): Promise<Checkpoint> {
  let checkpoint: Checkpoint | undefined;
  const values: Array<[string, unknown]> = [];
  for (const [name, tag, bytes] of parts) {
    const value: unknown = await serde.loadsTyped(tag, bytes);
    const channel = channelOf(name);
    if (channel === undefined) checkpoint = value as Checkpoint;
    else values.push([channel, value]);
  }
  if (checkpoint === undefined) throw new ForkpointError("CORRUPT", `${what} has other parts than a checkpoint`);
  return { ...checkpoint, channel_values: Object.fromEntries(values) };
}
