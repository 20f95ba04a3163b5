/** The operations on threads: finding, listing, deleting, copying and pruning checkpoints. */

import { crypto } from "../../bridge/crypto.js";
import { isDeepStrictEqual } from "node:util";
import type { Engine } from "../../store/engine.js";
import { ForkpointError, isOvertaken, quote } from "../../bridge/errors.js";
import { idOrNull, listOf, requireId } from "../../store/ids.js";
import type { NativeStore } from "../../bridge/native.js";
import { copyOfFilter } from "../../bridge/serializer.js";
import type { Exact } from "../../bridge/wire.js";
import { flag, object, oneOf, readRecord, whole } from "../../store/options.js";
import { copyEffects } from "../../store/effect-copies.js";
import { forced, removing } from "../../store/removing.js";
import { betweenSteps, stepOptions, throwIfStopped } from "../../store/retention.js";
import { batches } from "../../store/page.js";
import { writesWithoutAnswers } from "./graph/tasks.js";
import {
  type EncodedCheckpoint,
  type EncodedWrite,
  decodeCheckpoint,
  decodeWrite,
  encodeWrites,
  metadataOf,
  namespaceOrNull,
  readListed,
} from "./values.js";
import { type Found, type Header, type Place, openFound, openHeaders, tinyagents } from "./wire.js";
import { type CheckpointMetadata, RESUME } from "./contract.js";

/** Options of `prune()`. */
export interface ThreadPruneOptions {
  /**
   * Which older checkpoints stay. Default: `"ancestors"`.
   *
   * - `"ancestors"`: all ancestors of the kept checkpoints. A thread without branches then keeps all of its checkpoints.
   * - `"dependencies"`: the ancestors that reading the kept checkpoints needs.
   */
  protect?: "ancestors" | "dependencies";
  /** If true, removes nothing and returns how many checkpoints would be removed. Default: false. */
  dryRun?: boolean;
  /** Stops the prune between two transactions. The promise then rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Called after each transaction with the number of checkpoints that were removed so far. */
  onProgress?: (removed: number) => void;
}

/** The maximum number of checkpoints that one transaction removes or copies. */
const BATCH = 500;

/** A checkpointer's knowledge of a namespace's incarnation. */
export interface Incarnation {
  /** If set, a save is refused unless the namespace has this incarnation. */
  expected: Exact | undefined;
  learn: (incarnation: Exact | null) => void;
}

export async function put(
  { native }: Engine,
  encoded: EncodedCheckpoint,
  expectsParent: boolean,
  { expected, learn }: Partial<Incarnation> = {},
): Promise<void> {
  const { threadId, id, namespace, parent, dependsOnParent, status, parts, metadata } = encoded;
  const fields = {
    threadId,
    namespace,
    id,
    again: undefined,
    parent,
    parentKey: undefined,
    parts: parts.map(({ name, tag }) => ({ name, tag })),
    metadataTag: metadata.tag,
    savedAt: Date.now(),
    dependsOnParent,
    expectsParent,
    // The latest checkpoint as parent already identifies the incarnation.
    incarnation: expectsParent ? undefined : expected,
    status,
  };
  const buffers = [...parts.map(({ bytes }) => bytes), metadata.bytes];
  try {
    await tinyagents.call(native, "put", fields, buffers, learn);
  } catch (error) {
    if (!isOvertaken(error)) throw error;
    const found = await tinyagents.find(native, "get", { threadId, namespace, id }, openFound);
    const again = found?.first == null ? undefined : crypto().randomUUID();
    // The clock may have been set back. Use a time that is not before the first checkpoint of this id.
    const savedAt = Math.max(fields.savedAt, found?.first?.header.savedAt ?? 0);
    const parentKey = expectsParent ? await latestKey(native, threadId, namespace, parent) : undefined;
    // Without the check of the parent, the refusal of a free id means that the thread was deleted.
    const refused = (conflict: ForkpointError) => (expectsParent ? continued(encoded, conflict) : conflict);
    if (again === undefined && parentKey === undefined) throw refused(error);
    try {
      await tinyagents.call(native, "put", { ...fields, savedAt, again, parentKey }, buffers, learn);
    } catch (conflict) {
      throw isOvertaken(conflict) ? refused(conflict) : conflict;
    }
  }
}

/** Returns the engine's id of the latest checkpoint if it has this id and was put repeatedly. */
async function latestKey(native: NativeStore, threadId: string, namespace: string, id: string | undefined) {
  const latest = await tinyagents.find(native, "get", { threadId, namespace, id: undefined }, openFound);
  const header = latest?.first?.header;
  return header?.again && header.id === id ? header.key : undefined;
}

function continued({ threadId, namespace, id, parent }: EncodedCheckpoint, cause: ForkpointError): ForkpointError {
  const place = namespace === "" ? "" : `, namespace ${namespace}`;
  const expected =
    parent === undefined ? "has checkpoints, and the new one has no parent" : `does not end with ${quote(parent)}`;
  return new ForkpointError(
    cause.code,
    `checkpoint ${quote(id)}: thread ${quote(threadId)}${place} ${expected}, because another writer has continued: read the latest checkpoint and try again`,
  );
}

export async function putWrites(
  { native }: Engine,
  place: Place,
  writes: readonly EncodedWrite[],
  needs?: "namespace",
  incarnation?: Exact,
): Promise<void> {
  if (writes.length === 0) return;
  const named = writes.map(({ task, index, part: { name, tag } }) => ({ task, index, name, tag }));
  const buffers = writes.map(({ part: { bytes } }) => bytes);
  await tinyagents.call(native, "putWrites", { ...place, writes: named, needs, incarnation }, buffers);
}

/**
 * Finds the last checkpoint put under an id, or the last one of all. Returns it with the writes of its id. Without a
 * namespace, searches all namespaces of the thread.
 */
export async function find(
  engine: Engine,
  threadId: string,
  namespace: string | undefined,
  id: string | undefined,
): Promise<Found | null> {
  const { native } = engine;
  if (namespace === undefined) {
    const last = await tinyagents.find(native, "last", { threadId, id }, openFound);
    return putAgain(engine, last?.first ?? null);
  }
  const found = await tinyagents.find(native, "get", { threadId, namespace, id }, openFound);
  if (found === null) return null;
  const { first, later } = found;
  if (id === undefined) return putAgain(engine, first);
  if (later === null) return first;
  const last = await tinyagents.find(native, "load", { key: later }, openFound);
  return last?.first == null ? first : { ...last.first, writes: first?.writes ?? [] };
}

/** Completes the last checkpoint of an id with the writes, which belong to the first one of this id. */
async function putAgain(engine: Engine, last: Found | null): Promise<Found | null> {
  if (!last?.header.again) return last;
  const { threadId, namespace, id } = last.header;
  return find(engine, threadId, namespace, id);
}

/** Lists the headers of a thread's checkpoints, in put order. */
export async function headers({ native }: Engine, threadId: string, namespace?: string): Promise<Header[]> {
  return (await tinyagents.find(native, "list", { threadId, namespace }, openHeaders)).toReversed();
}

const listOptions = {
  before: (value: unknown, name: string) => (value === null ? undefined : idOrNull(value, name)),
  limit: whole(0, Number.MAX_SAFE_INTEGER, "checkpoints"),
  filter: (value: unknown, name: string) => copyOfFilter(object(value, name), "filter"),
  namespace: (value: unknown, name: string) => (value === null ? undefined : namespaceOrNull(value, name)),
};

export async function list(engine: Engine, threadId: unknown, options: unknown): Promise<CheckpointMetadata[]> {
  const read = readRecord(options, "options", listOptions);
  const { before, limit = Number.POSITIVE_INFINITY, filter, namespace } = read;
  const thread = idOrNull(threadId, "threadId");
  if (thread === null || namespace === null) return [];
  let found = await headers(engine, thread, namespace);
  if (before !== undefined) {
    const at = found.findLastIndex(({ id }) => id === before);
    found = at === -1 ? [] : found.slice(0, at);
  }
  const listed: CheckpointMetadata[] = [];
  for (const header of found) {
    if (listed.length >= limit) break;
    const entry = metadataOf(header, engine.format);
    if (matches(entry, filter)) listed.push(entry);
  }
  return listed;
}

export function matches(
  { metadata }: { metadata: Record<string, unknown> },
  filter?: Record<string, unknown>,
): boolean {
  return Object.entries(filter ?? {}).every(
    ([key, value]) => Object.hasOwn(metadata, key) && isDeepStrictEqual(metadata[key], value),
  );
}

export async function listThreads({ native }: Engine): Promise<string[]> {
  const threads: string[] = [];
  const read = (before: number | undefined, limit: number) => tinyagents.call(native, "namespaces", { before, limit });
  for await (const namespaces of batches(read)) threads.push(...namespaces.map(({ threadId }) => threadId));
  // A thread begins with its first namespace, which is listed last.
  return [...new Set(threads.toReversed())];
}

export async function deleteThread({ native }: Engine, threadId: unknown, options?: unknown): Promise<void> {
  const force = forced(options);
  const thread = idOrNull(threadId, "threadId");
  if (thread === null) return;
  const of = { space: tinyagents.name, run: thread, ns: "" };
  await tinyagents.call(removing(native, of, force), "deleteThread", { threadId: thread });
}

/** Removes the checkpoints that `goes` selects, with their writes. Returns their number. */
async function removeWhere(engine: Engine, threadId: unknown, goes: (header: Header) => boolean): Promise<number> {
  const thread = idOrNull(threadId, "threadId");
  if (thread === null) return 0;
  const native = removing(engine.native, { space: tinyagents.name, run: thread, ns: "" }, false);
  return remove({ native }, (await headers(engine, thread)).filter(goes));
}

async function remove({ native }: Pick<Engine, "native">, gone: readonly Header[]): Promise<number> {
  for (let from = 0; from < gone.length; from += BATCH) {
    const keys = gone.slice(from, from + BATCH).map(({ key }) => key);
    await tinyagents.call(native, "delete", { keys });
  }
  return gone.length;
}

export function deleteCheckpoints(engine: Engine, threadId: unknown, ids: unknown): Promise<number> {
  const wanted = new Set(listOf(idOrNull, ids, "checkpointIds"));
  return removeWhere(engine, threadId, ({ id }) => wanted.has(id));
}

export async function deleteByRun(engine: Engine, threadId: unknown, runId: unknown): Promise<number> {
  const run = idOrNull(runId, "runId");
  if (run === null) return 0;
  return removeWhere(engine, threadId, (header) => readListed(header, engine.format).runId === run);
}

export async function copyThread(engine: Engine, source: unknown, target: unknown): Promise<void> {
  const [from, to] = [idOrNull(source, "sourceThreadId"), requireId(target, "targetThreadId")];
  if ((await headers(engine, to)).length > 0) {
    throw new ForkpointError(
      "CONFLICT",
      `thread ${quote(to)} has checkpoints: copy to a new thread, or delete it first`,
    );
  }
  if (from === null) return;
  try {
    const written = new Set<string>();
    const found = await headers(engine, from);
    const newest = new Map(found.map((header) => [header.namespace, header.key]));
    for (const { key, namespace, id, parent, metadata, dependsOnParent, status } of found) {
      const loaded = await tinyagents.find(engine.native, "load", { key }, openFound);
      if (loaded?.first == null) continue;
      const { parts } = loaded.first;
      const writes = newest.get(namespace) === key ? ownWrites(engine, loaded.first) : loaded.first.writes;
      const place = { threadId: to, id, namespace, parent: parent ?? undefined };
      await put(engine, { ...place, dependsOnParent, status, parts, metadata }, false);
      // Only the first checkpoint of an id has the writes.
      const of = JSON.stringify([namespace, id]);
      if (!written.has(of)) await putWrites(engine, { threadId: to, namespace, id }, writes);
      written.add(of);
    }
    for (const ns of new Set(found.map(({ namespace }) => namespace))) {
      const of = { space: tinyagents.name, run: from, ns };
      await copyEffects(engine.native, of, { ...of, run: to }, { keepsIds: true });
    }
  } catch (error) {
    await deleteThread(engine, to);
    throw error;
  }
}

/** The writes of a thread's newest checkpoint for a copy, without answers: they belong to the thread that asked. */
function ownWrites({ format }: Engine, found: Found): EncodedWrite[] {
  if (!found.writes.some(({ index }) => index === RESUME)) return found.writes;
  const written = found.writes.map((write) => decodeWrite(write, format));
  return encodeWrites(writesWithoutAnswers(decodeCheckpoint(found, format), written, format).ledger, format);
}

const threadPruneOptions = { protect: oneOf("ancestors", "dependencies"), dryRun: flag, ...stepOptions };

export async function prune(
  engine: Engine,
  threadId: unknown,
  keepLast: unknown,
  options: unknown,
  closing: () => boolean,
): Promise<number> {
  const keep = Math.max(whole(0, Number.MAX_SAFE_INTEGER, "checkpoints")(keepLast, "keepLast"), 1);
  const read = readRecord(options, "options", threadPruneOptions) as ThreadPruneOptions;
  const { protect = "ancestors", dryRun = false, signal, onProgress } = read;
  throwIfStopped(signal, closing);
  const thread = idOrNull(threadId, "threadId");
  if (thread === null) return 0;
  const namespaces = groups(await headers(engine, thread), ({ namespace }) => namespace);
  const gone = [...namespaces.values()].flatMap((oldestFirst) => beyond(oldestFirst, keep, protect));
  for (let from = 0; from < gone.length; from += BATCH) {
    if (from > 0) await betweenSteps(signal, closing);
    const batch = gone.slice(from, from + BATCH);
    if (!dryRun) await remove(engine, batch);
    onProgress?.(from + batch.length);
  }
  return gone.length;
}

function beyond(oldestFirst: readonly Header[], keep: number, protect: "ancestors" | "dependencies"): Header[] {
  const byId = groups(oldestFirst, ({ id }) => id);
  const kept = new Set<Header>();
  const waiting = oldestFirst.slice(-keep);
  for (let header = waiting.pop(); header !== undefined; header = waiting.pop()) {
    if (kept.has(header)) continue;
    kept.add(header);
    // The first checkpoint of an id has the writes to this id.
    if (header.again) waiting.push(byId.get(header.id)![0]!);
    if (header.parent === null) continue;
    if (protect === "ancestors" || header.dependsOnParent) waiting.push(...(byId.get(header.parent) ?? []));
  }
  return oldestFirst.filter((header) => !kept.has(header));
}

/** Groups items by a key. Keeps the order of the items. */
function groups<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const found = new Map<string, T[]>();
  for (const item of items) {
    const group = found.get(keyOf(item));
    if (group === undefined) found.set(keyOf(item), [item]);
    else group.push(item);
  }
  return found;
}
