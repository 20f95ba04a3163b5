/**
 * Agentium's storage drivers, and workflow checkpoints over them. `agentium.d.ts` exports them.
 */

import type { WorkflowCheckpoint, WorkflowCheckpointStore } from "./agentium-stores.js";
import type { ErrorCode, Store, StoreOptions } from "./index.js";

/**
 * Agentium's storage interface. A driver stores each value under a namespace and a key.
 * @example const driver: StorageDriver = new InMemoryStorage(); // or your own driver
 */
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
 * @example const store = new StorageBackedCheckpointStore<State>(driver, { keepLastN: 50 });
 */
export class StorageBackedCheckpointStore<TState> implements WorkflowCheckpointStore<TState>, AsyncDisposable {
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
   * @example await store.save(checkpoint);
   */
  save(checkpoint: WorkflowCheckpoint<TState>): Promise<void>;
  /**
   * Removes the run's other checkpoints whose `stepIndex` is the same or greater, the last first, and then saves the
   * checkpoint. If the process crashes before the save, the run's earlier checkpoints remain.
   * @throws the errors of `save`.
   * @example await store.rewind(checkpoint); // now the last checkpoint of its run
   */
  rewind(checkpoint: WorkflowCheckpoint<TState>): Promise<void>;
  /**
   * Returns the checkpoint with that id, or null if there is none.
   * @example const checkpoint = await store.load("run-1:step-2");
   */
  load(checkpointId: string): Promise<WorkflowCheckpoint<TState> | null>;
  /**
   * Returns the run's checkpoints, ascending by `stepIndex`, then by `createdAt`. The list is empty for an unknown run.
   * @example const checkpoints = await store.list("run-1");
   */
  list(runId: string): Promise<Array<WorkflowCheckpoint<TState>>>;
  /**
   * The same as `list`. The framework calls this method `listForRun`.
   * @example const checkpoints = await store.listForRun("run-1");
   */
  listForRun(runId: string): Promise<Array<WorkflowCheckpoint<TState>>>;
  /**
   * Returns the run's last checkpoint in the order of `list`, or null if the run has none.
   * @example const checkpoint = await store.latest("run-1");
   */
  latest(runId: string): Promise<WorkflowCheckpoint<TState> | null>;
  /**
   * Removes the run's checkpoints, the last first. An unknown run causes no error.
   * @example await store.clear("run-1");
   */
  clear(runId: string): Promise<void>;
  /**
   * Removes the checkpoint. An unknown id causes no error.
   * @example await store.delete("run-1:step-2");
   */
  delete(checkpointId: string): Promise<void>;
  /**
   * Waits until the saves and removals in progress have ended. The driver stays open.
   * @example await store.close();
   */
  close(): Promise<void>;
  /**
   * Calls `close()` at the end of an `await using` block.
   * @example await using store = new StorageBackedCheckpointStore<State>(driver);
   */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * A {@link StorageDriver} in memory. The driver stores copies of the values. Each method rejects with a TypeError if a
 * namespace, key or prefix is no string.
 * @example const driver = new InMemoryStorage();
 */
export class InMemoryStorage implements StorageDriver {
  /**
   * Returns a copy of the key's value, or null if there is none.
   * @example const city = await driver.get<string>("trip", "city");
   */
  get<T>(namespace: string, key: string): Promise<T | null>;
  /**
   * Stores a copy of the value. An earlier value of the key is replaced.
   * @throws ForkpointError `INVALID_ARGUMENT` if the value cannot be stored; the message names the path of the part
   *   that cannot be stored.
   * @example await driver.set("trip", "city", "Rome");
   */
  set<T>(namespace: string, key: string, value: T): Promise<void>;
  /**
   * Removes the key. An unknown key causes no error.
   * @example await driver.delete("trip", "city");
   */
  delete(namespace: string, key: string): Promise<void>;
  /**
   * Returns the entries whose key begins with the prefix, in the order in which the keys were first set. Default: all
   * entries.
   * @example const entries = await driver.list<string>("trip", "city:");
   */
  list<T>(namespace: string, prefix?: string): Promise<Array<{ key: string; value: T }>>;
  /**
   * Removes all values.
   * @example await driver.close();
   */
  close(): Promise<void>;
}

/**
 * A durable {@link StorageDriver} over a Forkpoint database. Each method rejects with a TypeError if a namespace, key
 * or prefix is no string. Any call can reject with `BUSY`, `CLOSED`, `UNAVAILABLE` or `UNSUPPORTED`. A read can also
 * reject with `CORRUPT`, and `set` with `FULL`. {@link ErrorCode} explains the codes.
 * @example const driver = new ForkpointStorage("storage.db", { ttlMs: 24 * 60 * 60 * 1_000 });
 */
export class ForkpointStorage implements StorageDriver, AsyncDisposable {
  /**
   * Takes the arguments of {@link WorkflowCheckpointStore}. `keepLastN` removes no value, because the limit applies to
   * each key separately. `ttlMs` removes each value whose last `set` was more than `ttlMs` milliseconds ago.
   * @throws TypeError or RangeError for a wrong target or option.
   */
  constructor(target: string | URL | Store, options?: StoreOptions);
  /**
   * Returns the value of the key, or null if there is none. Each call returns a fresh object.
   * @example const city = await driver.get<string>("trip", "city");
   */
  get<T>(namespace: string, key: string): Promise<T | null>;
  /**
   * Stores a value durably. An earlier value of the key is replaced. The value is read before `set` returns its
   * promise.
   * @throws ForkpointError `INVALID_ARGUMENT` if the value cannot be stored; the message names the path of the part
   *   that cannot be stored.
   * @example await driver.set("trip", "city", "Rome");
   */
  set<T>(namespace: string, key: string, value: T): Promise<void>;
  /**
   * Removes the key. An unknown key causes no error.
   * @example await driver.delete("trip", "city");
   */
  delete(namespace: string, key: string): Promise<void>;
  /**
   * Returns the entries whose key begins with the prefix, in the order of the keys' UTF-8 bytes. Default: all entries.
   * @example const entries = await driver.list<string>("trip", "city:");
   */
  list<T>(namespace: string, prefix?: string): Promise<Array<{ key: string; value: T }>>;
  /**
   * Waits for earlier calls to end, then closes this object. A second call is allowed. An open store that was given to
   * the constructor stays open.
   * @example await driver.close();
   */
  close(): Promise<void>;
  /**
   * Calls `close()` at the end of an `await using` block.
   * @example await using driver = new ForkpointStorage("storage.db"); // closed at the end of the block
   */
  [Symbol.asyncDispose](): Promise<void>;
}
