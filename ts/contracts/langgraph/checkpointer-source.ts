/** Reads the threads of any checkpointer of LangGraph, through its public methods. */

import type { CheckpointTuple, Config } from "@langchain/langgraph-checkpoint";
import { ForkpointError, isForkpointError, quote, textOf } from "../../bridge/errors.js";
import { whole } from "../../bridge/bytes.js";
import type { Part } from "../../bridge/wire.js";
import type { Checkpointer } from "./checkpointer.js";
import { type CheckpointRef, configOf } from "./config.js";
import { keyOf, slotOf } from "./outline.js";
import { dump } from "./serde.js";
import type { Source, SourceCheckpoint, SourceThread, SourceWrite } from "./import-source.js";
import { type SaverContext, byCodePoint } from "./tuples.js";
import { encodeCheckpoint } from "./values.js";

/**
 * The limit of a list. Without a limit, some savers list 10 checkpoints. Redis refuses a limit above 1,000,000, and
 * `ShallowRedisSaver` doubles its own limit.
 */
const MOST = 500_000;

/** A page ends after this number of checkpoints or bytes. */
const [PAGE_ROWS, PAGE_BYTES] = [128, 2 << 20];

/** Checkpoints of a larger thread are not kept while the thread is listed. They are read again, one by one. */
const KEPT_BYTES = 16 << 20;

/** A checkpoint in the outline of a thread. */
interface Place {
  namespace: string;
  id: string;
  parent: string | null;
}

/** The thread that is being read. Later checkpoints and writes are not part of it. */
interface OpenThread {
  threadId: string;
  places: Place[];
  kept: Map<string, SourceCheckpoint>;
  /** The slots of each checkpoint's writes at the first read. */
  slots: Map<string, Set<string>>;
}

export class SaverSource implements Source {
  readonly #from: Checkpointer;
  readonly #context: Pick<SaverContext, "serde" | "peer">;
  readonly #throwIfStopped: () => void;
  /** The namespaces in which each listed thread has checkpoints. */
  readonly #namespaces = new Map<string, Set<string>>();
  #open: OpenThread | undefined;

  constructor(from: Checkpointer, context: Pick<SaverContext, "serde" | "peer">, throwIfStopped: () => void) {
    this.#from = from;
    this.#context = context;
    this.#throwIfStopped = throwIfStopped;
  }

  async threads(of?: readonly string[]): Promise<string[]> {
    const newest = new Map<string, string>();
    const add = (threadId: string, namespace: string, id: string) => {
      const before = newest.get(threadId);
      const at = namespace === "" ? id : "";
      if (before === undefined || byCodePoint(before, at) < 0) newest.set(threadId, at);
    };
    if (of === undefined) {
      for await (const tuple of this.#list({})) {
        const { threadId, namespace, id } = refOf(tuple);
        add(threadId, namespace, id);
        const namespaces = this.#namespaces.get(threadId);
        if (namespaces) namespaces.add(namespace);
        else this.#namespaces.set(threadId, new Set([namespace]));
      }
    } else {
      for (const threadId of of) {
        this.#throwIfStopped();
        const found = (await this.#get({ threadId, namespace: "" })) ?? (await this.#first(threadId));
        if (found !== undefined) add(threadId, refOf(found).namespace, refOf(found).id);
      }
    }
    return [...newest]
      .toSorted(([a, x], [b, y]) => byCodePoint(x, y) || byCodePoint(a, b))
      .map(([threadId]) => threadId);
  }

  async *pages(threads: string[]): AsyncGenerator<SourceThread[]> {
    let [page, rows, bytes]: [SourceThread[], number, number] = [[], 0, 0];
    for (const threadId of threads) {
      const open = await this.#outline(threadId);
      let part: SourceThread = { threadId, checkpoints: [], orphans: [], ended: false };
      let parts = 1;
      for (const [at, place] of open.places.entries()) {
        const row = await this.#row(open, place);
        part.checkpoints.push(row);
        rows += 1;
        bytes += sizeOf(row);
        if (at === open.places.length - 1 || (rows < PAGE_ROWS && bytes < PAGE_BYTES)) continue;
        yield [...page, part];
        [page, rows, bytes] = [[], 0, 0];
        part = { threadId, checkpoints: [], orphans: [], ended: false };
        parts += 1;
      }
      page.push({ ...part, ended: true });
      // A large thread may be read again during the import of its page. Its page therefore ends with it.
      if (parts === 1 && rows < PAGE_ROWS && bytes < PAGE_BYTES) continue;
      yield page;
      [page, rows, bytes] = [[], 0, 0];
    }
    if (page.length > 0) yield page;
  }

  async writes(checkpointRef: CheckpointRef): Promise<SourceWrite[]> {
    const { threadId, ...place } = checkpointRef;
    const tuple = await this.#get(checkpointRef);
    if (tuple === undefined) return [];
    const open = this.#open?.threadId === threadId ? this.#open : undefined;
    return this.#only(open, place, await this.#writesOf(tuple));
  }

  /** Lists the checkpoints of a thread, and keeps them if they are small. */
  async #outline(threadId: string): Promise<OpenThread> {
    if (this.#open?.threadId === threadId) return this.#open;
    const open: OpenThread = { threadId, places: [], kept: new Map(), slots: new Map() };
    const known = new Set<string>();
    let left = KEPT_BYTES;
    const add = async (tuple: CheckpointTuple) => {
      const { threadId: of, namespace, id } = refOf(tuple);
      const place = { namespace, id, parent: parentOf(tuple) };
      if (of !== threadId || known.has(keyOf(place))) return;
      known.add(keyOf(place));
      open.places.push(place);
      // A list may leave the writes out.
      if (left <= 0 || tuple.pendingWrites === undefined) return;
      const row = await this.#rowOf(open, place, tuple);
      left -= sizeOf(row);
      open.kept.set(keyOf(place), row);
      if (left <= 0) open.kept.clear();
    };
    for await (const tuple of this.#list({ thread_id: threadId })) await add(tuple);
    // A saver may list only one namespace, and a search may miss checkpoints that are not indexed yet.
    for (const namespace of new Set(["", ...(this.#namespaces.get(threadId) ?? [])])) {
      const newest = await this.#get({ threadId, namespace });
      if (newest !== undefined) await add(newest);
    }
    for (const { namespace, parent } of open.places) {
      if (parent === null || known.has(keyOf({ namespace, id: parent }))) continue;
      const found = await this.#get({ threadId, namespace, id: parent });
      if (found !== undefined) await add(found);
      known.add(keyOf({ namespace, id: parent }));
    }
    open.places.sort((a, b) => byCodePoint(a.namespace, b.namespace) || byCodePoint(a.id, b.id));
    this.#open = open;
    return open;
  }

  async #row(open: OpenThread, place: Place): Promise<SourceCheckpoint> {
    const kept = open.kept.get(keyOf(place));
    if (kept !== undefined) return kept;
    const { threadId } = open;
    const tuple = await this.#get({ threadId, ...place });
    if (tuple !== undefined) return this.#rowOf(open, place, tuple);
    throw new ForkpointError(
      "CONFLICT",
      `checkpoint ${quote(place.id)} of thread ${quote(threadId)} was removed from the saver while it was imported: import again`,
    );
  }

  async #rowOf(open: OpenThread, { namespace, id, parent }: Place, tuple: CheckpointTuple): Promise<SourceCheckpoint> {
    const { serde } = this.#context;
    const where = `checkpoint ${quote(id)} of thread ${quote(open.threadId)}`;
    const { checkpoint, metadata } = tuple;
    if (typeof checkpoint !== "object" || checkpoint === null || !("channel_versions" in checkpoint)) {
      throw new ForkpointError("UNSUPPORTED", `${where} was not made by LangGraph.js`);
    }
    const versions = { ...checkpoint.channel_versions };
    for (const channel of Object.keys(checkpoint.channel_values ?? {})) versions[channel] ??= 0;
    try {
      const { parts } = await encodeCheckpoint(serde, checkpoint, versions);
      const dumped = await dump(serde, metadata, "the metadata");
      return {
        namespace,
        id,
        parent,
        split: true,
        parts: parts.map(({ name, tag, bytes }) => ({ name, tag, bytes: whole(bytes) })),
        metadata: { name: "", tag: dumped.tag, bytes: whole(dumped.bytes) },
        writes: this.#only(open, { namespace, id }, await this.#writesOf(tuple)),
      };
    } catch (error) {
      if (!isForkpointError(error) || error.code !== "INVALID_ARGUMENT") throw error;
      const message = `${where} cannot be imported: ${error.message}`;
      throw new ForkpointError("INVALID_ARGUMENT", message, { cause: error });
    }
  }

  /** Gives each write its index. A saver returns the writes of a task in the order of the task. */
  async #writesOf({ pendingWrites = [] }: CheckpointTuple): Promise<SourceWrite[]> {
    const { serde, peer } = this.#context;
    const regular = new Map<string, number>();
    const slots = new Map<string, SourceWrite>();
    for (const [task, channel, value] of pendingWrites) {
      let index = Object.hasOwn(peer.WRITES_IDX_MAP, channel) ? peer.WRITES_IDX_MAP[channel] : undefined;
      if (index === undefined) {
        index = regular.get(task) ?? 0;
        regular.set(task, index + 1);
      }
      const { tag, bytes } = await dump(serde, value, `the write to channel ${quote(channel)}`);
      const part: Part = { name: channel, tag, bytes: whole(bytes) };
      slots.set(slotOf({ task, index }), { task, index, part });
    }
    // The order of the other sources: the answer to a question comes before the next question of its task.
    return [...slots.values()].toSorted((a, b) => byCodePoint(a.task, b.task) || a.index - b.index);
  }

  /** Leaves out the writes that the checkpoint got after its first read. */
  #only(open: OpenThread | undefined, place: Pick<Place, "namespace" | "id">, writes: SourceWrite[]): SourceWrite[] {
    if (open === undefined) return writes;
    const key = keyOf(place);
    const slots = open.slots.get(key);
    if (slots !== undefined) return writes.filter((write) => slots.has(slotOf(write)));
    open.slots.set(key, new Set(writes.map(slotOf)));
    return writes;
  }

  async #first(threadId: string): Promise<CheckpointTuple | undefined> {
    for await (const tuple of this.#list({ thread_id: threadId }, 1)) return tuple;
    return undefined;
  }

  async *#list(configurable: NonNullable<Config["configurable"]>, limit = MOST): AsyncGenerator<CheckpointTuple> {
    const hint = "thread_id" in configurable ? "" : `. If it cannot list all threads, ${PASS_THREADS}`;
    const tuples = await asking(() => this.#from.list({ configurable }, { limit })[Symbol.asyncIterator](), hint);
    let count = 0;
    try {
      for (;;) {
        this.#throwIfStopped();
        const { done, value } = await asking(() => tuples.next(), hint);
        if (done) break;
        count += 1;
        yield value;
      }
    } finally {
      await tuples.return?.(undefined);
    }
    if (count < MOST) return;
    throw new ForkpointError("UNSUPPORTED", `the saver to import lists more than ${MOST} checkpoints: ${PASS_THREADS}`);
  }

  async #get({ threadId, namespace, id }: Omit<CheckpointRef, "id"> & { id?: string }) {
    this.#throwIfStopped();
    const newest = { configurable: { thread_id: threadId, checkpoint_ns: namespace } };
    const config = id === undefined ? newest : configOf({ threadId, namespace, id });
    return asking(() => this.#from.getTuple(config));
  }
}

const PASS_THREADS = 'pass the ids of the threads as the option "threads"';

async function asking<T>(ask: () => T, hint = ""): Promise<Awaited<T>> {
  try {
    return await ask();
  } catch (error) {
    if (isForkpointError(error)) throw error;
    const message = `cannot read the saver to import: ${textOf(error)}${hint}`;
    throw new ForkpointError("UNAVAILABLE", message, { cause: error });
  }
}

function refOf({ config, checkpoint }: CheckpointTuple): CheckpointRef {
  const { thread_id: threadId, checkpoint_ns: namespace, checkpoint_id: id } = config?.configurable ?? {};
  const found = { threadId, namespace: namespace ?? "", id: id ?? checkpoint?.id };
  if (Object.values(found).every((name) => typeof name === "string")) return found as CheckpointRef;
  throw new ForkpointError("UNSUPPORTED", "the saver to import returned a checkpoint without the ids of its thread");
}

function parentOf({ parentConfig }: CheckpointTuple): string | null {
  const parent: unknown = parentConfig?.configurable?.["checkpoint_id"];
  return typeof parent === "string" && parent !== "" ? parent : null;
}

function sizeOf({ parts, writes }: SourceCheckpoint): number {
  let size = 0;
  for (const { bytes } of parts) size += bytes.byteLength;
  for (const { part } of writes) size += part.bytes.byteLength;
  return size;
}
