/** The checkpoints of other savers. */

import type { CallsOf } from "../../bridge/calls.js";
import type * as engine from "../../bridge/calls.generated.js";
import { Tool } from "../../bridge/native.js";
import { type Unpack, type Unpacked, unpacked } from "../../bridge/wire.js";
import type { CheckpointRef } from "./config.js";
import { langgraph } from "./wire.js";

/** A checkpoint of another saver, with the writes to it. */
export type SourceCheckpoint = Unpacked<engine.langgraph.tool.FoundCheckpoint>;

/** A write of another saver. The channel is the name of its part. */
export type SourceWrite = Unpacked<engine.langgraph.tool.FoundWrite>;

/** The part of a page that belongs to a thread. */
export type SourceThread = Unpacked<engine.langgraph.tool.FoundThread>;

/** The threads of another saver. They do not change while they are read. */
export interface Source {
  /** Lists all threads, or the existing threads of `of`. The last active thread comes last. */
  threads(of?: readonly string[]): Promise<string[]>;
  /**
   * Yields the checkpoints of threads, page by page, ordered by namespace and id within each thread. A page may end within a
   * thread.
   */
  pages(threads: string[]): AsyncGenerator<SourceThread[]>;
  /** Reads the writes to a checkpoint, which need not exist. */
  writes(checkpointRef: CheckpointRef): Promise<SourceWrite[]>;
}

type Calls = CallsOf<engine.langgraph.tool.Call, engine.langgraph.tool.Responses>;

/** The maximum number of threads that a page can begin. */
const THREADS = 256;

/** Reads the database of a SqliteSaver, on Node's thread pool. See `engine/src/contract/langgraph/import/`. */
export class SqliteSaver implements Source {
  readonly #tool: Tool<engine.langgraph.tool.Which, object>;
  readonly #split: boolean;

  /** With `split`, takes the values of the channels from the checkpoint's JSON text where possible. */
  constructor(path: string, split: boolean) {
    this.#tool = new Tool(langgraph.name, { sqliteSaver: { path } });
    this.#split = split;
  }

  threads(of?: readonly string[]): Promise<string[]> {
    return this.#ask("threads", { of: of && [...of] }, (threads) => threads);
  }

  async *pages(threads: string[]): AsyncGenerator<SourceThread[]> {
    let after = { namespace: "", id: "" };
    for (let at = 0; at < threads.length;) {
      const some = threads.slice(at, at + THREADS);
      const page = await this.#ask("page", { threads: some, ...after, split: this.#split }, openPage);
      at += page.filter(({ ended }) => ended).length;
      const last = page.at(-1)!;
      const { namespace, id } = (last.ended ? undefined : last.checkpoints.at(-1)) ?? { namespace: "", id: "" };
      after = { namespace, id };
      yield page;
    }
  }

  writes({ threadId, namespace, id }: CheckpointRef): Promise<SourceWrite[]> {
    return this.#ask("writes", { threadId, namespace, id }, (writes, part) =>
      writes.map((one) => openWrite(one, part)),
    );
  }

  async #ask<K extends keyof Calls, R>(
    call: K,
    fields: Parameters<Calls[K]>[0],
    unpack: Unpack<ReturnType<Calls[K]>, R>,
  ): Promise<R> {
    const response = await this.#tool.callOnPool({ [call]: fields });
    return unpacked(response!, unpack);
  }
}

const openWrite: Unpack<engine.langgraph.tool.FoundWrite> = (write, part) => ({ ...write, part: part(write.part) });

const openPage: Unpack<engine.langgraph.tool.FoundThread[]> = (page, part) =>
  page.map((thread) => ({
    ...thread,
    checkpoints: thread.checkpoints.map((found) => ({
      ...found,
      parts: found.parts.map(part),
      metadata: part(found.metadata),
      writes: found.writes.map((write) => openWrite(write, part)),
    })),
    orphans: thread.orphans.map((orphan) => ({
      ...orphan,
      writes: orphan.writes.map((write) => openWrite(write, part)),
    })),
  }));
