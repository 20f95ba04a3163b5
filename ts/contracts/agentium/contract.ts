/** Agentium's contract: checkpoints of workflows, and what a run returns. */

/** The result of a step. */
export interface StepResult {
  stepName: string;
  status: "done" | "skipped" | "error";
  /** The message of the error that the step threw. */
  error?: string;
  durationMs: number;
}

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
  /** Any value that can be stored, but not undefined. */
  state: TState;
  /** Milliseconds since the Unix epoch. */
  createdAt: number;
}

/** A checkpoint without its state. */
export interface CheckpointSummary {
  id: string;
  stepIndex: number;
  stepName: string;
  /** Milliseconds since the Unix epoch: the checkpoint's `createdAt` or, if it is missing, its `timestamp`. */
  createdAt: number;
  /** The serialized size of the state, in bytes. */
  stateSize: number;
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
