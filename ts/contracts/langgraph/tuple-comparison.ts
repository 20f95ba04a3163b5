/** Compares a checkpoint of this store with the checkpoint that another saver returns. */

import { isDeepStrictEqual } from "node:util";
import type { CheckpointTuple, PendingWrite, SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { quote } from "../../bridge/errors.js";
import { whole } from "../../bridge/bytes.js";
import { dump } from "./serde.js";

/** The writes of a task: one value for each of LangGraph's own channels, and the other writes in order. */
export interface TaskWrites {
  special: Map<string, unknown>;
  regular: PendingWrite[];
}

/** How another saver's checkpoint differs. */
export interface TupleDifference {
  /** The first value that the other saver returns differently, for a message. Undefined: none. */
  changed: string | undefined;
  /** The tasks with writes that the other saver lacks. */
  lacks: Map<string, TaskWrites>;
  /** True if the other saver has more writes than this store. */
  more: boolean;
}

type IsSpecial = (channel: string) => boolean;

export async function compareTuples(
  serde: SerializerProtocol,
  isSpecial: IsSpecial,
  ours: CheckpointTuple,
  theirs: CheckpointTuple,
): Promise<TupleDifference> {
  const changed = await changedIn(serde, ours, theirs);
  const lacks: TupleDifference["lacks"] = new Map();
  const difference: TupleDifference = { changed, lacks, more: false };
  const [held, wanted] = [byTask(isSpecial, theirs), byTask(isSpecial, ours)];
  for (const [task, { special, regular }] of wanted) {
    const other: TaskWrites = held.get(task) ?? { special: new Map(), regular: [] };
    const missing: TaskWrites = { special: new Map(), regular: [] };
    for (const [channel, value] of special) {
      if (!other.special.has(channel)) missing.special.set(channel, value);
      else if (!(await areSame(serde, value, other.special.get(channel)))) difference.changed ??= writeTo(channel);
    }
    for (const [at, [channel, value]] of regular.entries()) {
      const write = other.regular[at];
      if (write === undefined) missing.regular = regular;
      else if (write[0] !== channel || !(await areSame(serde, value, write[1])))
        difference.changed ??= writeTo(channel);
    }
    if (missing.special.size > 0 || missing.regular.length > 0) lacks.set(task, missing);
    difference.more ||=
      other.regular.length > regular.length || [...other.special.keys()].some((one) => !special.has(one));
  }
  difference.more ||= [...held.keys()].some((task) => !wanted.has(task));
  return difference;
}

const writeTo = (channel: string): string => `a write to channel ${quote(channel)}`;

export function byTask(isSpecial: IsSpecial, { pendingWrites = [] }: CheckpointTuple): Map<string, TaskWrites> {
  const tasks = new Map<string, TaskWrites>();
  for (const [task, channel, value] of pendingWrites) {
    const writes: TaskWrites = tasks.get(task) ?? { special: new Map(), regular: [] };
    tasks.set(task, writes);
    if (isSpecial(channel)) writes.special.set(channel, value);
    else writes.regular.push([channel, value]);
  }
  return tasks;
}

/** Names the first part of a checkpoint that differs. Writes are not compared. */
async function changedIn(
  serde: SerializerProtocol,
  ours: CheckpointTuple,
  theirs: CheckpointTuple,
): Promise<string | undefined> {
  if (parentOf(ours) !== parentOf(theirs)) return "the parent";
  if (!(await areSame(serde, ours.metadata, theirs.metadata))) return "the metadata";
  const [{ channel_values: values = {}, ...rest }, { channel_values: others = {}, ...otherRest }] = [
    ours.checkpoint,
    theirs.checkpoint,
  ];
  for (const channel of new Set([...Object.keys(values), ...Object.keys(others)])) {
    if (!(await areSame(serde, values[channel], others[channel]))) return `channel ${quote(channel)}`;
  }
  for (const [field, value] of Object.entries(rest)) {
    if (!(await areSame(serde, value, otherRest[field as keyof typeof rest]))) return `the field ${quote(field)}`;
  }
  return undefined;
}

function parentOf({ parentConfig }: CheckpointTuple): unknown {
  return parentConfig?.configurable?.["checkpoint_id"] || undefined;
}

/**
 * Compares two values. Two objects of a class may differ in fields that the serializer leaves out, and a database may
 * change the order of keys.
 */
async function areSame(serde: SerializerProtocol, one: unknown, other: unknown): Promise<boolean> {
  if (isDeepStrictEqual(one, other)) return true;
  try {
    const [a, b] = await Promise.all([dump(serde, one, "a value"), dump(serde, other, "a value")]);
    if (a.tag !== b.tag) return false;
    const [x, y] = [Buffer.from(whole(a.bytes)), Buffer.from(whole(b.bytes))];
    return x.equals(y) || (a.tag === "json" && isDeepStrictEqual(JSON.parse(x.toString()), JSON.parse(y.toString())));
  } catch {
    // This store could not hold the other value.
    return false;
  }
}
