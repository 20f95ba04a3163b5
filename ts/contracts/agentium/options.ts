/** The definition of a workflow, and the options of its runs. */

import type { FailedStep, RetryPolicy, StepDef } from "./steps.js";
import type { StorageDriver } from "./drivers.js";
import type { WorkflowCheckpointStore } from "./store.js";
import type { MaybePromise } from "../../bridge/maybe-promise.js";

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
   * A storage driver for the checkpoints, instead of a store. Same as `checkpointStore: new
   * StorageBackedCheckpointStore(storage)`. Ignored if there is a `checkpointStore`.
   */
  storage?: StorageDriver;
  /** Applies to each step without its own policy. Without a policy, nothing is retried. */
  retryPolicy?: RetryPolicy;
  /** Gets the events of all runs in the framework's shapes. Default: the workflow's own event bus. */
  eventBus?: { emit(event: any, data: any): unknown };
  /** If true, adds the workflow to {@link registry}. A registered workflow stays in memory. Default: true. */
  register?: boolean;
  /**
   * If true, only one process at a time executes a run: the run takes its lease at its beginning, and releases it at
   * its end. A run that another process executes rejects with `CONFLICT`. Needs a `WorkflowCheckpointStore` of this
   * package; the constructor throws `UNSUPPORTED` for another store. `run()`, which stores nothing, takes no lease.
   * Default: false. See docs/leases.md.
   */
  lease?: boolean | { ttlMs?: number };
  /**
   * The version of the workflow: any non-empty string, for listings and messages. Two versions with the same steps are
   * different programs, but a run of one fits the other. Default: none.
   */
  version?: string;
}

export interface RunOptions {
  /**
   * Aborting this signal ends the run immediately. The run rejects with the signal's reason. The stored checkpoints of
   * the run stay.
   */
  signal?: AbortSignal;
  /**
   * When a drain is requested, the current step is finished and stored, and the run rejects with {@link
   * RunDrainedError}.
   */
  drain?: { readonly drained: boolean; waitForDrain(): Promise<void> };
  /**
   * What to do when a step has failed in all of its attempts. Default: `"fail"`.
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
  /**
   * If true, continues at the checkpoint's step index even if the run does not fit this version of the workflow, and
   * takes over or replaces a run of a workflow with another name. If false, such a run rejects with `CONFLICT`. Default:
   * false. See docs/changes.md.
   */
  force?: boolean;
}

export interface ReplayOptions extends RunOptions {
  /** If true, the replay makes a new run and does not change the old run. Default: false. */
  newRun?: boolean;
  /**
   * If true, continues even if the run does not fit this version of the workflow or belongs to a workflow with another
   * name, as in a resume. Default: false.
   */
  force?: boolean;
}

export interface ForkOptions extends RunOptions {
  /** If true, continues even if the run does not fit this version of the workflow, as in a resume. Default: false. */
  force?: boolean;
}
