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

/** The state of a workflow at one point. Fields beyond these (the framework's `workflowName`, `stepResults`, `timestamp`) are kept. */
export interface WorkflowCheckpoint<TState> {
  /** `"<runId>:initial"` or `"<runId>:step-<N>"` with N = `stepIndex` + 1. To a store it is opaque. */
  id: string;
  runId: string;
  /** The step that it was stored after; -1 for the initial checkpoint, before any step. */
  stepIndex: number;
  /** The name of that step; `"initial"` for the initial checkpoint. */
  stepName: string;
  state: TState;
  /** Milliseconds since the Unix epoch. */
  createdAt: number;
}

/** The documented store interface. Implement it over any backend (Redis, S3) and hand it to a {@link Workflow}. */
export interface IWorkflowCheckpointStore<TState> {
  /** Stores the checkpoint. One with the same id is replaced. */
  save(checkpoint: WorkflowCheckpoint<TState>): Promise<void>;
  /** Returns the checkpoint with that id, or null. */
  load(checkpointId: string): Promise<WorkflowCheckpoint<TState> | null>;
  /** Returns the run's checkpoints, ascending by `stepIndex`. An unknown run has none. */
  list(runId: string): Promise<Array<WorkflowCheckpoint<TState>>>;
  /** Returns the last of `list`, or null. */
  latest(runId: string): Promise<WorkflowCheckpoint<TState> | null>;
  /** Removes the run's checkpoints. An unknown run is no error. */
  clear(runId: string): Promise<void>;
  /**
   * Optional: removes a checkpoint. With it, a replay removes the checkpoints after its starting point one by one, from the end.
   * Without it, a replay clears the run and writes it anew.
   */
  delete?(checkpointId: string): Promise<void>;
  /** Optional: saves the checkpoint and removes the run's other checkpoints from that `stepIndex` on. One transaction is best. */
  rewind?(checkpoint: WorkflowCheckpoint<TState>): Promise<void>;
}

/** A checkpoint without its state. */
export interface CheckpointSummary {
  id: string;
  stepIndex: number;
  stepName: string;
  /** Milliseconds since the Unix epoch: `createdAt`, or else `timestamp`. */
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
  /** Pass it to the next call of `runs`. Null: this was the last page. */
  cursor: string | null;
}

/** Statistics of the workflow checkpoints. */
export interface WorkflowCheckpointStats extends Omit<StoreStats, "lineages" | "largest"> {
  /** How many runs have checkpoints. */
  runs: number;
  /** The runs that take most, the largest first. {@link StatsOptions.largest} says how many. */
  largest: Array<{ runId: string } & Omit<LineageStats, "lineage">>;
}

/** Options of a {@link WorkflowCheckpointStore}. */
export interface WorkflowCheckpointStoreOptions extends StoreOptions {
  /**
   * Whether a {@link Workflow} over this store stops with `CONFLICT` when another process has gone on with its run: each
   * checkpoint must follow the one that the run stored before. Default: false.
   */
  expectedParent?: boolean;
}

/** Options of a single save. */
export interface WorkflowSaveOptions {
  /** The id of the checkpoint that a new run was forked from. Only what differs from that checkpoint is stored. */
  parent?: string;
  /**
   * The id of the run's latest checkpoint as the caller knows it. Null: the run has no checkpoint. If another writer has gone on
   * with the run, the save rejects with `CONFLICT` and stores nothing. Default: nothing is expected.
   */
  expectedParent?: string | null;
}

/**
 * Workflow checkpoints that survive crashes.
 *
 * - `save` takes its snapshot before it returns its promise, and the promise resolves when the checkpoint is durable.
 * - Reads return a fresh object every time; a read sees every `save` that was called before it.
 * - With `keepLastN`, a save and the removal of the run's oldest (by `createdAt`) are one transaction.
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
   * @param target a file path, `"sqlite:<path>"`, a `file:` URL, `"memory:"`, or a store from `openStore`.
   *   A file is opened in the background. If that fails, the first call rejects.
   * @param options `expectedParent`, and those of `openStore`. An open store has its own: it then takes `expectedParent` alone.
   * @throws TypeError or RangeError for a wrong target or option.
   */
  constructor(target: string | URL | Store, options?: WorkflowCheckpointStoreOptions);

  /**
   * Stores the checkpoint. One with the same id is replaced, whatever its run.
   * @throws TypeError if a field is missing or has a wrong type. ForkpointError `INVALID_ARGUMENT` if a value in it cannot be
   *   stored; the message names its path. `CONFLICT` if the run's latest checkpoint is not `expectedParent`. Nothing was written in any case.
   */
  save(checkpoint: WorkflowCheckpoint<TState>, options?: WorkflowSaveOptions): Promise<void>;

  /**
   * Saves the checkpoint and removes the run's other checkpoints from that `stepIndex` on, in one transaction.
   * @throws the errors of `save`.
   */
  rewind(checkpoint: WorkflowCheckpoint<TState>, options?: WorkflowSaveOptions): Promise<void>;

  /** Returns the checkpoint with that id, or null if there is none. */
  load(checkpointId: string): Promise<WorkflowCheckpoint<TState> | null>;

  /**
   * Returns the run's checkpoints, ascending by `stepIndex`, then by `createdAt`. `runId` is matched exactly, never as a prefix. An
   * unknown run has none.
   */
  list(runId: string): Promise<Array<WorkflowCheckpoint<TState>>>;

  /** The same as `list`, under the framework's name. */
  listForRun(runId: string): Promise<Array<WorkflowCheckpoint<TState>>>;

  /** Returns the last of `list`, or null if there is none. */
  latest(runId: string): Promise<WorkflowCheckpoint<TState> | null>;

  /** Returns the run's checkpoints in the order of `list`, without their states. It does not read the states. */
  timeline(runId: string): Promise<CheckpointSummary[]>;

  /**
   * Returns the runs that the store knows. The run that began last comes first. Use it to find what to resume after a restart. A
   * page has `limit` runs (default: 100). `cursor` is the cursor of the page before.
   */
  runs(options?: { limit?: number; cursor?: string | null }): Promise<WorkflowRunsPage>;

  /** Removes the run's checkpoints. An unknown run is no error. */
  clear(runId: string): Promise<void>;

  /** Removes the checkpoint. An unknown id is no error. */
  delete(checkpointId: string): Promise<void>;

  /**
   * Removes workflow checkpoints, in transactions of at most 500. Saves go on in between. Without options it applies the limits that
   * the store was opened with.
   * @throws TypeError or RangeError for a wrong option. ForkpointError `CLOSED` if the store is closed meanwhile.
   */
  prune(options?: PruneOptions<RunPruneResult>): Promise<RunPruneResult>;

  /** Returns what the workflow checkpoints hold and take. */
  stats(options?: StatsOptions): Promise<WorkflowCheckpointStats>;

  /** Verifies everything in the database, of all contracts, and changes nothing. The same as `Store.check()`. */
  check(options?: CheckOptions): Promise<VerifyReport>;

  /** Gives the space of removed checkpoints, of all contracts, back to the file system. Saves wait. The same as `Store.vacuum()`. */
  vacuum(): Promise<void>;

  /** Waits for the calls made before, then closes. May be called again. An open store given to the constructor stays open. */
  close(): Promise<void>;

  /** `close()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Agentium's storage interface: values by namespace and key. */
export interface StorageDriver {
  /** Optional: called once before the first call of another method. If it rejects, the next call tries it again. */
  initialize?(): Promise<void>;
  /** Returns the value of the key, or null if there is none. */
  get<T>(namespace: string, key: string): Promise<T | null>;
  /** Stores a value. The value that the key had is replaced. */
  set<T>(namespace: string, key: string, value: T): Promise<void>;
  /** Removes the key. An unknown key must be no error. */
  delete(namespace: string, key: string): Promise<void>;
  /** Returns the entries whose key begins with the prefix. Without a prefix: all entries of the namespace. */
  list<T>(namespace: string, prefix?: string): Promise<Array<{ key: string; value: T }>>;
  /** Closes the driver. */
  close(): Promise<void>;
}

/**
 * Workflow checkpoints over any {@link StorageDriver}, the framework's and your own included. A save is one `set`. With
 * `keepLastN`, it then lists the run and removes the oldest. {@link WorkflowCheckpointStore} does the same in one transaction.
 *
 * Every method rejects with the driver's error if the driver fails.
 */
export class StorageBackedCheckpointStore<TState> implements IWorkflowCheckpointStore<TState>, AsyncDisposable {
  /**
   * @param options `keepLastN`: how many checkpoints of each run to keep, the newest by `createdAt`. Default: no limit. Null, 0
   *   and Infinity are no limit either.
   * @throws TypeError or RangeError for a wrong driver or option.
   */
  constructor(driver: StorageDriver, options?: { keepLastN?: number | null });
  /** How many checkpoints of each run are kept. 0: all of them. */
  readonly keepLastN: number;
  /**
   * Stores the checkpoint. One with the same id is replaced. The checkpoint is copied before `save` returns its promise.
   * @throws TypeError if a field is missing or has a wrong type. ForkpointError `INVALID_ARGUMENT` if a value in it cannot be
   *   stored; the message names its path. Nothing was written in either case.
   */
  save(checkpoint: WorkflowCheckpoint<TState>): Promise<void>;
  /**
   * Removes the run's other checkpoints from that `stepIndex` on, the last first, then saves the checkpoint. A crash in between
   * leaves the beginning of the run.
   * @throws the errors of `save`.
   */
  rewind(checkpoint: WorkflowCheckpoint<TState>): Promise<void>;
  /** Returns the checkpoint with that id, or null if there is none. */
  load(checkpointId: string): Promise<WorkflowCheckpoint<TState> | null>;
  /** Returns the run's checkpoints, ascending by `stepIndex`, then by `createdAt`. An unknown run has none. */
  list(runId: string): Promise<Array<WorkflowCheckpoint<TState>>>;
  /** The same as `list`, under the framework's name. */
  listForRun(runId: string): Promise<Array<WorkflowCheckpoint<TState>>>;
  /** Returns the last of `list`, or null if there is none. */
  latest(runId: string): Promise<WorkflowCheckpoint<TState> | null>;
  /** Removes the run's checkpoints, the last first. An unknown run is no error. */
  clear(runId: string): Promise<void>;
  /** Removes the checkpoint. An unknown id is no error. */
  delete(checkpointId: string): Promise<void>;
  /** Waits for the changes that are under way. The driver stays open. */
  close(): Promise<void>;
  /** `close()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** A {@link StorageDriver} in memory. It stores copies. */
export class InMemoryStorage implements StorageDriver {
  /** Returns a copy of the key's value, or null if there is none. */
  get<T>(namespace: string, key: string): Promise<T | null>;
  /**
   * Stores a copy of the value. The value that the key had is replaced.
   * @throws ForkpointError `INVALID_ARGUMENT` if the value cannot be stored; the message names the path.
   */
  set<T>(namespace: string, key: string, value: T): Promise<void>;
  /** Removes the key. An unknown key is no error. */
  delete(namespace: string, key: string): Promise<void>;
  /** Returns the entries whose key begins with the prefix, in the order in which the keys were first set. Default: all entries. */
  list<T>(namespace: string, prefix?: string): Promise<Array<{ key: string; value: T }>>;
  /** Removes all values. */
  close(): Promise<void>;
}

/** A durable {@link StorageDriver} over a Forkpoint database. */
export class ForkpointStorage implements StorageDriver, AsyncDisposable {
  /**
   * Takes the arguments of {@link WorkflowCheckpointStore}. `keepLastN` removes no value, because each key counts by itself. `ttlMs`
   * removes a value that was not set again for so long.
   * @throws TypeError or RangeError for a wrong target or option.
   */
  constructor(target: string | URL | Store, options?: StoreOptions);
  /** Returns the value of the key, or null if there is none. Each call returns a fresh object. */
  get<T>(namespace: string, key: string): Promise<T | null>;
  /**
   * Stores a value durably. The value that the key had is replaced. The value is read before `set` returns its promise.
   * @throws ForkpointError `INVALID_ARGUMENT` if the value cannot be stored; the message names the path.
   */
  set<T>(namespace: string, key: string, value: T): Promise<void>;
  /** Removes the key. An unknown key is no error. */
  delete(namespace: string, key: string): Promise<void>;
  /** Returns the entries whose key begins with the prefix, in the order of the keys' UTF-8 bytes. Default: all entries. */
  list<T>(namespace: string, prefix?: string): Promise<Array<{ key: string; value: T }>>;
  /** Waits for the calls made before, then closes. May be called again. An open store given to the constructor stays open. */
  close(): Promise<void>;
  /** `close()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}
