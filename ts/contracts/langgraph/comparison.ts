/** Compares imported checkpoints with those of the source. */

import { isDeepStrictEqual } from "node:util";
import type { Checkpoint } from "@langchain/langgraph-checkpoint";
import { quote } from "../../bridge/errors.js";
import { whole } from "../../bridge/bytes.js";
import type { Stored } from "../../bridge/serializer.js";
import type { Part } from "../../bridge/wire.js";
import { slotOf } from "./outline.js";
import { dump, load } from "./serde.js";
import type { SourceCheckpoint, SourceWrite } from "./import-source.js";
import { type SaverContext, current, find } from "./tuples.js";
import { decodeCheckpoint } from "./values.js";
import type { FoundWrite } from "./wire.js";

/** The difference between a stored checkpoint and the source's checkpoint with the same id. */
export interface Difference {
  /** The stored writes, as a read returns them. */
  stored: FoundWrite[];
  /** True if the checkpoint itself differs. */
  other: boolean;
  /** The writes of the source that are not stored. */
  lacks: SourceWrite[];
  /** The writes of the source whose slots have another stored write. */
  changed: SourceWrite[];
  /** True if writes are stored that the source does not have. */
  more: boolean;
}

/** Compares a checkpoint of the source with the stored one. Returns undefined if none is stored. */
export async function compare(
  context: SaverContext,
  threadId: string,
  row: SourceCheckpoint,
): Promise<Difference | undefined> {
  const { namespace, id, parent, metadata, writes } = row;
  const found = await find(context, threadId, namespace, id);
  if (found === null) return undefined;
  const same =
    (found.header.parent ?? "") === (parent ?? "") &&
    (await isSameValue(context, found.header.metadata, metadata, `the metadata of checkpoint ${quote(id)}`)) &&
    ((row.split && areEqual(found.parts, row.parts)) || (await isSame(context, row, found.parts)));
  const stored = current(found.writes);
  const difference = { stored, other: !same, ...compareWrites(stored, writes) };
  if (difference.changed.length === 0) return difference;
  const held = new Map(stored.map((write) => [slotOf(write), write.part]));
  const areSame = await Promise.all(
    difference.changed.map(async (write) => {
      const part = held.get(slotOf(write))!;
      const what = `a write to channel ${quote(part.name)} of checkpoint ${quote(id)}`;
      return part.name === write.part.name && (await isSameValue(context, part, write.part, what));
    }),
  );
  return { ...difference, changed: difference.changed.filter((_, at) => !areSame[at]) };
}

/** True if the checkpoint and all of its writes are stored. More writes may be stored. */
export function hasAll({ other, lacks, changed }: Difference): boolean {
  return !other && lacks.length === 0 && changed.length === 0;
}

/** Compares stored writes with those of the source. */
export function compareWrites(
  stored: FoundWrite[],
  wanted: SourceWrite[],
): Pick<Difference, "lacks" | "changed" | "more"> {
  const held = new Map(stored.map((write) => [slotOf(write), write.part]));
  const lacks = wanted.filter((write) => !held.has(slotOf(write)));
  const changed = wanted.filter((write) => {
    const part = held.get(slotOf(write));
    return part !== undefined && !(part.name === write.part.name && isEqual(part, write.part));
  });
  return { lacks, changed, more: held.size > wanted.length - lacks.length };
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
    ? await decodeCheckpoint(serde, row.parts, row.id, what)
    : { ...((await load(serde, row.parts[0]!, what)) as Checkpoint), id: row.id };
  const checkpoints = [original, await decodeCheckpoint(serde, parts, row.id, what)];
  const [a, b] = await Promise.all(
    checkpoints.map(({ channel_values: values = {}, ...rest }) => {
      const sorted = Object.entries(values).toSorted(([x], [y]) => (x < y ? -1 : 1));
      return dump(serde, { ...rest, channel_values: Object.fromEntries(sorted) }, what);
    }),
  );
  const areSame = a!.tag === b!.tag && Buffer.compare(whole(a!.bytes), whole(b!.bytes)) === 0;
  return areSame || isDeepStrictEqual(checkpoints[0], checkpoints[1]);
}

/** Compares two serialized values. A serializer that encrypts writes different bytes each time. */
async function isSameValue({ serde }: SaverContext, one: Stored, other: Stored, what: string): Promise<boolean> {
  return isEqual(one, other) || isDeepStrictEqual(await load(serde, one, what), await load(serde, other, what));
}

function isEqual(one: Stored, other: Stored): boolean {
  return one.tag === other.tag && Buffer.compare(one.bytes, other.bytes) === 0;
}
