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
import { show, typeError } from "../errors.js";
import { idOrNull } from "../ids.js";
import type { NativeStore } from "../native.js";
import { type Place, nameInConfig, idInConfig, configOf } from "./place.js";
import { load } from "./serde.js";
import { decodeCheckpoint } from "./values.js";
import { type Found, type FoundWrite, type Header, each, langgraph, openFound, openHeader } from "./wire.js";

/** How many headers a listing reads at a time. */
const PAGE = 100;

/** LangGraph's package, as far as it is used when the program runs. */
export type Peer = Pick<
  typeof import("@langchain/langgraph-checkpoint"),
  "BaseCheckpointSaver" | "DeltaSnapshot" | "TASKS" | "WRITES_IDX_MAP" | "maxChannelVersion"
>;

/** What reading and writing tuples needs of a saver. */
export interface SaverContext {
  native: NativeStore;
  peer: Peer;
  serde: SerializerProtocol;
  getNextVersion: BaseCheckpointSaver["getNextVersion"];
}

export function placeOf({ threadId, namespace, id }: Header): Place {
  return { threadId, namespace, id };
}

/** The checkpoint at a place, or the latest of a namespace. */
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

/** A fresh tuple from what was found. */
export async function tupleOf(context: SaverContext, { header, parts, writes }: Found): Promise<CheckpointTuple> {
  const { serde } = context;
  const place = placeOf(header);
  const { parent, metadata } = header;
  const checkpoint = await decodeCheckpoint(serde, parts, `checkpoint ${JSON.stringify(place.id)}`);
  if (checkpoint.v < 4 && parent) await migrate(context, checkpoint, { ...place, id: parent });
  const pendingWrites = await Promise.all(
    current(writes).map(
      async ({ task, part }): Promise<[string, string, unknown]> => [task, part.name, await load(serde, part)],
    ),
  );
  return {
    config: configOf(place),
    checkpoint,
    metadata: (await load(serde, metadata)) as Metadata,
    ...(parent && { parentConfig: configOf({ ...place, id: parent }) }),
    pendingWrites,
  };
}

/** One write for each place: what nobody owns yet, or else what was owned last. */
function current(writes: FoundWrite[]): FoundWrite[] {
  const places = new Map<string, FoundWrite>();
  for (const write of writes) {
    const place = `${write.index},${write.task}`;
    const held = places.get(place);
    if (held === undefined || held.claimedBy) places.set(place, write);
  }
  return [...places.values()];
}

/** Before version 4 a checkpoint's pending sends were its parent's writes. */
async function migrate(context: SaverContext, checkpoint: Checkpoint, { threadId, namespace, id }: Place): Promise<void> {
  const { peer } = context;
  const parent = await find(context, threadId, namespace, id);
  const sends = current(parent?.writes ?? []).filter(({ part }) => part.name === peer.TASKS);
  const versions = Object.values(checkpoint.channel_versions ?? {});
  checkpoint.channel_values[peer.TASKS] = await Promise.all(sends.map(({ part }) => load(context.serde, part)));
  checkpoint.channel_versions = {
    ...checkpoint.channel_versions,
    [peer.TASKS]: versions.length > 0 ? peer.maxChannelVersion(...versions) : context.getNextVersion(undefined),
  };
}

/** What `list` is asked for. */
interface Wanted {
  threadId: string | undefined;
  namespace: string | undefined;
  id: string | undefined;
  before: string | undefined;
  limit: number;
  filter: Array<[string, unknown]>;
}

export function readListing(config: Config, options: CheckpointListOptions | undefined): Wanted {
  const { limit, before, filter } = options ?? {};
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
    filter: Object.entries(filter ?? {}).filter(([, value]) => value !== undefined),
  };
}

/** The headers that are wanted, newest id first, a page at a time. */
export async function* listed({ native, serde }: Pick<SaverContext, "native" | "serde">, wanted: Wanted): AsyncGenerator<Header> {
  const { threadId, namespace, id, filter } = wanted;
  let { before, limit } = wanted;
  // Whether some of what is found is not wanted.
  const narrow = filter.length > 0 || id !== undefined || (threadId === undefined && namespace !== undefined);
  let page = narrow ? PAGE : Math.min(PAGE, limit + 1);
  // What is no text is no id of anything.
  if ([threadId, namespace, id, before].some((name) => name?.isWellFormed() === false)) return;
  while (limit > 0) {
    const call = { threadId, namespace, before, limit: page };
    const found: Header[] = await langgraph.find(native, "list", call, each(openHeader));
    const full = found.length === page;
    // Copies of a thread have the same ids: those that a full page ends with may go on in the next.
    const last = full ? found.at(-1)!.id : undefined;
    const whole = full ? found.filter(({ id: other }) => other !== last) : found;
    if (full && whole.length === 0) {
      page *= 2;
      // A page of one id is enough for whoever wants any of them, and no more.
      if (limit > found.length || narrow) continue;
    }
    for (const header of whole.length > 0 ? whole : found) {
      if ((namespace !== undefined && header.namespace !== namespace) || (id !== undefined && header.id !== id)) continue;
      if (filter.length > 0 && !matches((await load(serde, header.metadata)) as Metadata, filter)) continue;
      yield header;
      limit -= 1;
      if (limit <= 0) return;
    }
    if (!full) return;
    before = whole.at(-1)?.id ?? last;
  }
}

/** Equality on literal top-level keys. */
function matches(metadata: Metadata, filter: Array<[string, unknown]>): boolean {
  return filter.every(([key, value]) => Object.hasOwn(metadata, key) && isDeepStrictEqual(metadata[key], value));
}
