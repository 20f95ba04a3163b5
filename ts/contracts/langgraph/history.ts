/** Reads the ancestors of a checkpoint, for channels that are stored as deltas. */

import type { Config, DeltaChannelHistory } from "@langchain/langgraph-checkpoint";
import { quote } from "../../bridge/errors.js";
import { type CheckpointRef, nameInConfig, idInConfig } from "./config.js";
import { type SaverContext, find, inOrder, refOf, writeTo } from "./tuples.js";
import { load } from "./serde.js";
import { channelOf } from "./values.js";
import { type Found, type FoundWrite, each, langgraph, openFound } from "./wire.js";

type History = Record<string, DeltaChannelHistory>;

const PAGE = 500;

/**
 * Yields a checkpoint and then its ancestors, until a value of each channel has been found. Each yielded checkpoint
 * contains only the values of these channels.
 */
export async function* upwards(
  { native }: Pick<SaverContext, "native">,
  { threadId, namespace, id }: CheckpointRef,
  channels: string[],
): AsyncGenerator<Found> {
  // A stored channel name contains no lone surrogate.
  const wanted = new Set(channels.filter((channel) => channel.isWellFormed()));
  // A checkpoint may have been put again as a child of itself. Without this check, the walk would not end.
  const seen = new Set<string>();
  let next: string | null | undefined = id;
  while (next && wanted.size > 0) {
    const call = { checkpoint: { threadId, namespace, id: next }, channels: [...wanted], limit: PAGE };
    const page: Found[] = await langgraph.find(native, "ancestors", call, each(openFound));
    for (const found of page) {
      const { header, parts } = found;
      if (seen.has(header.id)) return;
      seen.add(header.id);
      for (const { name } of parts) wanted.delete(channelOf(name)!);
      yield found;
      next = header.parent;
    }
    if (page.length < PAGE) return;
  }
}

/** Reads only the writes of this branch's checkpoints (langgraphjs#2737). */
export async function deltaHistory(context: SaverContext, config: Config, channels: string[]): Promise<History> {
  const open = new Set(channels);
  const writes = new Map(channels.map((channel) => [channel, [] as Array<[string, string, unknown]>]));
  const seeds = new Map<string, unknown>();
  const threadId = nameInConfig(config, "thread_id");
  const tip =
    threadId === undefined
      ? null
      : await find(context, threadId, nameInConfig(config, "checkpoint_ns") ?? "", idInConfig(config));
  let child = tip?.header;
  const above = child?.parent ? upwards(context, { ...refOf(child), id: child.parent }, channels) : [];
  for await (const { header, parts, writes: all } of above) {
    const what = `checkpoint ${quote(header.id)}`;
    for (const { task, part } of ofChild(all, child!.id).toReversed()) {
      const channel = part.name;
      if (!open.has(channel)) continue;
      writes.get(channel)!.push([task, channel, await load(context.serde, part, writeTo(channel, what))]);
    }
    for (const part of parts) {
      const channel = channelOf(part.name)!;
      if (open.delete(channel))
        seeds.set(channel, await load(context.serde, part, `channel ${quote(channel)} of ${what}`));
    }
    child = header;
  }
  return Object.fromEntries(
    channels.map((channel) => {
      const history: DeltaChannelHistory = { writes: writes.get(channel)!.toReversed() };
      return [channel, seeds.has(channel) ? { ...history, seed: seeds.get(channel) } : history];
    }),
  );
}

/**
 * Returns the writes that a child was made from, in the order in which LangGraph applied them: those that the child
 * claimed, and those that no checkpoint claimed.
 */
function ofChild(writes: FoundWrite[], child: string): FoundWrite[] {
  const slots = new Map<string, FoundWrite>();
  for (const write of writes) {
    const { task, index, claimedBy } = write;
    if (claimedBy ? claimedBy === child : !slots.has(`${index},${task}`)) slots.set(`${index},${task}`, write);
  }
  return inOrder([...slots.values()]);
}
