/** Reads checkpoints as LangGraph's tuples. */

import type {
  BaseCheckpointSaver,
  Checkpoint,
  CheckpointListOptions,
  CheckpointTuple,
  Config,
  Metadata,
  SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import { isDeepStrictEqual } from "node:util";
import { quote, readingArgument, show, typeError } from "../../bridge/errors.js";
import { idOrNull } from "../../store/ids.js";
import type { NativeStore } from "../../bridge/native.js";
import { type CheckpointRef, nameInConfig, idInConfig, configOf } from "./config.js";
import { load } from "./serde.js";
import { decodeCheckpoint } from "./values.js";
import { type Found, type FoundWrite, type Header, each, langgraph, openFound, openHeader } from "./wire.js";

const PAGE = 100;

/** The parts of LangGraph's package that are used at run time. */
export type Peer = Pick<
  typeof import("@langchain/langgraph-checkpoint"),
  "BaseCheckpointSaver" | "DeltaSnapshot" | "TASKS" | "WRITES_IDX_MAP" | "maxChannelVersion"
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

/** Finds the checkpoint with an id or, without an id, the latest checkpoint of a namespace. */
export async function find(
  { native }: Pick<SaverContext, "native">,
  threadId: string,
  namespace: string,
  id: string | undefined,
): Promise<Found | null> {
  const [thread, ns] = [idOrNull(threadId, "thread_id"), idOrNull(namespace, "checkpoint_ns")];
  const checkpoint = id === undefined ? undefined : idOrNull(id, "checkpoint_id");
  if (thread === null || ns === null || checkpoint === null) return null;
  return langgraph.find(native, "get", { threadId: thread, namespace: ns, id: checkpoint }, openFound);
}

export async function tupleOf(context: SaverContext, { header, parts, writes }: Found): Promise<CheckpointTuple> {
  const { serde } = context;
  const checkpointRef = refOf(header);
  const { parent, metadata } = header;
  const what = `checkpoint ${quote(checkpointRef.id)}`;
  const checkpoint = await decodeCheckpoint(serde, parts, what);
  if (checkpoint.v < 4 && parent) await migrate(context, checkpoint, { ...checkpointRef, id: parent });
  const pendingWrites = await Promise.all(
    current(writes).map(async ({ task, part }): Promise<[string, string, unknown]> => [
      task,
      part.name,
      await load(serde, part, writeTo(part.name, what)),
    ]),
  );
  return {
    config: configOf(checkpointRef),
    checkpoint,
    metadata: (await load(serde, metadata, `the metadata of ${what}`)) as Metadata,
    ...(parent && { parentConfig: configOf({ ...checkpointRef, id: parent }) }),
    pendingWrites,
  };
}

export function writeTo(channel: string, checkpoint: string): string {
  return `a write to channel ${quote(channel)} of ${checkpoint}`;
}

/**
 * Picks one write for each task and index. Picks the write that no checkpoint has claimed or, if there is none, the
 * write that was claimed last.
 */
function current(writes: FoundWrite[]): FoundWrite[] {
  const slots = new Map<string, FoundWrite>();
  for (const write of writes) {
    const slot = `${write.index},${write.task}`;
    const held = slots.get(slot);
    if (held === undefined || held.claimedBy) slots.set(slot, write);
  }
  return inOrder([...slots.values()]);
}

/**
 * Sorts writes as LangGraph applies them: by the path of the task, by the task, and by the index. LangGraph 1.6 and
 * earlier give no path.
 */
export function inOrder(writes: FoundWrite[]): FoundWrite[] {
  return writes.toSorted(
    (a, b) => byCodePoint(a.path ?? "", b.path ?? "") || byCodePoint(a.task, b.task) || a.index - b.index,
  );
}

/** Compares two texts by their code points, as LangGraph for Python does. `<` would compare UTF-16 code units. */
function byCodePoint(one: string, other: string): number {
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

interface Wanted {
  threadId: string | undefined;
  namespace: string | undefined;
  id: string | undefined;
  before: string | undefined;
  limit: number;
  filter: Array<[string, unknown]>;
}

export function readListing(config: Config, options: CheckpointListOptions | undefined): Wanted {
  const { limit, before, filter } = readingArgument("options", () => ({ ...options }) as CheckpointListOptions);
  if (limit !== undefined && limit !== null && typeof limit !== "number") {
    throw typeError(`options.limit must be a number, and is ${show(limit)}`);
  }
  if (filter !== undefined && filter !== null && typeof filter !== "object") {
    throw typeError(`options.filter must be an object, and is ${show(filter)}`);
  }
  return {
    threadId: nameInConfig(config, "thread_id"),
    namespace: nameInConfig(config, "checkpoint_ns"),
    id: idInConfig(config),
    before: idInConfig(before),
    limit: limit ?? Number.POSITIVE_INFINITY,
    filter: filterOf(filter),
  };
}

export function filterOf(filter: Record<string, unknown> | null | undefined): Array<[string, unknown]> {
  return readingArgument("filter", () => Object.entries(filter ?? {})).filter(([, value]) => value !== undefined);
}

/** Yields the matching headers, newest id first. Reads the headers page by page. */
export async function* listed(
  { native, serde }: Pick<SaverContext, "native" | "serde">,
  wanted: Wanted,
): AsyncGenerator<Header> {
  const { threadId, namespace, id, filter } = wanted;
  let { before, limit } = wanted;
  // True if the engine's pages may contain headers that do not match.
  const narrow = filter.length > 0 || id !== undefined || (threadId === undefined && namespace !== undefined);
  let page = narrow ? PAGE : Math.min(PAGE, limit + 1);
  // A string with half of a surrogate pair is never an id, so nothing can match.
  if ([threadId, namespace, id, before].some((name) => name?.isWellFormed() === false)) return;
  while (limit > 0) {
    const call = { threadId, namespace, before, limit: page };
    const found: Header[] = await langgraph.find(native, "list", call, each(openHeader));
    const full = found.length === page;
    // Copies of a thread have the same ids. A full page may end between headers with the same id, so drop the headers
    // with the page's last id and read that id again with the next page.
    const last = full ? found.at(-1)!.id : undefined;
    const whole = full ? found.filter(({ id: other }) => other !== last) : found;
    if (full && whole.length === 0) {
      page *= 2;
      // All headers of the page have the same id. The page is enough for a caller with a small limit. For any other
      // caller, a larger page is read.
      if (limit > found.length || narrow) continue;
    }
    for (const header of whole.length > 0 ? whole : found) {
      if ((namespace !== undefined && header.namespace !== namespace) || (id !== undefined && header.id !== id))
        continue;
      if (filter.length > 0 && !matches(await metadataOf(serde, header), filter)) continue;
      yield header;
      limit -= 1;
      if (limit <= 0) return;
    }
    if (!full) return;
    before = whole.at(-1)?.id ?? last;
  }
}

/** Reads the metadata of a checkpoint. Returns the value that was put, which may be null. */
export async function metadataOf(serde: SerializerProtocol, { id, metadata }: Header): Promise<Metadata | null> {
  return (await load(serde, metadata, `the metadata of checkpoint ${quote(id)}`)) as Metadata | null;
}

/** Compares the metadata's literal top-level keys for equality. */
export function matches(metadata: Metadata | null | undefined, filter: Array<[string, unknown]>): boolean {
  if (metadata === null || metadata === undefined) return filter.length === 0;
  return filter.every(([key, value]) => Object.hasOwn(metadata, key) && isDeepStrictEqual(metadata[key], value));
}
