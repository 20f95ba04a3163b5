import type { Config, DeltaChannelHistory } from "@langchain/langgraph-checkpoint";
import type { NativeStore } from "../native.js";
import { type FoundTuple, type FoundWrite, fetchTuples } from "../parcel.js";
import { type Place, asked, askedId } from "./place.js";
import { type Reader, find, placeOf } from "./tuples.js";
import { loadPart } from "./serde.js";
import { channelOf } from "./values.js";

type History = Record<string, DeltaChannelHistory>;

/** How many ancestors are read at a time. */
const PAGE = 500;

/**
 * A checkpoint and its ancestors, itself first, until a value of each of the channels has been found. Of each only these
 * channels are there.
 */
export async function* upwards(
  { native }: Pick<Reader, "native">,
  { threadId, namespace, id }: Place,
  channels: string[],
): AsyncGenerator<FoundTuple> {
  const wanted = new Set(channels);
  // A checkpoint may have been put again as a child of its own: then there is no end.
  const seen = new Set<string>();
  let next: string | null | undefined = id;
  while (next && wanted.size > 0) {
    const page: FoundTuple[] = await pageOf(native, { threadId, namespace, id: next }, [...wanted]);
    for (const found of page) {
      const [, , each, parent] = found[0];
      if (seen.has(each)) return;
      seen.add(each);
      for (const [name] of found[1]) wanted.delete(channelOf(name)!);
      yield found;
      next = parent;
    }
    if (page.length < PAGE) return;
  }
}

function pageOf(native: NativeStore, { threadId, namespace, id }: Place, channels: string[]): Promise<FoundTuple[]> {
  return fetchTuples(native, (ticket) => native.langgraphAncestors(ticket, threadId, namespace, id, channels, PAGE));
}

/**
 * What the ancestors of a checkpoint contributed to channels that keep only differences: the writes on the way, oldest first,
 * and the value that they begin with. A write counts for the child that was made of it: one that belongs to another branch does not
 * (langgraphjs#2737).
 */
export async function deltaHistory(reader: Reader, config: Config, channels: string[]): Promise<History> {
  const open = new Set(channels);
  const writes = new Map(channels.map((channel) => [channel, [] as Array<[string, string, unknown]>]));
  const seeds = new Map<string, unknown>();
  const threadId = asked(config, "thread_id");
  const tip =
    threadId === undefined ? null : await find(reader, threadId, asked(config, "checkpoint_ns") ?? "", askedId(config));
  const [, , , parent] = tip?.[0] ?? [];
  let child = tip?.[0][2];
  const above = parent ? upwards(reader, { ...placeOf(tip![0]), id: parent }, channels) : [];
  for await (const [header, parts, all] of above) {
    for (const [task, , , part] of ofChild(all, child!).toReversed()) {
      const [channel] = part;
      if (open.has(channel)) writes.get(channel)!.push([task, channel, await loadPart(reader.serde, part)]);
    }
    for (const part of parts) {
      const channel = channelOf(part[0])!;
      if (open.delete(channel)) seeds.set(channel, await loadPart(reader.serde, part));
    }
    [, , child] = header;
  }
  return Object.fromEntries(
    channels.map((channel) => {
      const history: DeltaChannelHistory = { writes: writes.get(channel)!.toReversed() };
      return [channel, seeds.has(channel) ? { ...history, seed: seeds.get(channel) } : history];
    }),
  );
}

/** What a child was made of, by task and index: its own writes, and those that nobody owns. */
function ofChild(writes: FoundWrite[], child: string): FoundWrite[] {
  const places = new Map<string, FoundWrite>();
  for (const write of writes) {
    const [task, index, owner] = write;
    if (owner ? owner === child : !places.has(`${index},${task}`)) places.set(`${index},${task}`, write);
  }
  return [...places.values()].toSorted((a, b) => (a[0] === b[0] ? a[1] - b[1] : a[0] < b[0] ? -1 : 1));
}
