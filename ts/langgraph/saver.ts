import {
  BaseCheckpointSaver,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointTuple,
  type Config,
  type DeltaChannelHistory,
  type Metadata,
  type PendingWrite,
  type SerializerProtocol,
  WRITES_IDX_MAP,
} from "@langchain/langgraph-checkpoint";
import type { StoreOptions } from "../../index.js";
import { ForkpointError, show, typeError } from "../errors.js";
import { own } from "../ids.js";
import { call, direct } from "../native.js";
import type { Engine } from "../store.js";
import { View } from "../view.js";
import { deltaHistory } from "./history.js";
import { asked, askedId, configOf, written } from "./place.js";
import { retrying } from "./retry.js";
import * as threads from "./threads.js";
import { type Reader, find, listed, placeOf, readListing, tupleOf } from "./tuples.js";
import { dump, takeApart } from "./values.js";

/** Whose checkpoints these are, among those of all contracts. */
const space = direct((binding) => binding.LANGGRAPH_SPACE);

type Options = StoreOptions & { serde?: SerializerProtocol };

export class ForkpointSaver extends BaseCheckpointSaver {
  readonly #view: View;

  constructor(target: string | URL | object, options?: Options) {
    const { serde, ...others } = options ?? {};
    if (serde !== undefined) checkSerde(serde);
    super(serde);
    this.#view = new View(target, Object.keys(others).length > 0 ? others : undefined, space);
  }

  getTuple(config: Config): Promise<CheckpointTuple | undefined> {
    return this.#read(async (reader) => {
      const threadId = asked(config, "thread_id");
      if (threadId === undefined) return undefined;
      const found = await find(reader, threadId, asked(config, "checkpoint_ns") ?? "", askedId(config));
      return found === null ? undefined : tupleOf(reader, found);
    });
  }

  async *list(config: Config, options?: CheckpointListOptions): AsyncGenerator<CheckpointTuple> {
    const wanted = readListing(config, options);
    // Each page and each tuple is an operation of its own: nothing is under way while the caller looks at one.
    const headers = listed(await this.#read(async (reader) => reader), wanted);
    for await (const header of headers) {
      const { threadId, namespace, id } = placeOf(header);
      const tuple = await this.#read(async (reader) => {
        const found = await find(reader, threadId, namespace, id);
        return found && tupleOf(reader, found);
      });
      // It may have gone in the meantime.
      if (tuple !== null) yield tuple;
    }
  }

  put(config: Config, checkpoint: Checkpoint, metadata: Metadata, newVersions: ChannelVersions): Promise<Config> {
    return this.#view.run(async ({ native }) => {
      const { threadId, namespace } = written(config, "put()");
      if (typeof checkpoint !== "object" || checkpoint === null) {
        throw typeError(`checkpoint must be an object, and is ${show(checkpoint)}`);
      }
      const id = own(checkpoint.id, "checkpoint.id");
      const parent = askedId(config);
      const taken = takeApart(this.serde, checkpoint, newVersions ?? {});
      const [[tag, bytes], { parts, inherit }] = await Promise.all([dump(this.serde, metadata, "the metadata"), taken]);
      await retrying(() =>
        call<null>(native, (ticket) =>
          native.langgraphPut(
            ticket,
            threadId,
            namespace,
            id,
            parent,
            parts.map(([name]) => name),
            parts.map(([, tag]) => tag),
            parts.map(([, , bytes]) => bytes),
            inherit,
            tag,
            bytes,
            Date.now(),
          ),
        ),
      );
      return configOf({ threadId, namespace, id });
    });
  }

  putWrites(config: Config, writes: PendingWrite[], taskId: string): Promise<void> {
    return this.#view.run(async ({ native }) => {
      const { threadId, namespace } = written(config, "putWrites()");
      const id = askedId(config);
      if (id === undefined) {
        throw new ForkpointError("INVALID_ARGUMENT", "putWrites() needs a checkpoint_id in config.configurable");
      }
      const task = own(taskId, "taskId");
      if (!Array.isArray(writes)) throw typeError(`writes must be an array, and is ${show(writes)}`);
      const channels = writes.map(([channel]) => own(channel, "the channel of a write"));
      const special = (channel: string) => (Object.hasOwn(WRITES_IDX_MAP, channel) ? WRITES_IDX_MAP[channel] : undefined);
      const dumped = await Promise.all(
        writes.map(([channel, value]) => dump(this.serde, value, `the write to channel ${JSON.stringify(channel)}`)),
      );
      await retrying(() =>
        call<null>(native, (ticket) =>
          native.langgraphPutWrites(
            ticket,
            threadId,
            namespace,
            own(id, "checkpoint_id"),
            task,
            channels.map((channel, position) => special(channel) ?? position),
            channels,
            dumped.map(([tag]) => tag),
            dumped.map(([, bytes]) => bytes),
            channels.every((channel) => special(channel) !== undefined),
          ),
        ),
      );
    });
  }

  deleteThread(threadId: string): Promise<void> {
    return this.#view.run((engine) => threads.remove(engine, threadId));
  }

  getDeltaChannelHistory({ config, channels }: { config: Config; channels: string[] }): Promise<
    Record<string, DeltaChannelHistory>
  > {
    return this.#read((reader) => deltaHistory(reader, config, channels));
  }

  prune(threadIds: string[], strategy?: threads.Strategy): Promise<{ removed: number }> {
    return this.#read((reader) => threads.prune(reader, threadIds, strategy));
  }

  deleteForRuns(runIds: string[]): Promise<{ removed: number }> {
    return this.#read((reader) => threads.removeRuns(reader, runIds));
  }

  copyThread(sourceThreadId: string, targetThreadId: string): Promise<void> {
    return this.#read((reader) => threads.copy(reader, sourceThreadId, targetThreadId));
  }

  listThreads(options?: { limit?: number; cursor?: string | null }): Promise<threads.Page> {
    return this.#view.run((engine) => threads.list(engine, options));
  }

  stats(): ReturnType<View["stats"]> {
    return this.#view.stats();
  }

  vacuum(): Promise<void> {
    return this.#view.vacuum();
  }

  close(): Promise<void> {
    return this.#view.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #read<T>(work: (reader: Reader) => Promise<T>): Promise<T> {
    return this.#view.run(({ native }: Engine) =>
      work({ native, serde: this.serde, getNextVersion: (current) => this.getNextVersion(current) }),
    );
  }
}

function checkSerde(serde: SerializerProtocol): void {
  for (const method of ["dumpsTyped", "loadsTyped"] as const) {
    if (typeof serde?.[method] !== "function") throw typeError(`option "serde" must have a method ${method}()`);
  }
}
