/** Reads checkpoints as LangGraph's tuples. */

import type {
  BaseCheckpointSaver,
  Checkpoint,
  CheckpointTuple,
  Metadata,
  SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import { quote } from "../../bridge/errors.js";
import { idOrNull } from "../../store/ids.js";
import type { NativeStore } from "../../bridge/native.js";
import { isRecord } from "./answer-records.js";
import { type CheckpointRef, configOf } from "./config.js";
import { load } from "./serde.js";
import { type MaybePromise, all, both, when } from "../../bridge/maybe-promise.js";
import { decodeCheckpoint } from "./values.js";
import { type Found, type FoundWrite, type Header, langgraph, openFound } from "./wire.js";

/** The parts of LangGraph's package that are used at run time. */
export type Peer = Pick<
  typeof import("@langchain/langgraph-checkpoint"),
  "BaseCache" | "BaseCheckpointSaver" | "BaseStore" | "DeltaSnapshot" | "TASKS" | "WRITES_IDX_MAP" | "maxChannelVersion"
>;

export interface SaverContext {
  native: NativeStore;
  peer: Peer;
  serde: SerializerProtocol;
  getNextVersion: BaseCheckpointSaver["getNextVersion"];
}

export function refOf({ threadId, namespace, id }: Header): CheckpointRef {
  return { threadId, namespace, id };
}

/**
 * Finds the checkpoint with an id or, without an id, the latest one of a namespace. With `compare`, also returns
 * whether it is the latest one.
 */
export async function find(
  { native }: Pick<SaverContext, "native">,
  threadId: string,
  namespace: string,
  id: string | undefined,
  begins = false,
): Promise<Found | null> {
  const [thread, ns] = [idOrNull(threadId, "thread_id"), idOrNull(namespace, "checkpoint_ns")];
  const checkpoint = id === undefined ? undefined : idOrNull(id, "checkpoint_id");
  if (thread === null || ns === null || checkpoint === null) return null;
  const call = { threadId: thread, namespace: ns, id: checkpoint, begins };
  return langgraph.find(native, "get", call, openFound);
}

export async function tupleOf(context: SaverContext, { header, parts, writes }: Found): Promise<CheckpointTuple> {
  const { serde } = context;
  const checkpointRef = refOf(header);
  const { parent, metadata } = header;
  const what = `checkpoint ${quote(checkpointRef.id)}`;
  const loaded = both(
    decodeCheckpoint(serde, parts, checkpointRef.id, what),
    both(
      load(serde, metadata, `the metadata of ${what}`) as MaybePromise<Metadata>,
      all(
        shownWrites(writes).map(({ task, part }): MaybePromise<[string, string, unknown]> => {
          const value: MaybePromise<unknown> = load(serde, part, writeTo(part.name, what));
          return when(value, (value) => [task, part.name, value]);
        }),
      ),
    ),
  );
  const [checkpoint, [shown, pendingWrites]] = loaded instanceof Promise ? await loaded : loaded;
  if (checkpoint.v < 4 && parent) await migrate(context, checkpoint, { ...checkpointRef, id: parent });
  return {
    config: configOf(checkpointRef),
    checkpoint,
    metadata: shown,
    ...(parent && { parentConfig: configOf({ ...checkpointRef, id: parent }) }),
    pendingWrites,
  };
}

export function writeTo(channel: string, checkpoint: string): string {
  return `a write to channel ${quote(channel)} of ${checkpoint}`;
}

/** The writes of a tuple, in its order. */
export function shownWrites(writes: FoundWrite[]): FoundWrite[] {
  return current(writes).filter((write) => !isRecord(write));
}

/** Picks one write for each task and index: the unclaimed one or, without one, the one claimed last. */
export function current(writes: FoundWrite[]): FoundWrite[] {
  const slots = new Map<string, FoundWrite>();
  for (const write of writes) {
    const slot = `${write.index},${write.task}`;
    const held = slots.get(slot);
    if (held === undefined || held.claimedBy) slots.set(slot, write);
  }
  return inOrder([...slots.values()]);
}

/**
 * Sorts writes in the order in which LangGraph applies them: by the path of the task, the task, and the index.
 * LangGraph 1.6 and earlier give no path.
 */
export function inOrder(writes: FoundWrite[]): FoundWrite[] {
  return writes.toSorted(
    (a, b) => byCodePoint(a.path ?? "", b.path ?? "") || byCodePoint(a.task, b.task) || a.index - b.index,
  );
}

/** Compares two texts by their code points, as LangGraph for Python does. `<` would compare UTF-16 code units. */
export function byCodePoint(one: string, other: string): number {
  if (one === other) return 0;
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}

/**
 * Moves the parent's sends into the checkpoint. Before version 4, a checkpoint's pending sends were stored as its
 * parent's writes.
 */
async function migrate(
  context: SaverContext,
  checkpoint: Checkpoint,
  { threadId, namespace, id }: CheckpointRef,
): Promise<void> {
  const { peer } = context;
  const parent = await find(context, threadId, namespace, id);
  const sends = current(parent?.writes ?? []).filter(({ part }) => part.name === peer.TASKS);
  const versions = Object.values(checkpoint.channel_versions ?? {});
  checkpoint.channel_values[peer.TASKS] = await Promise.all(
    sends.map(({ part }) => load(context.serde, part, writeTo(part.name, `checkpoint ${quote(id)}`))),
  );
  checkpoint.channel_versions = {
    ...checkpoint.channel_versions,
    [peer.TASKS]: versions.length > 0 ? peer.maxChannelVersion(...versions) : context.getNextVersion(undefined),
  };
}
