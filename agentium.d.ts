/**
 * Agentium's durable workflows: a checkpoint after every step, resume, replay, fork and drain.
 *
 * The interfaces in this file are those that Agentium documents in "Workflow Time Travel". They are declared
 * structurally. This package therefore does not need Agentium, and its stores also work inside the framework's own
 * `Workflow`.
 */

import type { IWorkflowCheckpointStore, WorkflowCheckpoint } from "./agentium-stores.js";

export * from "./agentium-storage.js";
export * from "./agentium-stores.js";

/** The second argument of a step. */
export interface StepContext {
  /** The run that the step is part of. */
  runId: string;
  /** The workflow's name. */
  workflow: string;
  /**
   * The index of the checkpointed step. If this step is nested, this is the index of the top-level step that contains
   * it.
   */
  stepIndex: number;
  /** The name of this step. */
  stepName: string;
  /** The names of the steps from the checkpointed step down to this step. */
  path: readonly string[];
  /** The number of this attempt. 0 for the first attempt. */
  attempt: number;
  /** This signal aborts when the run is aborted. It also aborts when the run fails while this step is still running. */
  signal: AbortSignal;
  /** The value of this field in the options of the run. */
  sessionId?: string;
  /** The value of this field in the options of the run. */
  userId?: string;
}

type MaybePromise<T> = T | Promise<T>;

/** A step that is a function. */
export interface FunctionStep<TState> {
  name: string;
  /**
   * Gets a copy of the state. If the function returns an object, the object is merged over the state. If the function
   * returns nothing, the edited copy becomes the state. Every attempt gets a fresh copy.
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
 * Steps that run at the same time, each from the same state. Their changes are then merged. Objects are merged key by
 * key, and items that were appended to a list are joined in the order of the branches. If two branches change a value
 * differently, the step fails with `CONFLICT`.
 */
export interface ParallelStep<TState> {
  name: string;
  parallel: ReadonlyArray<StepDefinition<TState>>;
}

/** A step that runs an agent and stores the answer in `state[name + "_output"]`. */
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
  /** The state before the first step. Every run gets a copy. */
  initialState: TState;
  /** The steps of the workflow. One checkpoint is stored after each of them. */
  steps: ReadonlyArray<StepDefinition<TState>>;
  /** The store for the checkpoints. Without one, only `run()` works. */
  checkpointStore?: IWorkflowCheckpointStore<TState>;
  /**
   * How often a function, an agent or a condition is tried again after it throws. The wait before each retry is
   * `backoffMs * 2^attempt` ms. Default of `backoffMs`: 1,000. Without a policy, nothing is tried again.
   */
  retryPolicy?: { maxRetries: number; backoffMs?: number };
}

/** The result of a step. */
export interface StepResult {
  stepName: string;
  status: "done" | "skipped" | "error";
  /** The message of the error that the step threw. */
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

/** A step that has failed in all of its attempts. */
export interface FailedStep {
  runId: string;
  stepIndex: number;
  stepName: string;
  path: readonly string[];
  /** How many times the step was tried. */
  attempts: number;
}

export interface RunOptions {
  /**
   * An abort of this signal ends the run at once. The run rejects with the signal's reason. The stored checkpoints of
   * the run stay.
   */
  signal?: AbortSignal;
  /**
   * When a drain is requested, the current step is finished and stored, and the run rejects with {@link
   * RunDrainedError}.
   */
  drain?: { readonly drained: boolean; waitForDrain(): Promise<void> };
  /**
   * What happens when a step has failed in all of its attempts. Default: `"fail"`.
   *
   * - `"fail"`: the run rejects.
   * - `"continue"`: the run continues with the state from before the failed step.
   * - A function: the run continues if the function returns true. Otherwise the run rejects.
   */
  onStepError?: "fail" | "continue" | ((error: unknown, step: FailedStep) => MaybePromise<boolean>);
  /** Passed to steps in {@link StepContext}, and to agents. */
  sessionId?: string;
  /** Passed to steps in {@link StepContext}. */
  userId?: string;
}

export interface StartOptions<TState> extends RunOptions {
  /** The state before the first step. Replaces the workflow's `initialState`. A resumed run ignores this option. */
  initialState?: TState;
}

export interface RunWithCheckpointsOptions<TState> extends StartOptions<TState> {
  /**
   * The run's id: any non-empty string. Default: a generated id. Stored checkpoints of a run with this id are removed,
   * unless `resume` is true.
   */
  runId?: string;
  /**
   * If true, continues the run `runId` after its latest checkpoint. If the run has no checkpoint, it starts from the
   * beginning. Default: false.
   */
  resume?: boolean;
  /** If true, resumes even if the step at the checkpoint's index now has another name. Default: false. */
  force?: boolean;
}

export interface ReplayOptions extends RunOptions {
  /** If true, the replay makes a new run and does not change the old run. Default: false. */
  newRun?: boolean;
  /**
   * If true, continues even if the step at the checkpoint's index now has another name. A resume has the same option.
   * Default: false.
   */
  force?: boolean;
}

export interface ForkOptions extends RunOptions {
  /**
   * If true, continues even if the step at the checkpoint's index now has another name. A resume has the same option.
   * Default: false.
   */
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
      /** The id of the checkpoint from which the run continues. */
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

/** The events of a workflow's runs. A listener that throws causes an uncaught exception. The run continues. */
export interface WorkflowEvents<TState> {
  /**
   * Calls the listener at each event of this type.
   * @example workflow.events.on("checkpoint.saved", ({ checkpointId }) => console.log(checkpointId));
   */
  on<K extends WorkflowEvent<TState>["type"]>(
    type: K,
    listener: (event: Extract<WorkflowEvent<TState>, { type: K }>) => void,
  ): this;
  /**
   * Calls the listener at the next event of this type only.
   * @example workflow.events.once("run.start", ({ runId }) => console.log(runId));
   */
  once<K extends WorkflowEvent<TState>["type"]>(
    type: K,
    listener: (event: Extract<WorkflowEvent<TState>, { type: K }>) => void,
  ): this;
  /**
   * Removes a listener.
   * @example workflow.events.off("run.error", listener);
   */
  off<K extends WorkflowEvent<TState>["type"]>(
    type: K,
    listener: (event: Extract<WorkflowEvent<TState>, { type: K }>) => void,
  ): this;
}

/**
 * Runs steps over a state and stores a checkpoint after each step.
 *
 * A run that failed, was killed or was drained can be resumed with `runWithCheckpoints({ runId, resume: true })`. A
 * stored step does not run again. Only the step that was running can run a second time. If a step throws, the run
 * rejects with the step's error. The fields `runId`, `stepIndex` and `stepName` are added to the error.
 *
 * A run, replay or fork rejects with:
 *
 * - a TypeError for a wrong argument.
 * - `INVALID_ARGUMENT` if the workflow needs a store and has none.
 * - `CONFLICT` if the run is already running in this process, if the step at the checkpoint's index now has another
 *   name (see `force`), or if parallel steps changed the same value differently.
 * - {@link RunDrainedError} after a drain, and the signal's reason after an abort.
 * - the store's own error if the store fails.
 *
 * @example
 * ```ts
 * const workflow = new Workflow({
 *   name: "count",
 *   initialState: { n: 0 },
 *   steps: [{ name: "add", run: ({ n }) => ({ n: n + 1 }) }],
 *   checkpointStore: new WorkflowCheckpointStore<{ n: number }>("wf.db"),
 * });
 * ```
 */
export class Workflow<TState extends object> {
  /** @throws TypeError for a wrong definition. */
  constructor(config: WorkflowConfig<TState>);
  readonly kind: "workflow";
  readonly name: string;
  /** The events of all runs of this workflow. */
  readonly events: WorkflowEvents<TState>;

  /**
   * Runs the steps and stores nothing.
   * @example const { state, stepResults } = await workflow.run({ initialState: { n: 5 } });
   */
  run(options?: StartOptions<TState>): Promise<WorkflowRunOutput<TState>>;

  /**
   * Runs the steps and stores a checkpoint before the first step and after each step.
   * @example const { state } = await workflow.runWithCheckpoints({ runId: "run-1", resume: true });
   */
  runWithCheckpoints(options?: RunWithCheckpointsOptions<TState>): Promise<WorkflowRunOutput<TState>>;

  /**
   * Returns the run's checkpoints in ascending order. The first is the initial checkpoint, or the checkpoint that the
   * run was forked from. The list is empty for an unknown run.
   * @throws ForkpointError `INVALID_ARGUMENT` if the workflow has no store.
   * @example const [initial, ...afterSteps] = await workflow.listCheckpoints("run-1");
   */
  listCheckpoints(runId: string): Promise<Array<WorkflowCheckpoint<TState>>>;

  /**
   * Runs the steps after a checkpoint as part of the same run, and replaces the later checkpoints of the run. If the
   * checkpoint is that of the last step, no step runs.
   * @throws ForkpointError `NOT_FOUND` if there is no such checkpoint.
   * @example const { state } = await workflow.replay("run-1:step-2", { newRun: true });
   */
  replay(checkpointId: string, options?: ReplayOptions): Promise<WorkflowRunOutput<TState>>;

  /**
   * Runs the steps after a checkpoint as a new run, with the state that `mutator` returns. The parent run does not
   * change.
   * @param mutator called once with a copy of the state. Default: the state is not changed.
   * @throws ForkpointError `NOT_FOUND` if there is no such checkpoint. TypeError if the mutator returns no state.
   * @example const { runId } = await workflow.fork("run-1:step-2", (state) => ({ ...state, n: 7 }));
   */
  fork(
    checkpointId: string,
    mutator?: ((state: TState) => TState) | null,
    options?: ForkOptions,
  ): Promise<WorkflowRunOutput<TState>>;

  /**
   * Starts a run, a replay or a fork and returns an iterator over its events. A run stores checkpoints if the workflow
   * has a store. The run does not wait for the reader of the events. If the reader leaves the loop early, the run is
   * aborted. The iterator throws the error that the run rejects with.
   * @example for await (const event of workflow.stream({ runId: "run-1" })) console.log(event.type);
   */
  stream(
    options?:
      | RunWithCheckpointsOptions<TState>
      | ({ replay: string } & ReplayOptions)
      | ({ fork: string; mutator?: ((state: TState) => TState) | null } & ForkOptions),
  ): AsyncGenerator<WorkflowEvent<TState>, WorkflowRunOutput<TState>, void>;
}

/**
 * Asks runs to stop after their current step, for example before the process ends.
 *
 * @example
 * ```ts
 * const drain = new DrainController();
 * process.once("SIGTERM", () => drain.requestDrain());
 * await workflow.runWithCheckpoints({ runId: "run-1", drain });
 * ```
 */
export class DrainController {
  constructor();
  /** True if a drain was requested. */
  readonly drained: boolean;
  /**
   * Requests a drain. A second call is allowed.
   * @example process.once("SIGTERM", () => drain.requestDrain());
   */
  requestDrain(): void;
  /**
   * Resolves when a drain is requested. The pending promise does not keep the process alive.
   * @example await drain.waitForDrain();
   */
  waitForDrain(): Promise<void>;
}

/**
 * The error of a run that was drained. The run's latest checkpoint is stored, and the run can be resumed.
 * @example if (error instanceof RunDrainedError) console.log(`to be resumed: ${error.runId}`);
 */
export class RunDrainedError extends Error {
  constructor(runId: string);
  readonly name: "RunDrainedError";
  readonly runId: string;
}
