/** Compares imported threads with the database that they came from. */

import { isDeepStrictEqual } from "node:util";
import type { Checkpoint } from "@langchain/langgraph-checkpoint";
import { ForkpointError, quote } from "../../bridge/errors.js";
import { whole } from "../../bridge/bytes.js";
import type { Stored } from "../../bridge/serializer.js";
import type { Part } from "../../bridge/wire.js";
import { dump, load } from "./serde.js";
import type { Source, SourceCheckpoint, SourceThread, SourceWrite } from "./source.js";
import { headers } from "./list.js";
import { type SaverContext, find } from "./tuples.js";
import { decodeCheckpoint } from "./values.js";
import type { FoundWrite } from "./wire.js";

export interface Size {
  checkpoints: number;
  writes: number;
}

/**
 * The result of comparing the stored thread with the thread in the database. `"other"`: the store has data that the
 * database lacks. `"part"`: the store lacks data. A size: both are equal, and this is the thread's size.
 */
export type State = "other" | "part" | Size;

export async function stateOf(context: SaverContext, source: Source, threadId: string): Promise<State> {
  let stored = 0;
  for await (const _ of headers(context, threadId)) stored += 1;
  const size: Size = { checkpoints: 0, writes: 0 };
  let complete = true;
  for await (const page of source.pages([threadId])) {
    for (const part of page) {
      const compared = await compare(context, part);
      if (compared.includes("other")) return "other";
      complete &&= compared.every((one) => one === "same");
      stored -= compared.filter((one) => one !== "missing").length;
      addSize(size, part);
    }
  }
  if (stored > 0) return "other";
  return complete ? size : "part";
}

export function addSize(size: Size, { checkpoints, orphans }: SourceThread): void {
  size.checkpoints += checkpoints.length;
  for (const { writes } of [...checkpoints, ...orphans]) size.writes += writes.length;
}

/** Throws unless the store has every checkpoint and every write of a page's part of a thread unchanged. */
export async function verify(context: SaverContext, part: SourceThread): Promise<void> {
  const compared = await compare(context, part);
  const at = compared.findIndex((one) => one !== "same");
  if (at < 0) return;
  throw new ForkpointError(
    "CORRUPT",
    `checkpoint ${quote(part.checkpoints[at]!.id)} of thread ${quote(part.threadId)} cannot be read back unchanged: this ` +
      "thread was not imported. Please report this",
  );
}

type Compared = "same" | "missing" | "part" | "other";

function compare(context: SaverContext, { threadId, checkpoints }: SourceThread): Promise<Compared[]> {
  return Promise.all(
    checkpoints.map(async (row) => {
      const { namespace, id, parent, metadata, writes } = row;
      const found = await find(context, threadId, namespace, id);
      if (found === null) return "missing";
      const same =
        (found.header.parent ?? "") === (parent ?? "") &&
        (await isSameValue(context, found.header.metadata, metadata, `the metadata of checkpoint ${quote(id)}`)) &&
        ((row.split && areEqual(found.parts, row.parts)) || (await isSame(context, row, found.parts)));
      return same ? compareWrites(found.writes, writes) : "other";
    }),
  );
}

function compareWrites(found: FoundWrite[], wanted: SourceWrite[]): Compared {
  const known = new Map(wanted.map((write) => [slotOf(write), write.part]));
  const held = new Set<string>();
  for (const write of found) {
    const part = known.get(slotOf(write));
    if (part === undefined || part.name !== write.part.name || !isEqual(part, write.part)) return "other";
    held.add(slotOf(write));
  }
  return held.size === wanted.length ? "same" : "part";
}

function areEqual(some: Part[], others: Part[]): boolean {
  if (some.length !== others.length) return false;
  const known = new Map(others.map((part) => [part.name, part]));
  return some.every((part) => {
    const other = known.get(part.name);
    return other !== undefined && isEqual(part, other);
  });
}

/** Compares two checkpoints by their values. The order of the channels does not matter. */
async function isSame(context: SaverContext, row: SourceCheckpoint, parts: Part[]): Promise<boolean> {
  const { serde } = context;
  const what = `checkpoint ${quote(row.id)}`;
  const original: Checkpoint = row.split
    ? await decodeCheckpoint(serde, row.parts, what)
    : await load(serde, row.parts[0]!, what);
  const checkpoints = [original, await decodeCheckpoint(serde, parts, what)];
  const [a, b] = await Promise.all(
    checkpoints.map(({ channel_values: values = {}, ...rest }) => {
      const sorted = Object.entries(values).toSorted(([x], [y]) => (x < y ? -1 : 1));
      return dump(serde, { ...rest, channel_values: Object.fromEntries(sorted) }, what);
    }),
  );
  const areSame = a!.tag === b!.tag && Buffer.compare(whole(a!.bytes), whole(b!.bytes)) === 0;
  return areSame || isDeepStrictEqual(checkpoints[0], checkpoints[1]);
}

/** Compares two values. A serializer that encrypts writes other bytes each time. */
async function isSameValue({ serde }: SaverContext, one: Stored, other: Stored, what: string): Promise<boolean> {
  return isEqual(one, other) || isDeepStrictEqual(await load(serde, one, what), await load(serde, other, what));
}

function isEqual(one: Stored, other: Stored): boolean {
  return one.tag === other.tag && Buffer.compare(one.bytes, other.bytes) === 0;
}

function slotOf({ task, index }: { task: string; index: number }): string {
  return `${index},${task}`;
}
