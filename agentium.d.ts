/**
 * Agentium's durable workflows: a checkpoint after every step, resume, replay, fork and drain.
 *
 * The interfaces here are the documented ones of Agentium's "Workflow Time Travel", declared structurally, so that this package
 * needs no Agentium, and its stores also work inside the framework's own `Workflow`.
 */

import type { IWorkflowCheckpointStore, WorkflowCheckpoint } from "./agentium-stores.js";

export * from "./agentium-stores.js";

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
