/** Declares the class `ForkpointSaver`, which saver.ts makes from LangGraph's package. */

import type {
  BaseCheckpointSaver,
  ChannelVersions,
  Checkpoint,
  CheckpointListOptions,
  CheckpointMetadata,
  CheckpointTuple,
  DeltaChannelHistory,
  PendingWrite,
  SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import type { StoreOptions } from "../../store/options.js";
import type { DeleteOptions } from "../../store/removing.js";
import type { StatsOptions } from "../../store/retention.js";
import type { LineageStats, StoreStats } from "../../store/results.js";
import type { Store } from "../../store/store.js";
import type { PruneStrategy, SaverPruneOptions, SaverPruneResult } from "./threads.js";
import type { ListThreadsOptions, ThreadsPage } from "./list-threads.js";
import type { ThreadStatus } from "./status.js";
import type { ExportOptions, ExportResult } from "./export.js";
import type { ImportOptions, ImportResult } from "./import.js";
import type { ContractStore } from "../../store/contract-store.js";
import type { Lease } from "../../store/lease.js";

/**
 * The part of LangGraph's config that a saver reads: `thread_id`, `checkpoint_ns` and `checkpoint_id` of
 * `configurable`.
 */
type Config = Parameters<BaseCheckpointSaver["getTuple"]>[0];

export interface SaverOptions extends Omit<StoreOptions, "serializer"> {
  /**
   * The serializer that turns values into bytes. The types and bytes that it returns are stored unchanged. Default:
   * LangGraph's own serializer.
   */
  serde?: SerializerProtocol;
  /**
   * By default, each save of a run must follow the run's own last save. If two runs continue a thread at the same time,
   * one of them rejects with `CONFLICT`. Only a run that names an older checkpoint, and your own `put`, can make a
   * branch. If true, no call can make one. If false, the history of the thread can fork without notice.
   * `expected_parent` in a call's `configurable` overrides this option.
   */
  expectedParent?: boolean;
  /**
   * If true, a thread is run by one process at a time: a run takes the lease of its thread when it begins, and releases it
   * when it ends or waits. A run on a thread that another process runs rejects with `CONFLICT`. Set `ttlMs` greater than
   * the time that a node takes, because a run that writes nothing for that long loses its lease. Default: false. See
   * docs/leases.md.
   */
  lease?: boolean | { ttlMs?: number };
  /**
   * The top-level keys of the metadata that get an index. `list` uses the index if its filter has a string, a number, a
   * boolean or null for the key and the config names no thread. The first such `list` builds the index; in a database
   * file, saves wait for it. The index stays in the database. A key contains no quotation mark, backslash or control
   * character. SQLite and Postgres have such indexes; other stores ignore the option. Default: none.
   */
  metadataIndexes?: readonly string[];
  /**
   * The name of the program that uses this saver. It is stored with each checkpoint of a thread, and `recover` takes only
   * threads with this name. A write to a thread of a program with another name rejects with `CONFLICT`, unless `force`
   * is true: the thread then belongs to this program. `force: true` in a call's `configurable` does this for one thread.
   * Set a name if several programs share a database. Default: the name of the graph, see
   * docs/langgraph.md#several-programs.
   */
  program?: string | { name: string; force?: boolean };
  /**
   * The version of the program. `recover` reports it for threads that do not fit this version. Two versions with the same
   * graph are compatible, unless the program has no graph (`entrypoint`). Default: none. See docs/changes.md.
   */
  version?: string;
}

/** Statistics of the LangGraph checkpoints. */
export interface SaverStats extends Omit<StoreStats, "lineages" | "largest"> {
  /** The number of namespaces: one for each graph and subgraph that saves. */
  namespaces: number;
  /**
   * The namespaces that use the most storage, the largest first. {@link StatsOptions.largest} limits the number of
   * namespaces in the list.
   */
  largest: Array<{ threadId: string; checkpointNs: string } & Omit<LineageStats, "lineage">>;
}

type StoreMethods = Pick<
  ContractStore,
  "lease" | "exclusive" | "stop" | "check" | "vacuum" | "close" | typeof Symbol.asyncDispose
>;

// The class below is a declaration too. The class that it describes has these methods.
// oxlint-disable-next-line no-unsafe-declaration-merging
export interface ForkpointSaver extends StoreMethods {}

/**
 * A checkpointer that survives crashes. Each checkpoint stores only what changed.
 *
 * - A channel is serialized and stored only when its version changes. A checkpoint inherits its other channels from its
 *   parent.
 * - A resolved write is durable. A write that fails temporarily is retried.
 * - No call blocks the event loop, even while another process holds the database.
 * - Reads return fresh objects.
 *
 * @example
 * ```ts
 * import { ForkpointSaver } from "forkpoint/langgraph";
 *
 * const graph = builder.compile({ checkpointer: new ForkpointSaver("agent.db") });
 * ```
 */
export declare class ForkpointSaver extends BaseCheckpointSaver {
  /**
   * @param target a file path, `"sqlite:<path>"`, a `file:` URL, `"postgres://<user>@<host>/<database>"`,
   *   `"jsonl:<folder>"`, `"memory:"`, or a store from `openStore`. The target is opened in the background. If it cannot be
   *   opened, the first call of a method rejects.
   * @param options `serde`, `expectedParent`, `lease` and `program`, and the options of `openStore` unless the target is an open store.
   * @throws TypeError or RangeError for a wrong target or option.
   */
  constructor(target: string | URL | Store, options?: SaverOptions);

  /**
   * The name in the option `program`. Undefined if it was not given.
   * @example console.log(saver.program);
   */
  get program(): string | undefined;

  /**
   * The option `version`. Undefined if it was not given.
   * @example console.log(saver.version);
   */
  get version(): string | undefined;

  /**
   * Returns a checkpoint with its metadata and pending writes. `checkpoint_id` selects the checkpoint. Default: the
   * latest one of the namespace, which was saved last. `checkpoint_ns` selects the namespace. Default: the graph
   * itself. Returns undefined if there is no such checkpoint, or if the config has no `thread_id`.
   * @throws ForkpointError `CORRUPT` if the checkpoint is damaged.
   * @example const tuple = await saver.getTuple({ configurable: { thread_id: "thread-1" } });
   */
  getTuple(config: Config): Promise<CheckpointTuple | undefined>;

  /**
   * Lists checkpoints, the newest first. The checkpoints are read page by page.
   *
   * `thread_id`, `checkpoint_ns` and `checkpoint_id` of the config are optional and matched exactly. The namespace `""`
   * is the graph itself. Without `checkpoint_ns`, all namespaces are listed. `before` is a config: only checkpoints
   * with smaller ids than its `checkpoint_id` are listed. `limit` is the number of checkpoints (default: all). `filter`
   * compares literal top-level keys of the metadata for equality.
   * @example for await (const { checkpoint } of saver.list(config, { limit: 10 })) console.log(checkpoint.id);
   */
  list(config: Config, options?: CheckpointListOptions): AsyncGenerator<CheckpointTuple>;

  /**
   * Stores a checkpoint of the config's thread and namespace. The config's `checkpoint_id` is the id of the new
   * checkpoint's parent. The promise resolves to the config of the new checkpoint when the checkpoint is durable. A
   * stored checkpoint with the same id is replaced.
   *
   * @param newVersions the channels that changed. The other channels are inherited from the parent.
   * @throws ForkpointError `INVALID_ARGUMENT` without a `thread_id`, or if a value cannot be stored. `CONFLICT` with
   *   `expectedParent` if another run has already continued from the parent. In both cases nothing was stored.
   * @example const stored = await saver.put(config, checkpoint, { source: "loop", step: 1, parents: {} }, { draft: 2 });
   */
  put(
    config: Config,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<Config>;

  /**
   * Stores a task's writes to channels, as pending writes of the config's checkpoint. The promise resolves when they
   * are durable. `taskPath` is the path of the task in the graph, which LangGraph 1.7 and later pass. Reads return
   * pending writes in the order of path, task and position. An existing write of the task at the same position stays.
   * Writes to LangGraph's own channels (errors, interrupts, resume values) replace existing ones.
   * @throws ForkpointError `INVALID_ARGUMENT` without a `thread_id` or a `checkpoint_id`, or if a value cannot be
   *   stored.
   * @example await saver.putWrites(config, [["draft", "one"]], "task-1");
   */
  putWrites(config: Config, writes: PendingWrite[], taskId: string, taskPath?: string): Promise<void>;

  /**
   * Removes a thread with all of its namespaces and writes. An unknown thread causes no error.
   * Deleted bytes stay in a database file until `vacuum`, unless the store has `secureDelete`.
   * @throws ForkpointError `CONFLICT` if a process holds the lease of the thread, unless `force` is true.
   * @example await saver.deleteThread("thread-1");
   */
  deleteThread(threadId: string, options?: DeleteOptions): Promise<void>;

  /**
   * Returns what the ancestors of a checkpoint contributed to delta channels: for each of `channels`, the last stored
   * value, and the writes after that value, oldest first. LangGraph calls this method to rebuild delta channels. The
   * writes of other branches are not included.
   * @example const { messages } = await saver.getDeltaChannelHistory({ config, channels: ["messages"] });
   */
  getDeltaChannelHistory(options: { config: Config; channels: string[] }): Promise<Record<string, DeltaChannelHistory>>;

  /**
   * Removes checkpoints of threads, at most 500 in each transaction. `"delete"` removes each thread in a single
   * transaction. Saves can run between the transactions. An unknown thread causes no error.
   *
   * @param strategy what to remove. Default: `"keep_latest"`.
   * @throws TypeError or RangeError for wrong arguments: nothing was removed. ForkpointError `CLOSED` if the saver is
   *   closed before `prune` ends.
   * @example
   * ```ts
   * const planned = await saver.prune(["thread-1"], { keepLastN: 10 }, { dryRun: true });
   * ```
   */
  prune(threadIds: string[], strategy?: PruneStrategy, options?: SaverPruneOptions): Promise<SaverPruneResult>;

  /**
   * Removes the checkpoints whose metadata contains one of these ids as `run_id`, at most 500 in each transaction. A
   * checkpoint stays if a delta channel of a later checkpoint needs it. The method reads the metadata of all
   * checkpoints.
   *
   * @throws TypeError or RangeError for wrong arguments: nothing was removed. ForkpointError `CLOSED` if the saver is
   *   closed before the call ends.
   * @example const planned = await saver.deleteForRuns(["run-2"], { dryRun: true });
   */
  deleteForRuns(runIds: string[], options?: SaverPruneOptions): Promise<SaverPruneResult>;

  /**
   * Copies a thread, with the ids of its checkpoints, to a new thread. The copy is not one transaction. If the copy
   * fails, the part that was copied is removed. If the process is killed, that part stays.
   * @throws ForkpointError `NOT_FOUND` if there is no such thread. `CONFLICT` if the target exists.
   * @example await saver.copyThread("thread-1", "thread-1 before the experiment");
   */
  copyThread(sourceThreadId: string, targetThreadId: string): Promise<void>;

  /**
   * Returns the threads that have checkpoints, the last active thread first. A thread is active when the graph itself
   * saves a checkpoint.
   *
   * A page contains at most `limit` threads (default: 100). Pass the cursor of the previous page as `cursor`. A thread that is
   * active between two pages moves to the front, so no page repeats a thread. With `order: "asc"` it moves to the end, so no
   * thread is left out.
   * @example const { threads, cursor } = await saver.listThreads({ limit: 20, filter: { user: "ada" } });
   */
  listThreads(options?: ListThreadsOptions): Promise<ThreadsPage>;

  /**
   * Returns the status in the newest checkpoint of a thread: whether the thread waits for a human, failed, or has yet
   * to run nodes. Returns null if the thread has no checkpoint. Checkpoints of subgraphs are only read to find a second
   * question. The database reads the newest checkpoint, and only a small part of it gets to JavaScript.
   *
   * When the status is ambiguous, it is `"waiting"`. This can happen if an answer equals the answer before it.
   * @throws ForkpointError `CORRUPT` if the checkpoint is damaged.
   * @example const { status, next, interrupts, error } = (await saver.status("thread-1")) ?? {};
   */
  status(threadId: string): Promise<ThreadStatus | null>;

  /**
   * Copies threads from a database of LangGraph's SqliteSaver, with their checkpoints, metadata and pending writes. The
   * method only reads from that database. Each copied thread is read back and compared.
   *
   * Call it again after an import that was stopped, or to add newer data of the old database. A thread that has changed
   * in both databases is skipped and listed in `skippedThreads`.
   *
   * @param from the path or `file:` URL of the old database.
   * @throws TypeError for a wrong argument or option: nothing was copied. ForkpointError `NOT_FOUND`, `CORRUPT` or
   *   `UNSUPPORTED` if the old database cannot be read. `CONFLICT` with `onConflict: "fail"`.
   * @example const { threads, skippedThreads } = await saver.importSqliteSaver("old.db", { onProgress: console.log });
   */
  importSqliteSaver(from: string | URL, options?: ImportOptions): Promise<ImportResult>;

  /**
   * Copies threads of LangGraph's PostgresSaver, with their checkpoints, metadata and pending writes. The method only reads
   * the old saver's tables, in one snapshot and on one connection of its pool. Each copied thread is read back and compared.
   * The old saver stays open.
   *
   * Call it again after an import that was stopped, or to add newer data of the old tables. A thread that has changed
   * in both databases is skipped and listed in `skippedThreads`.
   *
   * @param from the PostgresSaver. If it has your own serializer, pass the same one to this saver.
   * @throws TypeError for a wrong argument or option: nothing was copied. ForkpointError `UNSUPPORTED` if the database does
   *   not have the old saver's tables. `UNAVAILABLE` if the server cannot be read. `CONFLICT` with `onConflict: "fail"`.
   * @example const { threads } = await saver.importPostgresSaver(postgresSaver, { threads: ["thread-1"] });
   */
  importPostgresSaver(from: BaseCheckpointSaver, options?: ImportOptions): Promise<ImportResult>;

  /**
   * Copies threads of any LangGraph checkpointer, with their checkpoints, metadata and pending writes. The method only reads
   * from the other saver, through `list` and `getTuple`. Each copied thread is read back and compared. The other saver stays
   * open.
   *
   * Call it again after an import that was stopped, or to add newer data of the other saver. A thread that has changed
   * in both is skipped and listed in `skippedThreads`. The database of a `SqliteSaver` or `PostgresSaver` is read
   * directly, as `importSqliteSaver` and `importPostgresSaver` do.
   *
   * @param from the other saver. Name the threads with the option `threads` if the saver cannot list all of them.
   * @throws TypeError for a wrong argument or option: nothing was copied. ForkpointError `INVALID_ARGUMENT` for this saver
   *   itself, or if a value cannot be stored. `UNAVAILABLE` if the other saver cannot be read. `CONFLICT` with
   *   `onConflict: "fail"`.
   * @example
   * ```ts
   * import { MemorySaver } from "@langchain/langgraph-checkpoint";
   *
   * const old = new MemorySaver();
   * const { threads, ofThreads, skippedThreads } = await saver.importFrom(old);
   * ```
   */
  importFrom(from: BaseCheckpointSaver, options?: ImportOptions): Promise<ImportResult>;

  /**
   * Copies threads to any LangGraph checkpointer, with their checkpoints, metadata and pending writes. The other saver gets
   * them through `put` and `putWrites`, parents before their children. Then they are read back with `getTuple` and compared.
   *
   * If the other saver returns a thread differently, `skippedThreads` lists the thread with the difference. Existing
   * data of the other saver is never replaced. Call the method again after an export that was stopped, or to add newer
   * data.
   *
   * @param to the other saver. Create its tables or indexes first.
   * @throws TypeError for a wrong argument or option: nothing was copied. ForkpointError `INVALID_ARGUMENT` for this saver
   *   itself. `CONFLICT` if a checkpoint is removed during the export. `CLOSED` if this saver is closed before the export ends.
   * @example
   * ```ts
   * import { MemorySaver } from "@langchain/langgraph-checkpoint";
   *
   * const { threads, ofThreads, skippedThreads } = await saver.exportTo(new MemorySaver());
   * for (const { threadId, message } of skippedThreads) console.error(`${threadId}: ${message}`);
   * ```
   */
  exportTo(to: BaseCheckpointSaver, options?: ExportOptions): Promise<ExportResult>;

  /**
   * Returns how many LangGraph checkpoints are stored and how much storage they use.
   * @example const { checkpoints, storedBytes, largest } = await saver.stats({ largest: 3 });
   */
  stats(options?: StatsOptions): Promise<SaverStats>;

  /**
   * Returns the same saver for the holder of a lease. If the lease was lost, each write of this saver rejects with
   * `CONFLICT` and stores nothing.
   * @throws TypeError if the lease is of another store.
   * @example const mine = saver.withLease(lease);
   */
  withLease(lease: Lease): ForkpointSaver;
}
