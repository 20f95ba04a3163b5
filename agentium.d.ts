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
  PruneResult,
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
  /** Stores the checkpoint; one with the same id is replaced. */
  save(checkpoint: WorkflowCheckpoint<TState>): Promise<void>;
  load(checkpointId: string): Promise<WorkflowCheckpoint<TState> | null>;
  /** Ascending by `stepIndex`. */
  list(runId: string): Promise<Array<WorkflowCheckpoint<TState>>>;
  latest(runId: string): Promise<WorkflowCheckpoint<TState> | null>;
  clear(runId: string): Promise<void>;
  /**
   * Optional: removes a checkpoint. A replay then drops what comes after its first step one by one from the end; without
   * it, the run is cleared and written anew.
   */
  delete?(checkpointId: string): Promise<void>;
  /** Optional: saves the checkpoint and removes what else its run has from that `stepIndex` on, best in one transaction. */
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
  /** The last to begin first. */
  runs: Array<{
    runId: string;
    /** How many checkpoints it has. */
    checkpoints: number;
    /** How far it got. */
    latest: CheckpointSummary;
  }>;
  /** Give it to the next call of `runs`; null: this was the last page. */
  cursor: string | null;
}

/** What the checkpoints of workflows hold and take. */
export interface WorkflowCheckpointStats extends Omit<StoreStats, "lineages" | "largest"> {
  runs: number;
  /** The runs that take most, the largest first; at most 10. */
  largest: Array<{ runId: string } & Omit<LineageStats, "lineage">>;
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
   *   A file is opened in the background; what is wrong with it rejects the first call.
   * @param options as for `openStore`. Not together with an open store, which has its own.
   * @throws TypeError or RangeError for a target or an option that is not one.
   */
  constructor(target: string | URL | Store, options?: StoreOptions);

  /**
   * Stores the checkpoint; one with the same id is replaced, in whatever run it was. `parent` is the id of the checkpoint that
   * a new run was forked from: only what differs from it is stored.
   * @throws TypeError if the checkpoint is none; ForkpointError `INVALID_ARGUMENT` if a value in it cannot be stored, naming its
   *   path. Nothing was written.
   */
  save(checkpoint: WorkflowCheckpoint<TState>, options?: { parent?: string }): Promise<void>;

  /** Saves the checkpoint and removes what else its run has from that `stepIndex` on, in one transaction. */
  rewind(checkpoint: WorkflowCheckpoint<TState>, options?: { parent?: string }): Promise<void>;

  /** The checkpoint with that id, or null. */
  load(checkpointId: string): Promise<WorkflowCheckpoint<TState> | null>;

  /** The run's checkpoints, ascending by `stepIndex`, then by `createdAt`. The run is the exact `runId`, never a prefix. */
  list(runId: string): Promise<Array<WorkflowCheckpoint<TState>>>;

  /** `list`, under the framework's name. */
  listForRun(runId: string): Promise<Array<WorkflowCheckpoint<TState>>>;

  /** The last of `list`, or null. */
  latest(runId: string): Promise<WorkflowCheckpoint<TState> | null>;

  /** `list` without the states, which are not read for it: for a timeline of a long run. */
  timeline(runId: string): Promise<CheckpointSummary[]>;

  /** The runs that the store knows, the last to begin first: what to resume after a restart. A page has 100 unless said. */
  runs(options?: { limit?: number; cursor?: string | null }): Promise<WorkflowRunsPage>;

  /** Removes the run's checkpoints. An unknown run is fine. */
  clear(runId: string): Promise<void>;

  /** Removes the checkpoint. An unknown id is fine. */
  delete(checkpointId: string): Promise<void>;

  /** Removes workflow checkpoints in bounded transactions; without options, what the store was opened with. */
  prune(options?: PruneOptions): Promise<PruneResult>;

  /** What the workflow checkpoints hold and take. */
  stats(options?: StatsOptions): Promise<WorkflowCheckpointStats>;

  /** `Store.check()`: verifies everything in the database, of all contracts. */
  check(options?: CheckOptions): Promise<VerifyReport>;

  /** `Store.vacuum()`: gives back what removed checkpoints took, of all contracts, while saves wait. */
  vacuum(): Promise<void>;

  /** Waits for what was called before, then closes. May be called again. A store given to the constructor stays open. */
  close(): Promise<void>;

  /** `close()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Agentium's storage interface: values by namespace and key. */
export interface StorageDriver {
  initialize?(): Promise<void>;
  get<T>(namespace: string, key: string): Promise<T | null>;
  set<T>(namespace: string, key: string, value: T): Promise<void>;
  delete(namespace: string, key: string): Promise<void>;
  /** Those whose key begins so; all of them without a prefix. */
  list<T>(namespace: string, prefix?: string): Promise<Array<{ key: string; value: T }>>;
  close(): Promise<void>;
}

/**
 * Workflow checkpoints over any {@link StorageDriver}, the framework's and your own included. One `set` a save; `keepLastN` is
 * kept by listing the run after it. {@link WorkflowCheckpointStore} does the same in one transaction.
 */
export class StorageBackedCheckpointStore<TState> implements IWorkflowCheckpointStore<TState>, AsyncDisposable {
  /** @param options `keepLastN`: so many of each run stay, the newest by `createdAt`. All of them unless said. */
  constructor(driver: StorageDriver, options?: { keepLastN?: number | null });
  /** 0: all. */
  readonly keepLastN: number;
  save(checkpoint: WorkflowCheckpoint<TState>): Promise<void>;
  rewind(checkpoint: WorkflowCheckpoint<TState>): Promise<void>;
  load(checkpointId: string): Promise<WorkflowCheckpoint<TState> | null>;
  list(runId: string): Promise<Array<WorkflowCheckpoint<TState>>>;
  listForRun(runId: string): Promise<Array<WorkflowCheckpoint<TState>>>;
  latest(runId: string): Promise<WorkflowCheckpoint<TState> | null>;
  clear(runId: string): Promise<void>;
  delete(checkpointId: string): Promise<void>;
  /** Waits for what was called before. The driver stays open. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A {@link StorageDriver} in memory. `close` empties it. */
export class InMemoryStorage implements StorageDriver {
  get<T>(namespace: string, key: string): Promise<T | null>;
  set<T>(namespace: string, key: string, value: T): Promise<void>;
  delete(namespace: string, key: string): Promise<void>;
  list<T>(namespace: string, prefix?: string): Promise<Array<{ key: string; value: T }>>;
  close(): Promise<void>;
}

/** A durable {@link StorageDriver} over a Forkpoint database. `list` is in the order of the keys' UTF-8 bytes. */
export class ForkpointStorage implements StorageDriver, AsyncDisposable {
  /** As for {@link WorkflowCheckpointStore}. `keepLastN` never removes a value: each key counts for itself. */
  constructor(target: string | URL | Store, options?: StoreOptions);
  get<T>(namespace: string, key: string): Promise<T | null>;
  set<T>(namespace: string, key: string, value: T): Promise<void>;
  delete(namespace: string, key: string): Promise<void>;
  list<T>(namespace: string, prefix?: string): Promise<Array<{ key: string; value: T }>>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** What a step is told beside the state. */
export interface StepContext {
  runId: string;
  /** The workflow's name. */
  workflow: string;
  /** The checkpointed step that this one is, or is a part of. */
  stepIndex: number;
  /** The name of this step. */
  stepName: string;
  /** The names from the checkpointed step down to this one. */
  path: readonly string[];
  /** 0 for the first attempt. */
  attempt: number;
  /** Aborts when the run is aborted, or fails while this step still runs. */
  signal: AbortSignal;
  /** As given to the run. */
  sessionId?: string;
  /** As given to the run. */
  userId?: string;
}

type MaybePromise<T> = T | Promise<T>;

/** A step that is a function. */
export interface FunctionStep<TState> {
  name: string;
  /**
   * Gets a draft of its own. What it returns is merged over it; where it returns nothing, its edits of the draft count. Every
   * attempt gets a fresh draft.
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
 * Steps that run at the same time, each from the same state. Each one's own changes are put together: objects key by key, items
 * that were appended to a list one branch after the other. Where two change the same value to different ones, the step fails
 * with `CONFLICT`.
 */
export interface ParallelStep<TState> {
  name: string;
  parallel: ReadonlyArray<StepDefinition<TState>>;
}

/** A step that runs an agent and keeps its answer in `state[name + "_output"]`. */
export interface AgentStep<TState> {
  name: string;
  agent: { run(input: string, options?: any): Promise<{ text: string }> };
  /** What the agent is asked; the state as JSON unless said. */
  inputFrom?(state: TState): string;
}

export type StepDefinition<TState> = FunctionStep<TState> | ConditionStep<TState> | ParallelStep<TState> | AgentStep<TState>;

export interface WorkflowConfig<TState extends object> {
  name: string;
  /** The state before any step. Copied for every run. */
  initialState: TState;
  /** One checkpoint is stored after each of these. */
  steps: ReadonlyArray<StepDefinition<TState>>;
  /** Where checkpoints go. Without one, only `run()` works. */
  checkpointStore?: IWorkflowCheckpointStore<TState>;
  /** A function, agent or condition that throws is tried again so many times, after `backoffMs * 2^attempt` ms. */
  retryPolicy?: { maxRetries: number; backoffMs?: number };
}

/** What became of a step. */
export interface StepResult {
  stepName: string;
  status: "done" | "skipped" | "error";
  /** The message of what it threw. */
  error?: string;
  durationMs: number;
}

export interface WorkflowRunOutput<TState> {
  runId: string;
  /** The final state. */
  state: TState;
  /** What became of the steps that ran in this call, those within others too, in the order in which they ended. */
  stepResults: StepResult[];
}

/** A step that has failed for good. */
export interface FailedStep {
  runId: string;
  stepIndex: number;
  stepName: string;
  path: readonly string[];
  /** How often it was tried. */
  attempts: number;
}

export interface RunOptions {
  /** Ends the run at once: it rejects with the signal's reason. What is stored stays. */
  signal?: AbortSignal;
  /** When a drain is requested, the current step is finished and stored, and the run rejects with {@link RunDrainedError}. */
  drain?: { readonly drained: boolean; waitForDrain(): Promise<void> };
  /**
   * What happens when a step has failed for good: the run rejects (`"fail"`, unless said), or goes on with the state from before
   * that step (`"continue"`); a function says whether it goes on.
   */
  onStepError?: "fail" | "continue" | ((error: unknown, step: FailedStep) => MaybePromise<boolean>);
  /** For {@link StepContext}, and for agents. */
  sessionId?: string;
  /** For {@link StepContext}. */
  userId?: string;
}

export interface StartOptions<TState> extends RunOptions {
  /** In place of the workflow's: the state before any step. Not used where a run is resumed. */
  initialState?: TState;
}

export interface RunWithCheckpointsOptions<TState> extends StartOptions<TState> {
  /** Any non-empty string; generated unless said. What that run has stored is cleared, unless it is resumed. */
  runId?: string;
  /** Goes on after the latest checkpoint of `runId`, or starts if there is none. */
  resume?: boolean;
  /** Resumes although a step of another name is where the checkpoint's was. */
  force?: boolean;
}

export interface ReplayOptions extends RunOptions {
  /** Leaves the run as it is and makes a new one. */
  newRun?: boolean;
  /** As for a resume. */
  force?: boolean;
}

export interface ForkOptions extends RunOptions {
  /** As for a resume. */
  force?: boolean;
}

/** What happens in a run. */
export type WorkflowEvent<TState> =
  | {
      type: "run.start";
      runId: string;
      workflow: string;
      /** How it began. */
      kind: "run" | "resume" | "replay" | "fork";
      /** The checkpoint that it goes on from. */
      from?: string;
      /** The step that is next. */
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
      /** Until the next attempt (`"retry"`). */
      delayMs?: number;
      /** What it threw (`"retry"`, `"error"`). */
      error?: unknown;
      /** Since its start (`"done"`, `"skipped"`, `"error"`). */
      durationMs?: number;
    }
  | { type: "checkpoint.saved"; runId: string; checkpointId: string; stepIndex: number; stepName: string }
  | { type: "run.complete"; runId: string; output: WorkflowRunOutput<TState> }
  | { type: "run.error"; runId: string; error: unknown };

/** Where to hear of a workflow's runs. A listener that throws is reported as an uncaught exception and does not disturb a run. */
export interface WorkflowEvents<TState> {
  on<K extends WorkflowEvent<TState>["type"]>(type: K, listener: (event: Extract<WorkflowEvent<TState>, { type: K }>) => void): this;
  once<K extends WorkflowEvent<TState>["type"]>(type: K, listener: (event: Extract<WorkflowEvent<TState>, { type: K }>) => void): this;
  off<K extends WorkflowEvent<TState>["type"]>(type: K, listener: (event: Extract<WorkflowEvent<TState>, { type: K }>) => void): this;
}

/**
 * Steps over a state, with a checkpoint after each.
 *
 * A run that fails, is killed or drained goes on where it was with `runWithCheckpoints({ runId, resume: true })`: no step that
 * was stored runs again, and at most the one that was under way runs twice. What a step throws rejects the run; the error
 * carries `runId`, `stepIndex` and `stepName`.
 */
export class Workflow<TState extends object> {
  /** @throws TypeError for a definition that is none. */
  constructor(config: WorkflowConfig<TState>);
  readonly kind: "workflow";
  readonly name: string;
  /** What happens in all runs of this workflow. */
  readonly events: WorkflowEvents<TState>;

  /** Runs the steps and stores nothing. */
  run(options?: StartOptions<TState>): Promise<WorkflowRunOutput<TState>>;

  /** Runs the steps and stores a checkpoint before the first and after each. */
  runWithCheckpoints(options?: RunWithCheckpointsOptions<TState>): Promise<WorkflowRunOutput<TState>>;

  /** The run's checkpoints, ascending. The first is the initial one, or where it was forked. */
  listCheckpoints(runId: string): Promise<Array<WorkflowCheckpoint<TState>>>;

  /**
   * Runs what comes after a checkpoint, as the same run: what was stored after it is replaced. A checkpoint that nothing
   * comes after runs nothing.
   * @throws ForkpointError `NOT_FOUND`.
   */
  replay(checkpointId: string, options?: ReplayOptions): Promise<WorkflowRunOutput<TState>>;

  /**
   * Runs what comes after a checkpoint as a new run, with the state that `mutator` makes of it. The parent stays as it is.
   * @param mutator called once with a copy of its own; what it returns is the state.
   * @throws ForkpointError `NOT_FOUND`; TypeError if the mutator returns no state.
   */
  fork(
    checkpointId: string,
    mutator?: ((state: TState) => TState) | null,
    options?: ForkOptions,
  ): Promise<WorkflowRunOutput<TState>>;

  /**
   * The same as an iterator over what happens: a run (with checkpoints if there is a store), a replay or a fork. The run goes on
   * whether or not somebody asks for the next event; leaving the loop early aborts it. Throws what the run rejects with.
   */
  stream(
    options?:
      | RunWithCheckpointsOptions<TState>
      | ({ replay: string } & ReplayOptions)
      | ({ fork: string; mutator?: ((state: TState) => TState) | null } & ForkOptions),
  ): AsyncGenerator<WorkflowEvent<TState>, WorkflowRunOutput<TState>, void>;
}

/** Tells runs that the process is to end soon. */
export class DrainController {
  constructor();
  /** Whether a drain was requested. */
  readonly drained: boolean;
  /** May be called again. */
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
