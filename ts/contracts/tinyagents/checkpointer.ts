/** `Checkpointer`, the class that stores the threads of graphs. */

import { randomUUID } from "node:crypto";
import type { CheckOptions, LeaseOptions, RunRef, StatsOptions, VerifyReport } from "../../../index.js";
import type {
  CheckpointConfig,
  CheckpointMetadata,
  CheckpointTuple,
  Checkpointer as Contract,
  CheckpointerOptions,
  CheckpointerStats,
  GraphThreadsPage,
  NewThreadCheckpoint,
  Namespace,
  PendingWrite,
  ThreadCheckpoint,
  ThreadListOptions,
  ThreadPruneOptions,
} from "../../../tinyagents.js";
import type { Engine } from "../../store/engine.js";
import { ForkpointError, readingArgument, show, typeError } from "../../bridge/errors.js";
import { StoreHandle } from "../../store/handle.js";
import { setHandle } from "../../store/handles.js";
import { idOrNull, requireId, splitLineage } from "../../store/ids.js";
import { type Lease, leaseOption } from "../../store/lease.js";
import { flag, readExpectedParent, readRecord, whole } from "../../store/options.js";
import { detachBuffers } from "../shared/record.js";
import { stats } from "../../store/retention.js";
import { listWithStatus } from "./thread-list.js";
import * as threads from "./threads.js";
import {
  decodeCheckpoint,
  decodeWrite,
  encodeCheckpoint,
  encodeWrites,
  namespaceOrNull,
  namespaceText,
  readNamespace,
} from "./values.js";
import { tinyagents } from "./wire.js";

export class Checkpointer<S> implements Contract<S> {
  readonly #handle: StoreHandle;
  readonly #expectsParent: boolean;

  constructor(target: string | URL | object, options?: CheckpointerOptions) {
    const [expectsParent, others] = readExpectedParent(options);
    this.#expectsParent = expectsParent;
    this.#handle = StoreHandle.of(target, others, tinyagents);
    setHandle(this, this.#handle);
  }

  async put(
    checkpoint: NewThreadCheckpoint<S>,
    options?: { expectedParent?: boolean; lease?: Lease },
  ): Promise<string> {
    const read = readRecord(options, "options", { expectedParent: flag, lease: leaseOption });
    const { expectedParent = this.#expectsParent, lease } = read as NonNullable<typeof options>;
    return this.#handle.save(async (engine) => {
      const encoded = encodeCheckpoint(checkpoint, engine.format, randomUUID);
      await threads.put(engine, encoded, expectedParent);
      detachBuffers(...encoded.parts, encoded.metadata);
      return encoded.id;
    }, lease);
  }

  get(threadId: string, checkpointId?: string | null, namespace?: Namespace): Promise<ThreadCheckpoint<S> | null> {
    return this.#handle.run(async (engine) => {
      const found = await find(engine, { threadId, checkpointId, namespace });
      return found && decodeCheckpoint<S>(found, engine.format);
    });
  }

  list(threadId: string, options?: ThreadListOptions): Promise<CheckpointMetadata[]> {
    return this.#handle.run((engine) => threads.list(engine, threadId, options));
  }

  getTuple(config: CheckpointConfig): Promise<CheckpointTuple<S> | null> {
    return this.#handle.run(async (engine) => {
      const found = await find(engine, config);
      if (found === null) return null;
      const checkpoint = decodeCheckpoint<S>(found, engine.format);
      const { threadId, checkpointId, parentCheckpointId, namespace } = checkpoint;
      const written = found.writes.map((write) => decodeWrite(write, engine.format));
      return {
        config: { threadId, checkpointId, namespace },
        checkpoint,
        parentConfig:
          parentCheckpointId === null
            ? null
            : { threadId, checkpointId: parentCheckpointId, namespace: [...namespace] },
        pendingWrites: written.length > 0 ? written : structuredClone(checkpoint.pendingWrites),
      };
    });
  }

  async putWrites(
    config: CheckpointConfig,
    writes: readonly PendingWrite[],
    options?: { lease?: Lease },
  ): Promise<void> {
    const { lease } = readRecord(options, "options", { lease: leaseOption }) as { lease?: Lease };
    return this.#handle.save(async (engine) => {
      const { threadId, checkpointId, namespace } = readConfig(config);
      if (checkpointId === undefined || checkpointId === null) {
        throw new ForkpointError(
          "INVALID_ARGUMENT",
          "putWrites needs config.checkpointId: the checkpoint of the writes",
        );
      }
      const place = {
        threadId: requireId(threadId, "config.threadId"),
        namespace: namespaceText(namespace, "config.namespace"),
        id: requireId(checkpointId, "config.checkpointId"),
      };
      const encoded = encodeWrites(writes, engine.format);
      await threads.putWrites(engine, place, encoded);
      detachBuffers(...encoded.map(({ part }) => part));
    }, lease);
  }

  getWrites(config: CheckpointConfig): Promise<PendingWrite[]> {
    return this.#handle.run(async (engine) => {
      const found = await find(engine, config);
      return found?.writes.map((write) => decodeWrite(write, engine.format)) ?? [];
    });
  }

  stateHistory(threadId: string, namespace?: Namespace, limit?: number): Promise<Array<ThreadCheckpoint<S>>> {
    return this.#handle.run(async (engine) => {
      const most =
        limit === undefined
          ? Number.POSITIVE_INFINITY
          : whole(0, Number.MAX_SAFE_INTEGER, "checkpoints")(limit, "limit");
      const history: Array<ThreadCheckpoint<S>> = [];
      const seen = new Set<string>();
      let found = most > 0 ? await find(engine, { threadId, namespace }) : null;
      while (found !== null && !seen.has(found.header.id)) {
        seen.add(found.header.id);
        history.push(decodeCheckpoint<S>(found, engine.format));
        const { parent } = found.header;
        if (parent === null || history.length >= most) break;
        found = await threads.find(engine, found.header.threadId, found.header.namespace, parent);
      }
      return history;
    });
  }

  listThreads(): Promise<string[]> {
    return this.#handle.run(threads.listThreads);
  }

  threads(options?: { limit?: number; cursor?: string | null | undefined }): Promise<GraphThreadsPage> {
    return this.#handle.run((engine) => listWithStatus(engine, this, options));
  }

  lease(run: RunRef, options?: LeaseOptions): Promise<Lease> {
    return this.#handle.lease(run, options);
  }

  withLease(lease: Lease): Checkpointer<S> {
    return new Checkpointer(this.#handle.withLease(lease), { expectedParent: this.#expectsParent });
  }

  deleteThread(threadId: string): Promise<void> {
    return this.#handle.run((engine) => threads.deleteThread(engine, threadId));
  }

  deleteCheckpoints(threadId: string, checkpointIds: readonly string[]): Promise<number> {
    return this.#handle.run((engine) => threads.deleteCheckpoints(engine, threadId, checkpointIds));
  }

  deleteByRun(threadId: string, runId: string | null): Promise<number> {
    return this.#handle.run(async (engine) => (runId === null ? 0 : threads.deleteByRun(engine, threadId, runId)));
  }

  copyThread(sourceThreadId: string, targetThreadId: string): Promise<void> {
    return this.#handle.run((engine) => threads.copyThread(engine, sourceThreadId, targetThreadId));
  }

  prune(threadId: string, keepLast: number, options?: ThreadPruneOptions): Promise<number> {
    return this.#handle.run((engine) => threads.prune(engine, threadId, keepLast, options, () => this.#handle.closing));
  }

  stats(options?: StatsOptions): Promise<CheckpointerStats> {
    return this.#handle.run(async (engine) => {
      const { lineages: namespaces, largest, ...rest } = await stats(engine, tinyagents.name, options);
      const named = ({ lineage, ...line }: (typeof largest)[number]) => {
        const { threadId, namespace } = splitLineage(lineage);
        return { threadId, namespace: readNamespace(namespace), ...line };
      };
      return { ...rest, namespaces, largest: largest.map(named) };
    });
  }

  check(options?: CheckOptions): Promise<VerifyReport> {
    return this.#handle.check(options);
  }

  vacuum(): Promise<void> {
    return this.#handle.vacuum();
  }

  close(): Promise<void> {
    return this.#handle.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function readConfig(config: unknown): Record<keyof CheckpointConfig, unknown> {
  if (typeof config !== "object" || config === null)
    throw typeError(`config must be an object, and is ${show(config)}`);
  // Read every field once, because a field may be a getter.
  return readingArgument("config", () => {
    const { threadId, checkpointId, namespace } = config as Record<keyof CheckpointConfig, unknown>;
    return { threadId, checkpointId, namespace };
  });
}

/**
 * Finds a checkpoint. Without a namespace, it may be in any namespace of the thread. Returns null if there is none, or if no
 * stored checkpoint can have this place.
 */
async function find(engine: Engine, config: { [K in keyof CheckpointConfig]?: unknown }) {
  const { threadId, checkpointId, namespace } = readConfig(config);
  const thread = idOrNull(threadId, "threadId");
  const id = checkpointId === undefined || checkpointId === null ? undefined : idOrNull(checkpointId, "checkpointId");
  const ns = namespace === undefined || namespace === null ? undefined : namespaceOrNull(namespace, "namespace");
  return thread === null || id === null || ns === null ? null : threads.find(engine, thread, ns, id);
}
