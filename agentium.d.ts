/**
 * Agentium's durable workflows: a checkpoint after every step, resume, replay, fork and drain.
 *
 * The interfaces in this file are those that Agentium documents in "Workflow Time Travel". They are declared
 * structurally. This package therefore does not need Agentium, and its stores also work inside the framework's own
 * `Workflow`.
 */

import type { EventBus, WorkflowEvent, WorkflowEvents } from "./agentium-events.js";
import type { FailedStep, MaybePromise, RetryPolicy, StepDef, StepResult } from "./agentium-steps.js";
import type { StorageDriver } from "./agentium-storage.js";
import type { WorkflowCheckpoint, WorkflowCheckpointStore } from "./agentium-stores.js";

export * from "./agentium-events.js";
export * from "./agentium-steps.js";
export * from "./agentium-storage.js";
export * from "./agentium-stores.js";

/** The definition of a workflow. An unknown field is a TypeError that suggests the right name. */
export interface WorkflowConfig<TState = Record<string, unknown>> {
  name: string;
  /** The state before the first step: any value that can be stored, but not undefined. Every run gets a copy. */
  initialState: TState;
  /** The steps of the workflow. One checkpoint is stored after each of them. */
  steps: ReadonlyArray<StepDef<TState>>;
  /** The store for the checkpoints. Without one, and without `storage`, only `run()` works. */
  checkpointStore?: WorkflowCheckpointStore<TState>;
  /**
   * A storage driver for the checkpoints, instead of a store: the same as `checkpointStore: new
   * StorageBackedCheckpointStore(storage)`. Not used if there is a `checkpointStore`.
   */
  storage?: StorageDriver;
  /** Applies to each step that has no policy of its own. Without a policy, nothing is tried again. */
  retryPolicy?: RetryPolicy;
  /** Gets the events of all runs in the framework's shapes. Default: an event bus of the workflow's own. */
  eventBus?: { emit(event: any, data: any): unknown };
  /** If true, adds the workflow to {@link registry}. A registered workflow stays in memory. Default: true. */
  register?: boolean;
  /**
   * If true, a run is executed by one process at a time: it takes its lease when it begins, and releases it when it ends. A
   * run that another process executes rejects with `CONFLICT`. Needs a `WorkflowCheckpointStore` of this package; over
   * another store the constructor throws `UNSUPPORTED`. `run()`, which stores nothing, takes no lease. Default: false. See
   * docs/leases.md.
   */
  lease?: boolean | { ttlMs?: number };
}

/** The result of a workflow. */
export interface WorkflowResult<TState> {
  /** The final state. */
  state: TState;
  /** The results of the steps that ran in this call, nested steps included, in the order in which they ended. */
  stepResults: StepResult[];
}

/** The result of a run. */
export interface WorkflowRunOutput<TState> extends WorkflowResult<TState> {
  runId: string;
  /**
   * True if the run began with its initial state, and not after a checkpoint. With `resume: true`, this means that there
   * was nothing to resume.
   */
  fresh: boolean;
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
   * beginning, and `fresh` is true in the result and in the event `run.start`. Default: false.
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
export class Workflow<TState = Record<string, unknown>> {
  /** @throws TypeError for a wrong definition. */
  constructor(config: WorkflowConfig<TState>);
  readonly kind: "workflow";
  readonly name: string;
  /** The events of all runs of this workflow. */
  readonly events: WorkflowEvents<TState>;
  /** The event bus of the constructor's option, or one of the workflow's own. Gets the events that the framework has. */
  readonly eventBus: EventBus;

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
   * Returns the run's checkpoints in ascending order, whatever order the store returns. The first is the initial checkpoint, or the checkpoint that the
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
   * @param mutator called once with a copy of the state. Its result replaces the state. Default: the state is not
   *   changed.
   * @throws ForkpointError `NOT_FOUND` if there is no such checkpoint. TypeError if the mutator returns a promise or
   *   undefined, or no object although the state is an object.
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
  /** @param message Default: says that the run was drained and can be resumed. */
  constructor(runId: string, message?: string);
  readonly name: "RunDrainedError";
  readonly runId: string;
}

/** The workflows that were made without `register: false`, by name. */
export interface WorkflowRegistry {
  readonly workflows: Map<string, Workflow<any>>;
  /** Adds a workflow. It replaces a workflow with the same name. */
  add(workflow: Workflow<any>): void;
  /** Removes the workflow with this name. Returns false if there is none. */
  remove(workflow: { name: string }): boolean;
  /** Returns the workflow with this name. */
  getWorkflow(name: string): Workflow<any> | undefined;
  /** Returns the names of all workflows. */
  list(): { workflows: string[] };
  /** Removes all workflows. */
  clear(): void;
}

/**
 * The workflows of this process, by name. The last workflow with a name counts, as in the framework. Use `register:
 * false` for workflows that are made again and again under new names, because the registry keeps each of them.
 * @example const { state } = await registry.getWorkflow("count")!.run();
 */
export const registry: WorkflowRegistry;
