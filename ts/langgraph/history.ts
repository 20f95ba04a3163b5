import type { Config, DeltaChannelHistory } from "@langchain/langgraph-checkpoint";
import type { FoundWrite } from "../native.js";
import { asked, askedId } from "./place.js";
import { type Reader, find, placeOf } from "./tuples.js";
import { channelOf, loadPart } from "./values.js";

type History = Record<string, DeltaChannelHistory>;

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
  let child =
    threadId === undefined || channels.length === 0
      ? null
      : await find(reader, threadId, asked(config, "checkpoint_ns") ?? "", askedId(config));
  while (child !== null && open.size > 0) {
    const [, , id, parent] = child[0];
    const { threadId: thread, namespace } = placeOf(child[0]);
    const ancestor = parent ? await find(reader, thread, namespace, parent) : null;
    if (ancestor === null) break;
    const [, parts, all] = ancestor;
    for (const [task, , , part] of ofChild(all, id).toReversed()) {
      const [channel] = part;
      if (open.has(channel)) writes.get(channel)!.push([task, channel, await loadPart(reader.serde, part)]);
    }
    for (const part of parts) {
      const channel = channelOf(part[0]);
      if (channel === undefined || !open.delete(channel)) continue;
      seeds.set(channel, await loadPart(reader.serde, part));
    }
    child = ancestor;
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
