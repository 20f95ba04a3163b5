/** `Checkpointer`, the class that stores the threads of graphs. */

import { crypto } from "../../bridge/crypto.js";
import { ForkpointError, readingArgument, show, typeError } from "../../bridge/errors.js";
import { ContractStore } from "../../store/contract-store.js";
import type { Engine } from "../../store/engine.js";
import { StoreHandle } from "../../store/handle.js";
import type { StoreContract } from "../../store/host.js";
import { idOrNull, requireId, splitLineage } from "../../store/ids.js";
import { leaseOption, type Lease } from "../../store/lease.js";
import { flag, readRecord, splitOptions, whole, type StoreOptions } from "../../store/options.js";
import type { DeleteOptions } from "../../store/removing.js";
import type { StoreStats, LineageStats } from "../../store/results.js";
import { stats, type StatsOptions } from "../../store/retention.js";
import type { Store } from "../../store/store.js";
import { detachBuffers } from "../../bridge/detach.js";
import type { Exact } from "../../bridge/wire.js";
import { setExpectation } from "./expectation.js";
import { listWithStatus, type GraphThreadsPage } from "./thread-list.js";
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
import { checkpointName, nameOf, tinyagents } from "./wire.js";
import type {
  CheckpointConfig,
  CheckpointMetadata,
  CheckpointTuple,
  Namespace,
  NewThreadCheckpoint,
  PendingWrite,
  ThreadCheckpoint,
} from "./contract.js";
import type { ThreadPruneOptions } from "./threads.js";

const later = (): typeof import("./later.js") => require("./later.js");
const contract: StoreContract = {
  name: tinyagents.name,
  get undo() {
    return later().undo;
  },
};

/** Options of `list()`. */
export interface ThreadListOptions {
  /** Lists only the checkpoints that were put before this one. An unknown id lists none. */
  before?: string | null;
  /** The maximum number of results. Default: all. */
  limit?: number;
  /** Lists only the checkpoints whose metadata has these top-level keys with equal values. */
  filter?: Record<string, unknown>;
  /** Default: all namespaces of the thread. */
  namespace?: Namespace | null;
}

export interface CheckpointerOptions extends StoreOptions {
  /**
   * If true, the parent of a checkpoint must be the latest checkpoint of its namespace. If two processes continue a
   * thread at the same time, one of them rejects with `CONFLICT`. If false, the thread can fork without notice.
   * Default: true for graph runs that begin at the latest checkpoint, false for your own calls of `put`.
   */
  expectedParent?: boolean;
}

/** Statistics of the threads. */
export interface CheckpointerStats extends Omit<StoreStats, "lineages" | "largest"> {
  /** The number of the threads' namespaces. */
  namespaces: number;
  /** The namespaces that use the most storage, the largest first. */
  largest: Array<{ threadId: string; namespace: Namespace } & Omit<LineageStats, "lineage">>;
}

/**
 * Stores the checkpoints of threads, so that a thread can continue after a crash.
 *
 * - Checkpoints are appended. A stored checkpoint never changes.
 * - A resolved `put` is durable. Reads return fresh objects.
 * - Deleting, copying and pruning work without a graph.
 *
 * All methods give the error codes `CLOSED`, `BUSY`, `FULL`, `UNAVAILABLE` and `CORRUPT` where they apply.
 *
 * @example
 * ```ts
 * const checkpointer = new Checkpointer<{ topic: string }>("threads.db");
 * const checkpointId = await checkpointer.put({ threadId: "thread-1", state: { topic: "rust" } });
 * ```
 */
export class Checkpointer<S> extends ContractStore {
  readonly #handle: StoreHandle;
  readonly #expectsParent: boolean | undefined;

  /**
   * @param target a file path, `"sqlite:<path>"`, a `file:` URL, `"postgres://<user>@<host>/<database>"`,
   *   `"jsonl:<folder>"`, `"memory:"`, or a store from `openStore`.
   * @param options `expectedParent`, and the options of `openStore` unless the target is an open store.
   * @throws TypeError or RangeError for a wrong target or option.
   */
  constructor(target: string | URL | Store, options?: CheckpointerOptions) {
    const { own, others } = splitOptions(options, { expectedParent: flag });
    const handle = StoreHandle.of(target, others, contract);
    super(handle);
    this.#handle = handle;
    this.#expectsParent = own.expectedParent;
    setExpectation(this, own.expectedParent);
  }

  /**
   * Appends a checkpoint and returns its id. Without a `checkpointId`, the id is random. If the id was put before,
   * `get` returns the last one put, and `list` lists both.
   * @throws TypeError for wrong fields. ForkpointError `INVALID_ARGUMENT` if a value cannot be stored. `CONFLICT` with
   *   `expectedParent` if the parent is not the latest checkpoint, and with `lease` if the lease was lost. In each case
   *   nothing was stored.
   * @example const checkpointId = await checkpointer.put({ threadId: "thread-1", state: { topic: "rust" } });
   */
  async put(
    checkpoint: NewThreadCheckpoint<S>,
    options?: { expectedParent?: boolean; lease?: Lease },
  ): Promise<string> {
    const read = readRecord(options, "options", { expectedParent: flag, lease: leaseOption });
    const { expectedParent = this.#expectsParent ?? false, lease } = read;
    return this.#handle.save(async (engine) => {
      const encoded = encodeCheckpoint(checkpoint, engine.format, crypto().randomUUID);
      // The waiting save must not keep the caller's object in memory.
      checkpoint = undefined!;
      const { seen } = this.#handle;
      const { parent } = encoded;
      // A save of a run belongs to its parent's thread. A manual put may have any parent.
      const isOfRun = (read.expectedParent === false || expectedParent) && parent !== undefined;
      const expected = isOfRun ? seen.incarnation(checkpointName({ ...encoded, id: parent })) : undefined;
      const name = checkpointName(encoded);
      const learn = (incarnation: Exact | null) => seen.note(name, incarnation);
      await threads.put(engine, encoded, expectedParent, expected === undefined ? { learn } : { expected });
      if (expected !== undefined) seen.note(name, expected);
      seen.note(nameOf(encoded));
      detachBuffers(...encoded.parts, encoded.metadata);
      return encoded.id;
    }, lease);
  }

  /**
   * Returns a checkpoint, or null if there is none. Without a `checkpointId`: the last one put. Without a `namespace`:
   * from any namespace of the thread. `[]` is the graph itself.
   * @example const topic = (await checkpointer.get("thread-1"))?.state.topic;
   */
  get(threadId: string, checkpointId?: string | null, namespace?: Namespace): Promise<ThreadCheckpoint<S> | null> {
    return this.#handle.run(async (engine) => {
      const found = await find(engine, { threadId, checkpointId, namespace });
      return found && decodeCheckpoint<S>(found, engine.format);
    });
  }

  /**
   * Lists the checkpoints of a thread without their states, in the order in which they were put.
   * @example const updates = await checkpointer.list("thread-1", { filter: { source: "update" } });
   */
  list(threadId: string, options?: ThreadListOptions): Promise<CheckpointMetadata[]> {
    return this.#handle.run((engine) => threads.list(engine, threadId, options));
  }

  /**
   * Returns a checkpoint with its place, its parent's place and its pending writes, or null if there is none.
   * @example const pending = (await checkpointer.getTuple({ threadId: "thread-1" }))?.pendingWrites;
   */
  getTuple(config: CheckpointConfig): Promise<CheckpointTuple<S> | null> {
    return this.#handle.run(async (engine) => {
      const found = await find(engine, config);
      if (found === null) return null;
      this.#handle.seen.note(nameOf(found.header));
      this.#handle.seen.looked(checkpointName(found.header), found);
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

  /**
   * Stores pending writes of a checkpoint, all or none. The checkpoint need not exist yet, but the namespace must have one.
   * @throws ForkpointError `INVALID_ARGUMENT` without a `checkpointId`, or if a value cannot be stored. `CONFLICT` if the
   *   namespace has no checkpoint, or was deleted after this checkpointer had put or read checkpoints of it.
   * @example await checkpointer.putWrites(config, [{ node: "search", taskId: "t1", idx: 0, channel: "hits", payload: 3 }]);
   */
  async putWrites(
    config: CheckpointConfig,
    writes: readonly PendingWrite[],
    options?: { lease?: Lease },
  ): Promise<void> {
    const { lease } = readRecord(options, "options", { lease: leaseOption });
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
      const { seen } = this.#handle;
      await threads.putWrites(engine, place, encoded, "namespace", seen.incarnation(checkpointName(place)));
      detachBuffers(...encoded.map(({ part }) => part));
    }, lease);
  }

  /**
   * Returns the pending writes of a checkpoint. An unknown checkpoint has none.
   * @example const writes = await checkpointer.getWrites({ threadId: "thread-1" });
   */
  getWrites(config: CheckpointConfig): Promise<PendingWrite[]> {
    return this.#handle.run(async (engine) => {
      const found = await find(engine, config);
      return found?.writes.map((write) => decodeWrite(write, engine.format)) ?? [];
    });
  }

  /**
   * Returns the latest checkpoint of a namespace and its ancestors, newest first, at most `limit` (default: all).
   * Without a namespace, starts at the latest checkpoint of the thread.
   * @example const [latest, before] = await checkpointer.stateHistory("thread-1", [], 2);
   */
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

  /**
   * Returns the ids of all threads that have checkpoints. The first begun thread comes first.
   * @example const threadIds = await checkpointer.listThreads();
   */
  listThreads(): Promise<string[]> {
    return this.#handle.run(threads.listThreads);
  }

  /**
   * Returns the threads with their status, the last begun first. A page contains at most `limit` threads (default:
   * 100). Pass the cursor of the previous page as `cursor`. Reads the latest checkpoint of each thread.
   * @example const { threads, cursor } = await checkpointer.threads({ limit: 20 });
   */
  threads(options?: { limit?: number; cursor?: string | null | undefined }): Promise<GraphThreadsPage> {
    return this.#handle.run((engine) => listWithStatus(engine, this, options));
  }

  withLease(lease: Lease): Checkpointer<S> {
    const expectedParent = this.#expectsParent;
    const own = expectedParent === undefined ? {} : { expectedParent };
    return new Checkpointer(this.#handle.withLease(lease).asStore, own);
  }

  /**
   * Removes a thread with all of its namespaces and writes, in one transaction. An unknown thread causes no error.
   * Deleted bytes stay in a database file until `vacuum`, unless the store has `secureDelete`.
   * @throws ForkpointError `CONFLICT` if a process holds the lease of the thread, unless `force` is true.
   * @example await checkpointer.deleteThread("thread-1");
   */
  deleteThread(threadId: string, options?: DeleteOptions): Promise<void> {
    return this.#handle.run((engine) => threads.deleteThread(engine, threadId, options));
  }

  /**
   * Removes the checkpoints with these ids from all namespaces of a thread, with their writes. Returns how many were
   * removed.
   * @throws ForkpointError `CONFLICT` if a process holds the lease of the thread. Its holder deletes through `withLease`.
   * @example const removed = await checkpointer.deleteCheckpoints("thread-1", ["checkpoint-1"]);
   */
  deleteCheckpoints(threadId: string, checkpointIds: readonly string[]): Promise<number> {
    return this.#handle.run((engine) => threads.deleteCheckpoints(engine, threadId, checkpointIds));
  }

  /**
   * Removes the checkpoints of a run, with their writes. Returns how many were removed. Null removes none.
   * @throws ForkpointError `CONFLICT` if a process holds the lease of the thread. Its holder deletes through `withLease`.
   * @example const removed = await checkpointer.deleteByRun("thread-1", "run-2");
   */
  deleteByRun(threadId: string, runId: string | null): Promise<number> {
    return this.#handle.run(async (engine) => (runId === null ? 0 : threads.deleteByRun(engine, threadId, runId)));
  }

  /**
   * Copies a thread to a new thread, with its checkpoint ids, parents, order, namespaces and writes. An unknown source
   * copies nothing. If the copy fails, its part is removed.
   * @throws ForkpointError `CONFLICT` if the target has checkpoints.
   * @example await checkpointer.copyThread("thread-1", "thread-1 before the experiment");
   */
  copyThread(sourceThreadId: string, targetThreadId: string): Promise<void> {
    return this.#handle.run((engine) => threads.copyThread(engine, sourceThreadId, targetThreadId));
  }

  /**
   * Keeps the last `keepLast` checkpoints of each namespace of a thread, and the older ones that `protect` names.
   * Returns the number of removed checkpoints. 0 keeps one. The first checkpoint of an id has its writes, so it stays
   * as long as a later one of this id.
   * @example const removed = await checkpointer.prune("thread-1", 10, { protect: "dependencies" });
   */
  prune(threadId: string, keepLast: number, options?: ThreadPruneOptions): Promise<number> {
    return this.#handle.run((engine) => threads.prune(engine, threadId, keepLast, options, () => this.#handle.closing));
  }

  /**
   * Returns how many checkpoints are stored and how much storage they use.
   * @example const { checkpoints, storedBytes } = await checkpointer.stats();
   */
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
}

function readConfig(config: unknown): Record<keyof CheckpointConfig, unknown> {
  if (typeof config !== "object" || config === null)
    throw typeError(`config must be an object, but is ${show(config)}`);
  // Read every field once, because a field may be a getter.
  return readingArgument("config", () => {
    const { threadId, checkpointId, namespace } = config as Record<keyof CheckpointConfig, unknown>;
    return { threadId, checkpointId, namespace };
  });
}

/**
 * Finds a checkpoint. Without a namespace, searches all namespaces of the thread. Returns null if there is none, or if
 * this place cannot be stored.
 */
async function find(engine: Engine, config: { [K in keyof CheckpointConfig]?: unknown }) {
  const { threadId, checkpointId, namespace } = readConfig(config);
  const thread = idOrNull(threadId, "threadId");
  const id = checkpointId === undefined || checkpointId === null ? undefined : idOrNull(checkpointId, "checkpointId");
  const ns = namespace === undefined || namespace === null ? undefined : namespaceOrNull(namespace, "namespace");
  return thread === null || id === null || ns === null ? null : threads.find(engine, thread, ns, id);
}
