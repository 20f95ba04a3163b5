/** Lists checkpoints page by page, and headers of checkpoints. */

import { isDeepStrictEqual } from "node:util";
import type {
  CheckpointListOptions,
  CheckpointTuple,
  Config,
  Metadata,
  SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import { quote, readingArgument, show, typeError } from "../../bridge/errors.js";
import { copyOfFilter } from "../../bridge/serializer.js";
import { nameInConfig, idInConfig } from "./config.js";
import { readAhead } from "./read-ahead.js";
import { isJsonPlus, load } from "./serde.js";
import { type SaverContext, byCodePoint, tupleOf } from "./tuples.js";
import {
  type Found,
  type Header,
  type PagePosition,
  each,
  langgraph,
  openHeader,
  openPage,
  sortKeyOf,
} from "./wire.js";

interface Wanted {
  threadId: string | undefined;
  namespace: string | undefined;
  id: string | undefined;
  before: { id: string; namespace: string | undefined } | undefined;
  limit: number;
  filter: Array<[string, unknown]>;
}

function readListing(config: Config, options: CheckpointListOptions | undefined): Wanted {
  const { limit, before, filter } = readingArgument("options", () => ({ ...options }) as CheckpointListOptions);
  if (limit !== undefined && limit !== null && typeof limit !== "number") {
    throw typeError(`options.limit must be a number, but is ${show(limit)}`);
  }
  if (filter !== undefined && filter !== null && typeof filter !== "object") {
    throw typeError(`options.filter must be an object, but is ${show(filter)}`);
  }
  const beforeId = idInConfig(before);
  return {
    threadId: nameInConfig(config, "thread_id"),
    namespace: nameInConfig(config, "checkpoint_ns"),
    id: idInConfig(config),
    before: beforeId === undefined ? undefined : { id: beforeId, namespace: nameInConfig(before, "checkpoint_ns") },
    limit: limit ?? Number.POSITIVE_INFINITY,
    filter: filterOf(filter),
  };
}

export function filterOf(filter: Record<string, unknown> | null | undefined): Array<[string, unknown]> {
  const given = readingArgument("filter", () => Object.entries(copyOfFilter(filter ?? {}, "filter")));
  return given.filter(([, value]) => value !== undefined);
}

/** Runs an operation of the store. `close` waits until it ends. */
type Operation = <T>(work: (context: SaverContext) => Promise<T>) => Promise<T>;

/**
 * Yields the matching checkpoints, the newest first. `indexes` are the indexed keys of the metadata. Each page and each
 * tuple is an operation, so `close` does not wait for the reader's loop.
 */
export async function* list(
  run: Operation,
  indexes: readonly string[],
  config: Config,
  options: CheckpointListOptions | undefined,
): AsyncGenerator<CheckpointTuple> {
  const wanted = readListing(config, options);
  const { namespace, id, before, filter } = wanted;
  // A string with a lone surrogate is never an id, so nothing can match.
  const names = [wanted.threadId, namespace, id, before?.id, before?.namespace];
  if (names.some((name) => name?.isWellFormed() === false)) return;
  let left = wanted.limit;
  // No number is greater than NaN.
  if (!(left > 0)) return;
  const end = before === undefined ? undefined : await run((context) => positionIn(context, wanted, before));
  const at = id === undefined ? undefined : await run((context) => positionIn(context, wanted, { id, namespace }));
  // A key with a NUL appended directly follows the key.
  const begin = at === undefined ? end : { key: `${at.key}\0` };
  const { next, needsMore } = pages(run, indexes, wanted, begin);
  for await (const page of readAhead(next, sizeOf, needsMore)) {
    for (const found of page) {
      const { header } = found;
      // Checkpoints older than the wanted id follow it.
      if (at !== undefined && sortKeyOf(header) !== at.key) return;
      if (at !== undefined && (header.id !== id || (end !== undefined && byCodePoint(at.key, end.key) >= 0))) continue;
      if (namespace !== undefined && header.namespace !== namespace) continue;
      const tuple = await run(async (context) => {
        if (filter.length > 0 && !matches(await metadataOf(context.serde, header), filter)) return undefined;
        return tupleOf(context, found);
      });
      if (tuple === undefined) continue;
      yield tuple;
      left -= 1;
      if (left <= 0) return;
    }
  }
}

/** Returns the position of a checkpoint. If the checkpoint is not stored, its id is the position. */
async function positionIn(
  { native }: Pick<SaverContext, "native">,
  { threadId, namespace = "" }: Wanted,
  of: { id: string; namespace: string | undefined },
): Promise<Begin> {
  const unknown = { key: of.id };
  if (threadId === undefined) return unknown;
  // LangGraph asks a subgraph for the checkpoints before a checkpoint of the graph, and gives only the graph's id.
  const namespaces = { namespace: of.namespace ?? "", or: of.namespace ?? namespace };
  return (await langgraph.call(native, "place", { threadId, ...namespaces, id: of.id })) ?? unknown;
}

/** The position after which a listing begins. Without a save number, it begins after all checkpoints with this key. */
type Begin = Pick<PagePosition, "key"> & Partial<PagePosition>;

function sizeOf(page: Found[]): number {
  const sizes = page.flatMap(({ parts }) => parts.map(({ bytes }) => bytes.byteLength));
  return sizes.reduce((sum, each) => sum + each, 0);
}

/** The size of the first page without a limit, and the maximum size of the following pages, in checkpoints. */
const [FIRST_PAGE, MOST_PAGE] = [10, 200];
/** How many checkpoints a filter examines for the first page, and at most for each following page. */
const [FIRST_LOOKS, MOST_LOOKS] = [2_000, 20_000];

/**
 * Returns a function that reads the next page. It resolves to undefined after the last page. After `limit` checkpoints,
 * further pages are only needed if some of the checkpoints do not match.
 */
function pages(
  run: Operation,
  indexes: readonly string[],
  { threadId, namespace, limit, filter }: Wanted,
  begin: Begin | undefined,
) {
  let [size, looks] = [limit <= MOST_PAGE ? Math.ceil(limit) : FIRST_PAGE, FIRST_LOOKS];
  let after: Begin | null | undefined = begin;
  let count = 0;
  const next = async (): Promise<Found[] | undefined> => {
    if (after === null) return undefined;
    const page = await run(({ native, serde }) => {
      const texts = textsOf(filter, serde);
      const index = texts && indexOf(filter, indexes);
      const from = { beforeKey: after?.key, beforeSeq: after?.seq };
      const call = { threadId, namespace, ...from, texts, index, limit: size, looks };
      return langgraph.find(native, "page", call, openPage);
    });
    after = page.next;
    count += page.found.length;
    const left = limit > count ? Math.ceil(limit - count) : FIRST_PAGE;
    [size, looks] = [Math.min(MOST_PAGE, size * 4, left), Math.min(MOST_LOOKS, looks * 4)];
    return page.found;
  };
  // A page begins where the page before it ends.
  let last: Promise<unknown> = Promise.resolve();
  const nextInTurn = () => {
    const page = last.then(next);
    last = page;
    return page;
  };
  return { next: nextInTurn, needsMore: () => count < limit };
}

/**
 * Returns texts that the JSON of matching metadata contains. The engine uses them to skip other checkpoints. Returns
 * undefined if there is no such text.
 */
function textsOf(filter: Array<[string, unknown]>, serde: SerializerProtocol): string[] | undefined {
  if (filter.length === 0 || !isJsonPlus(serde)) return undefined;
  const texts = filter
    .filter(([, value]) => isPlain(value))
    .flat()
    .map((value) => JSON.stringify(value));
  // A text with an escape may be written in several ways. The engine returns metadata with an escape in any case.
  return texts.filter((text) => !text.includes("\\"));
}

/** Returns the first key of the filter that has an index, and the JSON text of its value. */
function indexOf(
  filter: Array<[string, unknown]>,
  indexes: readonly string[],
): { key: string; value: string } | undefined {
  const found = filter.find(([key, value]) => indexes.includes(key) && isPlain(value));
  if (found === undefined) return undefined;
  const value = JSON.stringify(found[1]);
  return value.includes("\\") ? undefined : { key: found[0], value };
}

function isPlain(value: unknown): boolean {
  return value === null || ["string", "number", "boolean"].includes(typeof value);
}

/** The number of headers in a page. */
const PAGE = 100;

/** Yields headers, the newest first. Reads them page by page. */
export async function* headers(
  { native }: Pick<SaverContext, "native">,
  threadId: string | undefined,
  limit = Number.POSITIVE_INFINITY,
): AsyncGenerator<Header> {
  let before: string | undefined;
  let left = limit;
  let size = Math.min(PAGE, limit + 1);
  while (left > 0) {
    const call = { threadId, before, limit: size };
    const found: Header[] = await langgraph.find(native, "list", call, each(openHeader));
    const full = found.length === size;
    // Copies of a thread have the same positions, and a full page may end between them. Drop the headers with the
    // page's last position, and read that position again with the next page.
    const last = full ? sortKeyOf(found.at(-1)!) : undefined;
    const whole = full ? found.filter((header) => sortKeyOf(header) !== last) : found;
    if (full && whole.length === 0) {
      size *= 2;
      // All headers of the page have the same position. If the caller needs more of them, read a larger page.
      if (left > found.length) continue;
    }
    for (const header of whole.length > 0 ? whole : found) {
      yield header;
      left -= 1;
      if (left <= 0) return;
    }
    if (!full) return;
    before = whole.length > 0 ? sortKeyOf(whole.at(-1)!) : last;
  }
}

/** Reads the metadata of a checkpoint. Returns the value that was put, which may be null. */
export async function metadataOf(
  serde: SerializerProtocol,
  { id, metadata }: Pick<Header, "id" | "metadata">,
): Promise<Metadata | null> {
  return (await load(serde, metadata, `the metadata of checkpoint ${quote(id)}`)) as Metadata | null;
}

/** Compares the metadata's literal top-level keys for equality. */
export function matches(metadata: Metadata | null | undefined, filter: Array<[string, unknown]>): boolean {
  if (metadata === null || metadata === undefined) return filter.length === 0;
  return filter.every(([key, value]) => Object.hasOwn(metadata, key) && isDeepStrictEqual(metadata[key], value));
}
