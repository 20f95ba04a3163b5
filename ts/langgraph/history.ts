import type { Config, DeltaChannelHistory } from "@langchain/langgraph-checkpoint";
import { type FoundTuple, type FoundWrite, type ListedTuple, call } from "../native.js";
import { asked, askedId } from "./place.js";
import { type Reader, find } from "./tuples.js";
import { channelOf, loadPart } from "./values.js";

type History = Record<string, DeltaChannelHistory>;

/** How many ancestors are read at a time. */
const PAGE = 500;

/**
 * What a checkpoint was made from, its parent first, until a value of each of the channels has been found. Of each ancestor
 * only these channels are there.
 */
export async function* ancestors(
  { native }: Pick<Reader, "native">,
  [thread, namespace, child]: ListedTuple,
  channels: string[],
): AsyncGenerator<FoundTuple> {
  const wanted = new Set(channels);
  // A checkpoint may have been put again as a child of its own: then there is no end.
  const seen = new Set([child]);
  for (let id = child; wanted.size > 0; ) {
    const [from, names] = [id, [...wanted]];
    const page = await call<FoundTuple[]>(native, (ticket) =>
      native.langgraphAncestors(ticket, thread, namespace, from, names, PAGE),
    );
    for (const ancestor of page) {
      [, , id] = ancestor[0];
      if (seen.has(id)) return;
      seen.add(id);
      for (const [name] of ancestor[1]) wanted.delete(channelOf(name)!);
      yield ancestor;
    }
    if (page.length < PAGE) return;
  }
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
  let child = tip?.[0][2];
  for await (const [header, parts, all] of tip === null ? [] : ancestors(reader, tip[0], channels)) {
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
