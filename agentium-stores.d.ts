/**
 * The stores of Agentium's workflow checkpoints, and the storage drivers. `agentium.d.ts` exports them.
 */

import type {
  CheckOptions,
  LineageStats,
  PruneOptions,
  RunPruneResult,
  StatsOptions,
  Store,
  StoreOptions,
  StoreStats,
  VerifyReport,
} from "./index.js";

/**
 * The state of a workflow at one point. Other fields, such as the framework's `workflowName`, `stepResults` and
 * `timestamp`, are stored too.
 */
export interface WorkflowCheckpoint<TState> {
  /** `"<runId>:initial"` or `"<runId>:step-<N>"` with N = `stepIndex` + 1. A store must not interpret the id. */
  id: string;
  runId: string;
  /**
   * The index of the step after which this checkpoint was stored. -1 for the initial checkpoint, which is stored before
   * any step.
   */
  stepIndex: number;
  /** The name of the step after which this checkpoint was stored. `"initial"` for the initial checkpoint. */
  stepName: string;
  state: TState;
  /** Milliseconds since the Unix epoch. */
  createdAt: number;
}

/**
 * The documented store interface. You can implement this interface over any backend, such as Redis or S3, and pass the
 * store to a {@link Workflow}.
 */
export interface IWorkflowCheckpointStore<TState> {
  /** Stores the checkpoint. A stored checkpoint with the same id is replaced. */
  save(checkpoint: WorkflowCheckpoint<TState>): Promise<void>;
  /** Returns the checkpoint with that id, or null. */
  load(checkpointId: string): Promise<WorkflowCheckpoint<TState> | null>;
  /** Returns the run's checkpoints, ascending by `stepIndex`. The list is empty for an unknown run. */
  list(runId: string): Promise<Array<WorkflowCheckpoint<TState>>>;
  /** Returns the run's last checkpoint in the order of `list`, or null if the run has none. */
  latest(runId: string): Promise<WorkflowCheckpoint<TState> | null>;
  /** Removes the run's checkpoints. An unknown run causes no error. */
  clear(runId: string): Promise<void>;
  /**
   * Optional: removes a checkpoint. If the store has this method, a replay removes the checkpoints after its starting
   * point one by one, and starts with the last checkpoint. Otherwise a replay clears the run and saves its remaining
   * checkpoints again.
   */
  delete?(checkpointId: string): Promise<void>;
  /**
   * Optional: saves the checkpoint and removes the run's other checkpoints whose `stepIndex` is the same or greater. A
   * store should do both in one transaction.
   */
  rewind?(checkpoint: WorkflowCheckpoint<TState>): Promise<void>;
}

/** A checkpoint without its state. */
export interface CheckpointSummary {
  id: string;
  stepIndex: number;
  stepName: string;
  /** Milliseconds since the Unix epoch: the checkpoint's `createdAt` or, if it is missing, its `timestamp`. */
  createdAt: number;
  /** The serialised size of the state, in bytes. */
  stateSize: number;
}

/** A page of runs. */
export interface WorkflowRunsPage {
  /** The run that began last comes first. */
  runs: Array<{
    runId: string;
    /** How many checkpoints the run has. */
    checkpoints: number;
    /** The run's latest checkpoint. */
    latest: CheckpointSummary;
  }>;
  /** Pass this cursor to the next call of `runs`. Null means that this was the last page. */
  cursor: string | null;
}

/** Statistics of the workflow checkpoints. */
export interface WorkflowCheckpointStats extends Omit<StoreStats, "lineages" | "largest"> {
  /** How many runs have checkpoints. */
  runs: number;
  /**
   * The runs that use the most storage, the largest first. {@link StatsOptions.largest} limits the number of runs in
   * the list.
   */
  largest: Array<{ runId: string } & Omit<LineageStats, "lineage">>;
}

/** Options of a {@link WorkflowCheckpointStore}. */
export interface WorkflowCheckpointStoreOptions extends StoreOptions {
  /**
   * If true, a {@link Workflow} over this store stops with `CONFLICT` when another process has continued its run. Each
   * checkpoint must then follow the checkpoint that the workflow stored last for the run. Default: false.
   */
  expectedParent?: boolean;
}

/** Options of a single save. */
export interface WorkflowSaveOptions {
  /** The id of the checkpoint that a new run was forked from. Only the differences from that checkpoint are stored. */
  parent?: string;
  /**
   * The id of the run's latest checkpoint as the caller knows it. Null means that the run has no checkpoint. If another
   * writer has continued the run, the save rejects with `CONFLICT` and stores nothing. Default: the latest checkpoint
   * is not checked.
   */
  expectedParent?: string | null;
}

/**
 * Workflow checkpoints that survive crashes.
 *
 * - `save` takes its snapshot before it returns its promise, and the promise resolves when the checkpoint is durable.
 * - Every read returns a fresh object. A read sees every `save` that was called before the read.
 * - With `keepLastN`, one transaction saves a checkpoint and removes the run's oldest checkpoints by `createdAt`.
 *
 * @example
 * ```ts
 * import { Workflow, WorkflowCheckpointStore } from "forkpoint/agentium";
 *
 * const store = new WorkflowCheckpointStore<State>("wf.db", { keepLastN: 50 });
 * const workflow = new Workflow<State>({ name, initialState, steps, checkpointStore: store });
 * ```
 */
export class WorkflowCheckpointStore<TState> implements IWorkflowCheckpointStore<TState>, AsyncDisposable {
  /**
   * @param target a file path, `"sqlite:<path>"`, a `file:` URL, `"memory:"`, or a store from `openStore`. A file is
   *   opened in the background. If the file cannot be opened, the first call of a method rejects.
   * @param options `expectedParent`, and the options of `openStore`. If the target is an open store, only
   *   `expectedParent` is allowed, because an open store has its own options.
   * @throws TypeError or RangeError for a wrong target or option.
   */
  constructor(target: string | URL | Store, options?: WorkflowCheckpointStoreOptions);

  /**
   * Stores the checkpoint. A stored checkpoint with the same id is replaced, even if that checkpoint belongs to another
   * run.
   * @throws TypeError if a field is missing or has a wrong type. ForkpointError `INVALID_ARGUMENT` if a value in the
   *   checkpoint cannot be stored; the message names the value's path. `CONFLICT` if the run's latest checkpoint is not
   *   `expectedParent`. In all of these cases nothing was written.
   */
  save(checkpoint: WorkflowCheckpoint<TState>, options?: WorkflowSaveOptions): Promise<void>;

  /**
   * Saves the checkpoint and removes the run's other checkpoints whose `stepIndex` is the same or greater, in one
   * transaction.
   * @throws the errors of `save`.
   */
  rewind(checkpoint: WorkflowCheckpoint<TState>, options?: WorkflowSaveOptions): Promise<void>;

  /** Returns the checkpoint with that id, or null if there is none. */
  load(checkpointId: string): Promise<WorkflowCheckpoint<TState> | null>;

  /**
   * Returns the run's checkpoints, ascending by `stepIndex`, then by `createdAt`. `runId` is matched exactly, never as
   * a prefix. The list is empty for an unknown run.
   */
  list(runId: string): Promise<Array<WorkflowCheckpoint<TState>>>;

  /** The same as `list`. The framework calls this method `listForRun`. */
  listForRun(runId: string): Promise<Array<WorkflowCheckpoint<TState>>>;

  /** Returns the run's last checkpoint in the order of `list`, or null if the run has none. */
  latest(runId: string): Promise<WorkflowCheckpoint<TState> | null>;

  /**
   * Returns the run's checkpoints in the order of `list`, without their states. This method does not read the states.
   */
  timeline(runId: string): Promise<CheckpointSummary[]>;

  /**
   * Returns the runs that have checkpoints in the store. The run that began last comes first. Use this method to find
   * the runs to resume after a restart. A page contains at most `limit` runs (default: 100). Pass the cursor of the
   * previous page as `cursor`.
   */
  runs(options?: { limit?: number; cursor?: string | null }): Promise<WorkflowRunsPage>;

  /** Removes the run's checkpoints. An unknown run causes no error. */
  clear(runId: string): Promise<void>;

  /** Removes the checkpoint. An unknown id causes no error. */
  delete(checkpointId: string): Promise<void>;

  /**
   * Removes workflow checkpoints, at most 500 in each transaction. Saves can run between the transactions. Without
   * options, `prune` applies the limits that the store was opened with.
   * @throws TypeError or RangeError for a wrong option. ForkpointError `CLOSED` if the store is closed before `prune`
   *   ends.
   */
  prune(options?: PruneOptions<RunPruneResult>): Promise<RunPruneResult>;

  /** Returns how many workflow checkpoints are stored and how much storage they use. */
  stats(options?: StatsOptions): Promise<WorkflowCheckpointStats>;

  /**
   * Verifies the whole database, including the data of other contracts, and changes nothing. The same as
   * `Store.check()`.
   */
  check(options?: CheckOptions): Promise<VerifyReport>;

  /**
   * Gives the space of removed checkpoints of all contracts back to the file system. Saves wait until `vacuum` ends.
   * The same as `Store.vacuum()`.
   */
  vacuum(): Promise<void>;

  /**
   * Waits for earlier calls to end, then closes this object. A second call is allowed. An open store that was given to
   * the constructor stays open.
   */
  close(): Promise<void>;

  /** Calls `close()` at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Agentium's storage interface. A driver stores each value under a namespace and a key. */
export interface StorageDriver {
  /**
   * Optional: called once before the first call of another method. If `initialize` rejects, the next call of a method
   * calls `initialize` again.
   */
  initialize?(): Promise<void>;
  /** Returns the value of the key, or null if there is none. */
  get<T>(namespace: string, key: string): Promise<T | null>;
  /** Stores a value. An earlier value of the key is replaced. */
  set<T>(namespace: string, key: string, value: T): Promise<void>;
  /** Removes the key. An unknown key must cause no error. */
  delete(namespace: string, key: string): Promise<void>;
  /** Returns the entries whose key begins with the prefix. Without a prefix: all entries of the namespace. */
  list<T>(namespace: string, prefix?: string): Promise<Array<{ key: string; value: T }>>;
  /** Closes the driver. */
  close(): Promise<void>;
}

/**
 * Workflow checkpoints over any {@link StorageDriver}, including the framework's drivers and your own. A save is one
 * `set`. With `keepLastN`, the save then lists the run's checkpoints and removes the oldest. {@link
 * WorkflowCheckpointStore} does all of this in one transaction.
 *
 * Every method rejects with the driver's error if the driver fails.
 */
export class StorageBackedCheckpointStore<TState> implements IWorkflowCheckpointStore<TState>, AsyncDisposable {
  /**
   * @param options `keepLastN`: the maximum number of checkpoints to keep for each run. The checkpoints with the
   *   greatest `createdAt` are kept. Default: no limit. Null, 0 and Infinity also mean no limit.
   * @throws TypeError or RangeError for a wrong driver or option.
   */
  constructor(driver: StorageDriver, options?: { keepLastN?: number | null });
  /** The maximum number of checkpoints that are kept for each run. 0 means no limit. */
  readonly keepLastN: number;
  /**
   * Stores the checkpoint. A stored checkpoint with the same id is replaced. The checkpoint is copied before `save`
   * returns its promise.
   * @throws TypeError if a field is missing or has a wrong type. ForkpointError `INVALID_ARGUMENT` if a value in the
   *   checkpoint cannot be stored; the message names the value's path. In both cases nothing was written.
   */
  save(checkpoint: WorkflowCheckpoint<TState>): Promise<void>;
  /**
   * Removes the run's other checkpoints whose `stepIndex` is the same or greater, the last first, and then saves the
   * checkpoint. If the process crashes before the save, the run's earlier checkpoints remain.
   * @throws the errors of `save`.
   */
  rewind(checkpoint: WorkflowCheckpoint<TState>): Promise<void>;
  /** Returns the checkpoint with that id, or null if there is none. */
  load(checkpointId: string): Promise<WorkflowCheckpoint<TState> | null>;
  /**
   * Returns the run's checkpoints, ascending by `stepIndex`, then by `createdAt`. The list is empty for an unknown run.
   */
  list(runId: string): Promise<Array<WorkflowCheckpoint<TState>>>;
  /** The same as `list`. The framework calls this method `listForRun`. */
  listForRun(runId: string): Promise<Array<WorkflowCheckpoint<TState>>>;
  /** Returns the run's last checkpoint in the order of `list`, or null if the run has none. */
  latest(runId: string): Promise<WorkflowCheckpoint<TState> | null>;
  /** Removes the run's checkpoints, the last first. An unknown run causes no error. */
  clear(runId: string): Promise<void>;
  /** Removes the checkpoint. An unknown id causes no error. */
  delete(checkpointId: string): Promise<void>;
  /** Waits until the saves and removals in progress have ended. The driver stays open. */
  close(): Promise<void>;
  /** Calls `close()` at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** A {@link StorageDriver} in memory. The driver stores copies of the values. */
export class InMemoryStorage implements StorageDriver {
  /** Returns a copy of the key's value, or null if there is none. */
  get<T>(namespace: string, key: string): Promise<T | null>;
  /**
   * Stores a copy of the value. An earlier value of the key is replaced.
   * @throws ForkpointError `INVALID_ARGUMENT` if the value cannot be stored; the message names the path of the part
   *   that cannot be stored.
   */
  set<T>(namespace: string, key: string, value: T): Promise<void>;
  /** Removes the key. An unknown key causes no error. */
  delete(namespace: string, key: string): Promise<void>;
  /**
   * Returns the entries whose key begins with the prefix, in the order in which the keys were first set. Default: all
   * entries.
   */
  list<T>(namespace: string, prefix?: string): Promise<Array<{ key: string; value: T }>>;
  /** Removes all values. */
  close(): Promise<void>;
}

/** A durable {@link StorageDriver} over a Forkpoint database. */
export class ForkpointStorage implements StorageDriver, AsyncDisposable {
  /**
   * Takes the arguments of {@link WorkflowCheckpointStore}. `keepLastN` removes no value, because the limit applies to
   * each key separately. `ttlMs` removes each value whose last `set` was more than `ttlMs` milliseconds ago.
   * @throws TypeError or RangeError for a wrong target or option.
   */
  constructor(target: string | URL | Store, options?: StoreOptions);
  /** Returns the value of the key, or null if there is none. Each call returns a fresh object. */
  get<T>(namespace: string, key: string): Promise<T | null>;
  /**
   * Stores a value durably. An earlier value of the key is replaced. The value is read before `set` returns its
   * promise.
   * @throws ForkpointError `INVALID_ARGUMENT` if the value cannot be stored; the message names the path of the part
   *   that cannot be stored.
   */
  set<T>(namespace: string, key: string, value: T): Promise<void>;
  /** Removes the key. An unknown key causes no error. */
  delete(namespace: string, key: string): Promise<void>;
  /**
   * Returns the entries whose key begins with the prefix, in the order of the keys' UTF-8 bytes. Default: all entries.
   */
  list<T>(namespace: string, prefix?: string): Promise<Array<{ key: string; value: T }>>;
  /**
   * Waits for earlier calls to end, then closes this object. A second call is allowed. An open store that was given to
   * the constructor stays open.
   */
  close(): Promise<void>;
  /** Calls `close()` at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void>;
}
