/**
 * Agentium's durable workflows: a checkpoint after every step, resume, replay, fork and drain.
 *
 * The interfaces here are the documented ones of Agentium's "Workflow Time Travel", declared structurally, so that this package
 * needs no Agentium, and its stores also work inside the framework's own `Workflow`.
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

/** The second argument of a step. */
export interface StepContext {
  /** The run that the step is part of. */
  runId: string;
  /** The workflow's name. */
  workflow: string;
  /** The index of the checkpointed step that this step is, or is part of. */
  stepIndex: number;
  /** The name of this step. */
  stepName: string;
  /** The names from the checkpointed step down to this one. */
  path: readonly string[];
  /** 0 for the first attempt. */
  attempt: number;
  /** Aborts when the run is aborted, or fails while this step still runs. */
  signal: AbortSignal;
  /** From the options of the run. */
  sessionId?: string;
  /** From the options of the run. */
  userId?: string;
}

type MaybePromise<T> = T | Promise<T>;

/** A step that is a function. */
export interface FunctionStep<TState> {
  name: string;
  /**
   * Gets a copy of the state. An object that it returns is merged over the state. If it returns nothing, its edits of the copy
   * count. Every attempt gets a fresh copy.
   */
  run(state: TState, context: StepContext): MaybePromise<Partial<TState> | void | null>;
}

/** Steps that run one after the other if the condition holds. */
export interface ConditionStep<TState> {
  name: string;
  condition(state: TState, context: StepContext): MaybePromise<boolean>;
  steps: ReadonlyArray<StepDefinition<TState>>;
}

/**
 * Steps that run at the same time, each from the same state. Their changes are then merged. Objects are merged key by key, and
 * items that were appended to a list are joined in the order of the branches. If two branches change a value differently, the
 * step fails with `CONFLICT`.
 */
export interface ParallelStep<TState> {
  name: string;
  parallel: ReadonlyArray<StepDefinition<TState>>;
}

/** A step that runs an agent and keeps its answer in `state[name + "_output"]`. */
export interface AgentStep<TState> {
  name: string;
  agent: { run(input: string, options?: any): Promise<{ text: string }> };
  /** Returns the agent's input. Default: the state as JSON. */
  inputFrom?(state: TState): string;
}

export type StepDefinition<TState> =
  FunctionStep<TState> | ConditionStep<TState> | ParallelStep<TState> | AgentStep<TState>;

export interface WorkflowConfig<TState extends object> {
  name: string;
  /** The state before any step. Copied for every run. */
  initialState: TState;
  /** One checkpoint is stored after each of these. */
  steps: ReadonlyArray<StepDefinition<TState>>;
  /** The store for the checkpoints. Without one, only `run()` works. */
  checkpointStore?: IWorkflowCheckpointStore<TState>;
  /**
   * How often a function, agent or condition that throws is tried again. The wait before each retry is `backoffMs * 2^attempt`
   * ms.
   */
  retryPolicy?: { maxRetries: number; backoffMs?: number };
}

/** The result of a step. */
export interface StepResult {
  stepName: string;
  status: "done" | "skipped" | "error";
  /** The message of the error that it threw. */
  error?: string;
  durationMs: number;
}

export interface WorkflowRunOutput<TState> {
  runId: string;
  /** The final state. */
  state: TState;
  /** The results of the steps that ran in this call, nested steps included, in the order in which they ended. */
  stepResults: StepResult[];
}

/** A step that has failed for good. */
export interface FailedStep {
  runId: string;
  stepIndex: number;
  stepName: string;
  path: readonly string[];
  /** How many times the step was tried. */
  attempts: number;
}

export interface RunOptions {
  /** Ends the run at once. The run rejects with the signal's reason. Its stored checkpoints stay. */
  signal?: AbortSignal;
  /** When a drain is requested, the current step is finished and stored, and the run rejects with {@link RunDrainedError}. */
  drain?: { readonly drained: boolean; waitForDrain(): Promise<void> };
  /**
   * What happens when a step has failed for good. Default: `"fail"`.
   *
   * - `"fail"`: the run rejects.
   * - `"continue"`: the run goes on with the state from before that step.
   * - A function: the run goes on if it returns true, else it rejects.
   */
  onStepError?: "fail" | "continue" | ((error: unknown, step: FailedStep) => MaybePromise<boolean>);
  /** Passed to steps in {@link StepContext}, and to agents. */
  sessionId?: string;
  /** Passed to steps in {@link StepContext}. */
  userId?: string;
}

export interface StartOptions<TState> extends RunOptions {
  /** The state before any step. Replaces the workflow's `initialState`. A resumed run ignores it. */
  initialState?: TState;
}

export interface RunWithCheckpointsOptions<TState> extends StartOptions<TState> {
  /**
   * The run's id: any non-empty string. Default: a generated id. The stored checkpoints of this run are removed, unless
   * `resume` is true.
   */
  runId?: string;
  /** Goes on after the latest checkpoint of `runId`, or starts the run if there is none. Default: false. */
  resume?: boolean;
  /** Resumes even if the step at the checkpoint's index has another name now. Default: false. */
  force?: boolean;
}

export interface ReplayOptions extends RunOptions {
  /** Makes a new run and leaves the old one as it is. Default: false. */
  newRun?: boolean;
  /** As for a resume: goes on even if the step at the checkpoint's index has another name now. Default: false. */
  force?: boolean;
}

export interface ForkOptions extends RunOptions {
  /** As for a resume: goes on even if the step at the checkpoint's index has another name now. Default: false. */
  force?: boolean;
}

/** An event of a run. */
export type WorkflowEvent<TState> =
  | {
      type: "run.start";
      runId: string;
      workflow: string;
      /** How the run began. */
      kind: "run" | "resume" | "replay" | "fork";
      /** The id of the checkpoint that the run goes on from. */
      from?: string;
      /** The index of the next step. */
      stepIndex: number;
    }
  | {
      type: "workflow.step";
      runId: string;
      stepIndex: number;
      stepName: string;
      path: readonly string[];
      status: "start" | "retry" | "done" | "skipped" | "error";
      /** The attempt that failed (`"retry"`), counted from 0. */
      attempt?: number;
      /** The wait before the next attempt, in ms (`"retry"`). */
      delayMs?: number;
      /** The error that the step threw (`"retry"`, `"error"`). */
      error?: unknown;
      /** The time since the step's start, in ms (`"done"`, `"skipped"`, `"error"`). */
      durationMs?: number;
    }
  | { type: "checkpoint.saved"; runId: string; checkpointId: string; stepIndex: number; stepName: string }
  | { type: "run.complete"; runId: string; output: WorkflowRunOutput<TState> }
  | { type: "run.error"; runId: string; error: unknown };

/** The events of a workflow's runs. A listener that throws is reported as an uncaught exception and does not disturb the run. */
export interface WorkflowEvents<TState> {
  on<K extends WorkflowEvent<TState>["type"]>(
    type: K,
    listener: (event: Extract<WorkflowEvent<TState>, { type: K }>) => void,
  ): this;
  once<K extends WorkflowEvent<TState>["type"]>(
    type: K,
    listener: (event: Extract<WorkflowEvent<TState>, { type: K }>) => void,
  ): this;
  off<K extends WorkflowEvent<TState>["type"]>(
    type: K,
    listener: (event: Extract<WorkflowEvent<TState>, { type: K }>) => void,
  ): this;
}

/**
 * Runs steps over a state and stores a checkpoint after each.
 *
 * A run that failed, was killed or was drained can be resumed with `runWithCheckpoints({ runId, resume: true })`. A stored step
 * does not run again. At most the step that was under way runs twice. If a step throws, the run rejects with that error, which
 * then carries `runId`, `stepIndex` and `stepName`.
 */
export class Workflow<TState extends object> {
  /** @throws TypeError for a wrong definition. */
  constructor(config: WorkflowConfig<TState>);
  readonly kind: "workflow";
  readonly name: string;
  /** The events of all runs of this workflow. */
  readonly events: WorkflowEvents<TState>;

  /** Runs the steps and stores nothing. */
  run(options?: StartOptions<TState>): Promise<WorkflowRunOutput<TState>>;

  /** Runs the steps and stores a checkpoint before the first and after each. */
  runWithCheckpoints(options?: RunWithCheckpointsOptions<TState>): Promise<WorkflowRunOutput<TState>>;

  /** Returns the run's checkpoints, ascending. The first is the initial one, or the one that the run was forked from. */
  listCheckpoints(runId: string): Promise<Array<WorkflowCheckpoint<TState>>>;

  /**
   * Runs the steps after a checkpoint, as the same run: the checkpoints stored after it are replaced. After the last step, nothing
   * runs.
   * @throws ForkpointError `NOT_FOUND` if there is no such checkpoint.
   */
  replay(checkpointId: string, options?: ReplayOptions): Promise<WorkflowRunOutput<TState>>;

  /**
   * Runs the steps after a checkpoint as a new run, with the state that `mutator` returns. The parent run stays as it is.
   * @param mutator called once with a copy of the state. Default: the state is taken as it is.
   * @throws ForkpointError `NOT_FOUND` if there is no such checkpoint. TypeError if the mutator returns no state.
   */
  fork(
    checkpointId: string,
    mutator?: ((state: TState) => TState) | null,
    options?: ForkOptions,
  ): Promise<WorkflowRunOutput<TState>>;

  /**
   * Starts a run, a replay or a fork and returns an iterator over its events. A run stores checkpoints if the workflow has a store.
   * The run does not wait for the reader of the events. Leaving the loop early aborts it. The iterator throws the error that the
   * run rejects with.
   */
  stream(
    options?:
      | RunWithCheckpointsOptions<TState>
      | ({ replay: string } & ReplayOptions)
      | ({ fork: string; mutator?: ((state: TState) => TState) | null } & ForkOptions),
  ): AsyncGenerator<WorkflowEvent<TState>, WorkflowRunOutput<TState>, void>;
}

/** Requests a drain from runs before the process ends. */
export class DrainController {
  constructor();
  /** Whether a drain was requested. */
  readonly drained: boolean;
  /** Requests a drain. May be called again. */
  requestDrain(): void;
  /** Resolves when a drain is requested. Does not keep the process alive. */
  waitForDrain(): Promise<void>;
}

/** The run was drained: its latest checkpoint is stored, and it can be resumed. */
export class RunDrainedError extends Error {
  constructor(runId: string);
  readonly name: "RunDrainedError";
  readonly runId: string;
}
