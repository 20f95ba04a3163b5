/** Stores the threads that an import reads. */

import type { Checkpoint } from "@langchain/langgraph-checkpoint";
import { ForkpointError, quote } from "../../bridge/errors.js";
import { type Bytes, whole } from "../../bridge/bytes.js";
import { encodeMark } from "../../store/mark.js";
import { type Difference, compareWrites } from "./comparison.js";
import type { CheckpointRef } from "./config.js";
import { type Walk, dependsOnParent } from "./dependence.js";
import { upwards } from "./history.js";
import { type SourceOutline, keyOf } from "./outline.js";
import { newStatus, nextNodesOf } from "./next.js";
import { stepNodes } from "./nodes.js";
import { load } from "./serde.js";
import type { Source, SourceCheckpoint, SourceThread, SourceWrite } from "./import-source.js";
import { type SaverContext, byCodePoint, find } from "./tuples.js";
import { channelOf, encodeCheckpoint } from "./values.js";
import { type LanggraphCalls, langgraph } from "./wire.js";
import { type Pieces, putFields, writeFields } from "./writing.js";

/** A thread with more bytes or more checkpoints is stored in several transactions. */
const [UNIT_BYTES, UNIT_CHECKPOINTS] = [16 << 20, 2_000];

/** A larger checkpoint may be stored later than smaller checkpoints of other threads. */
const KEEPS_ITS_PLACE = 128 << 10;

type ImportCall = Parameters<LanggraphCalls["import"]>[0];

/** What the store has of a thread, and what the import does with it. */
export interface Plan {
  /** True if the stored thread is removed first. */
  replace: boolean;
  /** The newest stored checkpoint of each namespace. */
  newest: Map<string, string>;
  /** All stored checkpoints. */
  stored: ReadonlySet<string>;
  /** The checkpoints of the source that are stored, with their differences. Null: none. */
  have: ReadonlyMap<string, Difference | null>;
  /** The checkpoints that have a child that is not stored. */
  toBeClaimed: ReadonlySet<string>;
}

/** A checkpoint with its parts as they are stored. */
interface Read extends SourceCheckpoint {
  checkpoint: Checkpoint;
}

/** Sends a transaction. `last`: the last one of the thread. `large`: it may be stored late. */
export type Send = (store: () => Promise<unknown>, last: boolean, large: boolean) => Promise<void>;

/**
 * Stores the missing checkpoints and writes of a thread. Only writes to LangGraph's own channels that the source has
 * replaced are replaced. A transaction is refused with `CONFLICT` if a program has continued the thread.
 */
export class ThreadWriter {
  /** True after the first transaction. */
  begun = false;
  readonly #context: SaverContext;
  readonly #source: Source;
  readonly #threadId: string;
  readonly #outline: SourceOutline;
  readonly #plan: Plan;
  readonly #send: Send;
  readonly #newest: Map<string, string>;
  /** The checkpoints that this transaction stores, and the newest one. */
  readonly #rows = new Map<string, Read>();
  /** The writes to the checkpoints that were added since the last transaction. */
  readonly #writesOf = new Map<string, SourceWrite[]>();
  /** The checkpoints whose stored writes have been claimed. */
  readonly #claimed = new Set<string>();
  /** The newest checkpoint of the thread, which is stored last. */
  #tip: { row: Read; claims: boolean } | undefined;
  #writes: ImportCall["writes"] = [];
  #puts: ImportCall["puts"] = [];
  #writeBuffers: Bytes[] = [];
  #putBuffers: Bytes[] = [];
  #namespaces = new Set([""]);
  #bytes = 0;
  #large = false;

  constructor(context: SaverContext, source: Source, threadId: string, outline: SourceOutline, plan: Plan, send: Send) {
    this.#context = context;
    this.#source = source;
    this.#threadId = threadId;
    this.#outline = outline;
    this.#plan = plan;
    this.#send = send;
    this.#newest = new Map(plan.newest);
  }

  /** Adds a page of the thread. The pages are added one after the other. */
  async add({ checkpoints, orphans, ended }: SourceThread): Promise<void> {
    for (const row of checkpoints) {
      await this.#add(row);
      if (this.#bytes > UNIT_BYTES || this.#puts.length >= UNIT_CHECKPOINTS) await this.#flush(false);
    }
    if (!ended) return;
    if (this.#tip !== undefined) await this.#put(this.#tip.row, this.#tip.claims, true);
    for (const { writes, ...orphan } of orphans) {
      const key = keyOf(orphan);
      // The children have copied the writes of a parent that does not exist.
      if (!this.#outline.parents.has(key) && !this.#plan.stored.has(key)) this.#addWrites(orphan, writes);
    }
    await this.#flush(true);
  }

  /** Removes the thread again if this writer has begun it, unless a program has continued the thread. */
  async undo(): Promise<void> {
    if (!this.begun || this.#plan.stored.size > 0) return;
    const expect = [...this.#newest].map(([namespace, newest]) => ({ namespace, newest }));
    const call = { threadId: this.#threadId, expect, replace: true, writes: [], puts: [] };
    await langgraph.call(this.#context.native, "import", call).catch(() => {});
  }

  async #add(row: SourceCheckpoint): Promise<void> {
    const { namespace, id, parent, writes } = row;
    const [key, before] = [keyOf(row), parent ? { namespace, id: parent } : undefined];
    const { have, toBeClaimed } = this.#plan;
    const difference = have.get(key);
    const missing = difference === undefined;
    this.#writesOf.set(key, writes);
    let claims = false;
    if (before && missing) claims = await this.#addClaimed(before, id);
    else if (before && this.#outline.keys.has(keyOf(before)) && !have.has(keyOf(before))) {
      await this.#copyWrites(before, id);
    }
    if (missing) {
      const read = await this.#read(row);
      this.#rows.set(key, read);
      if (!this.#outline.parents.has(key)) this.#addWrites(row, writes);
      if (key === this.#outline.tip) this.#tip = { row: read, claims };
      else await this.#put(read, claims, false);
      return;
    }
    if (difference !== null && !toBeClaimed.has(key)) {
      this.#addWrites(row, difference.lacks);
      this.#addWrites(row, difference.changed, { replace: true });
    }
    // The newest checkpoint is stored again to get its mark.
    if (key === this.#outline.tip) this.#tip = { row: await this.#read(row), claims };
  }

  /**
   * Adds the writes of a parent for a child. Returns true if the child claims the parent's stored writes. Each later
   * child gets a copy of them.
   */
  async #addClaimed(before: { namespace: string; id: string }, child: string): Promise<boolean> {
    const key = keyOf(before);
    if (!this.#plan.have.has(key) || this.#claimed.has(key)) {
      await this.#copyWrites(before, child);
      return false;
    }
    this.#claimed.add(key);
    const found = await find(this.#context, this.#threadId, before.namespace, before.id);
    const pending = found?.writes.filter(({ claimedBy }) => !claimedBy) ?? [];
    const { lacks, changed } = compareWrites(pending, await this.#writesTo(before));
    this.#addWrites(before, lacks);
    this.#addWrites(before, changed, { replace: true });
    return true;
  }

  async #copyWrites(before: { namespace: string; id: string }, claimedBy: string): Promise<void> {
    this.#addWrites(before, await this.#writesTo(before), { claimedBy });
  }

  async #writesTo(of: { namespace: string; id: string }): Promise<SourceWrite[]> {
    return this.#writesOf.get(keyOf(of)) ?? this.#source.writes({ threadId: this.#threadId, ...of });
  }

  #addWrites(
    { namespace, id }: { namespace: string; id: string },
    writes: SourceWrite[],
    { replace = false, claimedBy }: { replace?: boolean; claimedBy?: string } = {},
  ): void {
    const checkpointRef = { threadId: this.#threadId, namespace, id };
    const tasks = new Map<string, SourceWrite[]>();
    for (const write of writes) {
      const task = tasks.get(write.task);
      if (task) task.push(write);
      else tasks.set(write.task, [write]);
    }
    for (const [task, all] of tasks) {
      const claimed = all.map((write) => ({ ...write, claimedBy: claimedBy ?? null }));
      this.#writes.push(writeFields(checkpointRef, { task, path: "" }, claimed, replace));
      for (const { part } of all) {
        this.#writeBuffers.push(part.bytes);
        this.#bytes += part.bytes.byteLength;
      }
    }
  }

  /** Adds a checkpoint. The newest one carries the mark of the import. */
  async #put(row: Read, claims: boolean, isTip: boolean): Promise<void> {
    const { namespace, id, parent, parts, metadata, checkpoint } = row;
    const checkpointRef = { threadId: this.#threadId, namespace, id };
    const before = parent ? { ...checkpointRef, id: parent } : undefined;
    const what = `the metadata of checkpoint ${quote(id)}`;
    const loaded = await load(this.#context.serde, metadata, what);
    const depends = dependsOnParent(checkpoint, loaded, before);
    const next = nextNodesOf(checkpoint);
    const imported = isTip ? this.#outline.imported : undefined;
    const mark = encodeMark({ imported, nodes: stepNodes(checkpoint, loaded, next) });
    const walk: Walk = (context, of, channels) => this.#upwards(context, of, channels);
    const pieces: Pieces = {
      parts,
      inherit: [],
      like: [],
      metadata,
      mark,
      dependsOnParent: await depends(this.#context, walk),
      status: newStatus(next),
    };
    this.#puts.push(putFields(checkpointRef, before?.id, pieces, { claims }));
    const buffers = [...parts, metadata].map(({ bytes }) => bytes);
    const size = buffers.reduce((sum, { byteLength }) => sum + byteLength, 0);
    this.#putBuffers.push(...buffers);
    this.#bytes += size;
    this.#large ||= size > KEEPS_ITS_PLACE;
    this.#namespaces.add(namespace);
  }

  /** Yields the ancestors of a checkpoint. Some may not be stored yet. */
  async *#upwards(context: SaverContext, of: CheckpointRef, channels: string[]): ReturnType<Walk> {
    const wanted = new Set(channels);
    const seen = new Set<string>();
    let { id } = of;
    for (;;) {
      const key = keyOf({ namespace: of.namespace, id });
      const row = this.#rows.get(key);
      if (row === undefined) {
        if (!seen.has(key)) yield* upwards(context, { ...of, id }, [...wanted]);
        return;
      }
      if (seen.has(key)) return;
      seen.add(key);
      const parts = row.parts.filter(({ name }) => wanted.has(channelOf(name)!));
      const writes = row.writes.filter(({ part }) => wanted.has(part.name));
      yield { header: row, parts, writes };
      for (const { name } of parts) wanted.delete(channelOf(name)!);
      if (!row.parent || wanted.size === 0) return;
      id = row.parent;
    }
  }

  async #read(row: SourceCheckpoint): Promise<Read> {
    const { serde } = this.#context;
    const stored = (await load(
      serde,
      row.parts.find(({ name }) => name === "")!,
      `checkpoint ${quote(row.id)} of the database to import`,
    )) as Checkpoint;
    if (typeof stored !== "object" || stored === null || !("channel_versions" in stored)) {
      throw new ForkpointError(
        "UNSUPPORTED",
        `checkpoint ${quote(row.id)} of the database to import was not made by LangGraph.js`,
      );
    }
    const rest = { ...stored, id: row.id };
    if (row.split) {
      const channels = row.parts.map(({ name }) => channelOf(name)).filter((channel) => channel !== undefined);
      const values = Object.fromEntries(channels.map((channel) => [channel, true]));
      return { ...row, checkpoint: { ...rest, channel_values: values } };
    }
    const versions = { ...rest.channel_versions };
    for (const channel of Object.keys(rest.channel_values ?? {})) versions[channel] ??= 0;
    const { parts } = await encodeCheckpoint(serde, rest, versions);
    return {
      ...row,
      checkpoint: rest,
      parts: parts.map(({ name, tag, bytes }) => ({ name, tag, bytes: whole(bytes) })),
    };
  }

  /** Stores the added checkpoints and writes, in one transaction. */
  async #flush(last: boolean): Promise<void> {
    if (this.#puts.length === 0 && this.#writes.length === 0) return;
    const replace = this.#plan.replace && !this.begun;
    const expect = [...this.#namespaces].map((namespace) => ({ namespace, newest: this.#newest.get(namespace) }));
    const call: ImportCall = { threadId: this.#threadId, expect, replace, writes: this.#writes, puts: this.#puts };
    const buffers = [...this.#writeBuffers, ...this.#putBuffers];
    const store = () => langgraph.call(this.#context.native, "import", call, buffers);
    await this.#send(store, last, this.#large);
    this.begun = true;
    if (replace) this.#newest.clear();
    for (const { namespace, id } of this.#puts) {
      const newest = this.#newest.get(namespace);
      if (newest === undefined || byCodePoint(newest, id) < 0) this.#newest.set(namespace, id);
    }
    [this.#writes, this.#puts, this.#writeBuffers, this.#putBuffers] = [[], [], [], []];
    [this.#bytes, this.#namespaces] = [0, new Set([""])];
    this.#rows.clear();
    this.#writesOf.clear();
    if (this.#tip !== undefined) this.#rows.set(keyOf(this.#tip.row), this.#tip.row);
  }
}
