/** Stores the threads that an import reads. */

import type { Checkpoint } from "@langchain/langgraph-checkpoint";
import { ForkpointError, quote } from "../../bridge/errors.js";
import type { CheckpointRef } from "./config.js";
import { dependsOnParent } from "./dependence.js";
import { load } from "./serde.js";
import type { Source, SourceCheckpoint, SourceThread, SourceWrite } from "./source.js";
import type { SaverContext } from "./tuples.js";
import { channelOf, encodeCheckpoint } from "./values.js";
import { type IndexedWrite, type Pieces, putCheckpoint, putWrites } from "./writing.js";

/** The engine may store a larger checkpoint later than smaller ones of other threads. */
const KEEPS_ITS_PLACE = 128 << 10;

/** Copies a thread of another saver. The pages of the thread are added one after the other. */
export class ThreadCopy {
  pages = 0;
  readonly #context: SaverContext;
  readonly #source: Source;
  readonly #threadId: string;
  /** The checkpoints that have a child. Their writes are copied before the child, which claims them. */
  readonly #parents = new Set<string>();
  /** The checkpoints that have no child so far, with the writes to them. */
  readonly #leaves = new Map<string, { checkpointRef: CheckpointRef; writes: SourceWrite[] }>();
  #large = false;

  constructor(context: SaverContext, source: Source, threadId: string) {
    this.#context = context;
    this.#source = source;
    this.#threadId = threadId;
  }

  /** Sends a page to the engine, and adds the promises of its calls to `stored`. */
  async add({ checkpoints, orphans, ended }: SourceThread, stored: Array<Promise<unknown>>): Promise<void> {
    this.pages += 1;
    for (const row of checkpoints) await this.#put(row, stored);
    if (!ended) return;
    for (const { checkpointRef, writes } of this.#leaves.values()) this.#putWrites(checkpointRef, writes, stored);
    for (const { namespace, id, writes } of orphans) {
      const checkpointRef = { threadId: this.#threadId, namespace, id };
      if (!this.#parents.has(keyOf(checkpointRef))) this.#putWrites(checkpointRef, writes, stored);
    }
    // Wait, so that the threads are saved in the order of their last activity.
    if (this.#large) await Promise.all(stored);
  }

  async #put(row: SourceCheckpoint, stored: Array<Promise<unknown>>): Promise<void> {
    const { namespace, id, parent, metadata, writes } = row;
    const checkpointRef = { threadId: this.#threadId, namespace, id };
    const before = parent ? { ...checkpointRef, id: parent } : undefined;
    if (before) {
      const key = keyOf(before);
      this.#putWrites(before, this.#leaves.get(key)?.writes ?? (await this.#source.writes(before)), stored);
      this.#leaves.delete(key);
      this.#parents.add(key);
    }
    const { checkpoint, parts } = await this.#read(row);
    const depends = dependsOnParent(
      checkpoint,
      await load(this.#context.serde, metadata, `the metadata of checkpoint ${quote(id)}`),
      before,
    );
    const whole = { parts, inherit: [], like: [], metadata, mark: undefined };
    const pieces: Pieces = { ...whole, dependsOnParent: await depends(this.#context) };
    this.#large ||= parts.reduce((sum, { bytes }) => sum + bytes.byteLength, 0) > KEEPS_ITS_PLACE;
    send(putCheckpoint(this.#context.native, checkpointRef, before?.id, pieces), stored);
    if (!this.#parents.has(keyOf(checkpointRef))) this.#leaves.set(keyOf(checkpointRef), { checkpointRef, writes });
  }

  #putWrites(checkpointRef: CheckpointRef, writes: SourceWrite[], stored: Array<Promise<unknown>>): void {
    const tasks = new Map<string, IndexedWrite[]>();
    for (const { task, ...write } of writes) tasks.set(task, [...(tasks.get(task) ?? []), write]);
    for (const [task, all] of tasks)
      send(putWrites(this.#context.native, checkpointRef, { task, path: "" }, all, false), stored);
  }

  async #read(row: SourceCheckpoint): Promise<{ checkpoint: Checkpoint; parts: Pieces["parts"] }> {
    const { serde } = this.#context;
    const rest = (await load(
      serde,
      row.parts.find(({ name }) => name === "")!,
      `checkpoint ${quote(row.id)} of the database to import`,
    )) as Checkpoint;
    if (typeof rest !== "object" || rest === null || !("channel_versions" in rest)) {
      throw new ForkpointError(
        "UNSUPPORTED",
        `checkpoint ${quote(row.id)} of the database to import was not made by LangGraph.js`,
      );
    }
    if (row.split) {
      const channels = row.parts.map(({ name }) => channelOf(name)).filter((channel) => channel !== undefined);
      const values = Object.fromEntries(channels.map((channel) => [channel, true]));
      return { checkpoint: { ...rest, channel_values: values }, parts: row.parts };
    }
    const versions = { ...rest.channel_versions };
    for (const channel of Object.keys(rest.channel_values ?? {})) versions[channel] ??= 0;
    return { checkpoint: rest, parts: (await encodeCheckpoint(serde, rest, versions)).parts };
  }
}

/** Adds a call's promise to `stored`. The function that awaits all of `stored` reports the error. */
function send(call: Promise<unknown>, stored: Array<Promise<unknown>>): void {
  call.catch(() => {});
  stored.push(call);
}

function keyOf({ namespace, id }: CheckpointRef): string {
  return JSON.stringify([namespace, id]);
}
