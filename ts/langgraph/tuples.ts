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
import { lookup } from "../ids.js";
import type { NativeStore } from "../native.js";
import { type FoundTuple, type FoundWrite, type ListedTuple, fetchListed, fetchTuple } from "../parcel.js";
import { type Place, asked, askedId, configOf } from "./place.js";
import { loadPart } from "./serde.js";
import { putTogether } from "./values.js";

/** How many headers a listing reads at a time. */
const PAGE = 100;

/** LangGraph's package, as far as it is used when the program runs. */
export type Peer = Pick<
  typeof import("@langchain/langgraph-checkpoint"),
  "BaseCheckpointSaver" | "DeltaSnapshot" | "TASKS" | "WRITES_IDX_MAP" | "maxChannelVersion"
>;

/** Who reads tuples: the saver, as far as they need it. */
export interface Reader {
  native: NativeStore;
  peer: Peer;
  serde: SerializerProtocol;
  getNextVersion: BaseCheckpointSaver["getNextVersion"];
}

export function placeOf([threadId, namespace, id]: ListedTuple): Place {
  return { threadId, namespace, id };
}

/** The checkpoint at a place, or the latest of a namespace. */
export async function find(
  { native }: Pick<Reader, "native">,
  threadId: string,
  namespace: string,
  id: string | undefined,
): Promise<FoundTuple | null> {
  const [thread, ns] = [lookup(threadId, "thread_id"), lookup(namespace, "checkpoint_ns")];
  const checkpoint = id === undefined ? undefined : lookup(id, "checkpoint_id");
  if (thread === null || ns === null || checkpoint === null) return null;
  return fetchTuple(native, (ticket) => native.langgraphGet(ticket, thread, ns, checkpoint));
}

/** A fresh tuple from what was found. */
export async function tupleOf(reader: Reader, [listed, parts, writes]: FoundTuple): Promise<CheckpointTuple> {
  const { serde } = reader;
  const place = placeOf(listed);
  const [, , , parent, metadata] = listed;
  const checkpoint = await putTogether(serde, parts, `checkpoint ${JSON.stringify(place.id)}`);
  if (checkpoint.v < 4 && parent) await migrate(reader, checkpoint, { ...place, id: parent });
  const pendingWrites = await Promise.all(
    current(writes).map(
      async ([task, , , part]): Promise<[string, string, unknown]> => [task, part[0], await loadPart(serde, part)],
    ),
  );
  return {
    config: configOf(place),
    checkpoint,
    metadata: (await loadPart(serde, metadata)) as Metadata,
    ...(parent && { parentConfig: configOf({ ...place, id: parent }) }),
    pendingWrites,
  };
}

/** One write for each place: what nobody owns yet, or else what was owned last. */
function current(writes: FoundWrite[]): FoundWrite[] {
  const places = new Map<string, FoundWrite>();
  for (const write of writes) {
    const place = `${write[1]},${write[0]}`;
    const held = places.get(place);
    if (held === undefined || held[2]) places.set(place, write);
  }
  return [...places.values()];
}

/** Before version 4 a checkpoint's pending sends were its parent's writes. */
async function migrate(reader: Reader, checkpoint: Checkpoint, { threadId, namespace, id }: Place): Promise<void> {
  const { peer } = reader;
  const parent = await find(reader, threadId, namespace, id);
  const sends = current(parent?.[2] ?? []).filter(([, , , [channel]]) => channel === peer.TASKS);
  const versions = Object.values(checkpoint.channel_versions ?? {});
  checkpoint.channel_values[peer.TASKS] = await Promise.all(sends.map(([, , , part]) => loadPart(reader.serde, part)));
  checkpoint.channel_versions = {
    ...checkpoint.channel_versions,
    [peer.TASKS]: versions.length > 0 ? peer.maxChannelVersion(...versions) : reader.getNextVersion(undefined),
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
    threadId: asked(config, "thread_id"),
    namespace: asked(config, "checkpoint_ns"),
    id: askedId(config),
    before: askedId(before),
    limit: limit ?? Number.POSITIVE_INFINITY,
    filter: Object.entries(filter ?? {}).filter(([, value]) => value !== undefined),
  };
}

/** The headers that are wanted, newest id first, a page at a time. */
export async function* listed({ native, serde }: Pick<Reader, "native" | "serde">, wanted: Wanted): AsyncGenerator<ListedTuple> {
  const { threadId, namespace, id, filter } = wanted;
  let { before, limit } = wanted;
  // Whether some of what is found is not wanted.
  const narrow = filter.length > 0 || id !== undefined || (threadId === undefined && namespace !== undefined);
  let page = narrow ? PAGE : Math.min(PAGE, limit + 1);
  // What is no text is no id of anything.
  if ([threadId, namespace, id, before].some((name) => name?.isWellFormed() === false)) return;
  while (limit > 0) {
    const [end, size] = [before, page];
    const found = await fetchListed(native, (ticket) => native.langgraphList(ticket, threadId, namespace, end, size));
    const full = found.length === page;
    // Copies of a thread have the same ids: those that a full page ends with may go on in the next.
    const last = full ? found.at(-1)![2] : undefined;
    const whole = full ? found.filter((each) => each[2] !== last) : found;
    if (full && whole.length === 0) {
      page *= 2;
      // A page of one id is enough for whoever wants any of them, and no more.
      if (limit > found.length || narrow) continue;
    }
    for (const each of whole.length > 0 ? whole : found) {
      if ((namespace !== undefined && each[1] !== namespace) || (id !== undefined && each[2] !== id)) continue;
      if (filter.length > 0 && !matches((await loadPart(serde, each[4])) as Metadata, filter)) continue;
      yield each;
      limit -= 1;
      if (limit <= 0) return;
    }
    if (!full) return;
    before = whole.at(-1)?.[2] ?? last;
  }
}

/** Equality on literal top-level keys. */
function matches(metadata: Metadata, filter: Array<[string, unknown]>): boolean {
  return filter.every(([key, value]) => Object.hasOwn(metadata, key) && isDeepStrictEqual(metadata[key], value));
}
