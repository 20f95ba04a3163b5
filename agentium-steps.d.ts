/**
 * The steps of Agentium's workflows, and what they are called with. `agentium.d.ts` exports them.
 */

import type { EventBus } from "./agentium-events.js";

/** A value, or a promise of it. */
export type MaybePromise<T> = T | Promise<T>;

/**
 * What the steps of a run share. The framework has a class of this name. This type has the same fields.
 * @example const step = { name: "greet", run: (state: { n: number }, { runId }: RunContext) => console.log(runId) };
 */
export interface RunContext {
  /** The run that the step is part of. */
  readonly runId: string;
  /** The session that agents get. Default: the run's id, so that a resumed run has the same session. */
  readonly sessionId: string;
  /** The value of this field in the options of the run. */
  readonly userId?: string;
  /** Missing: a workflow sets no tenant. */
  readonly tenantId?: string;
  /** An empty object for each run. */
  readonly metadata: Record<string, unknown>;
  /** The event bus of the workflow. */
  readonly eventBus: EventBus;
  /**
   * An object that the steps of a run share while the process lives. It is not stored: after a resume it is empty. What
   * must survive belongs into the state.
   */
  sessionState: Record<string, unknown>;
  /** Aborts when the step must stop. */
  readonly signal?: AbortSignal;
  /** An empty object for each run. */
  readonly dependencies: Record<string, string>;
  /** Returns `sessionState[key]`. */
  getState<T>(key: string): T | undefined;
  /** Sets `sessionState[key]`. */
  setState(key: string, value: unknown): void;
}

/** The second argument of a step. */
export interface StepContext extends RunContext {
  /** The workflow's name. */
  readonly workflow: string;
  /**
   * The index of the checkpointed step. If this step is nested, this is the index of the top-level step that contains
   * it.
   */
  readonly stepIndex: number;
  /** The name of this step. */
  readonly stepName: string;
  /** The names of the steps from the checkpointed step down to this step. */
  readonly path: readonly string[];
  /** The number of this attempt. 0 for the first attempt. */
  readonly attempt: number;
  /**
   * This signal aborts when the run is aborted, when this attempt takes longer than the step's `timeoutMs`, and when the
   * run fails while this step is still running.
   */
  readonly signal: AbortSignal;
  /**
   * True if a drain was requested. The run ends when this step is stored. A long step can read this field from time to
   * time, and end early.
   */
  readonly draining: boolean;
}

/** How often a function, an agent or a condition is tried again after it throws. */
export interface RetryPolicy {
  maxRetries: number;
  /** The wait before each retry is `backoffMs * 2^attempt` ms. Default: 1,000. */
  backoffMs?: number;
}

/** What steps have in common that call a function, an agent or a condition. */
interface Tried {
  /** The name of the step. A checkpoint stores it. */
  name: string;
  /** Replaces the workflow's `retryPolicy` for this step. `{ maxRetries: 0 }` never tries the step again. */
  retryPolicy?: RetryPolicy;
  /**
   * The time limit of one attempt, in ms. When it is over, `context.signal` aborts, and the attempt fails with
   * `UNAVAILABLE` and is tried again as the retry policy says. A function that ignores the signal continues. Its result
   * is dropped, but its side effects stay. Default: no limit. For a condition, the limit applies to the call of
   * `condition`.
   */
  timeoutMs?: number;
}

/** A step that is a function. */
export interface FunctionStep<TState> extends Tried {
  /**
   * Gets a copy of the state. Every attempt gets a fresh copy.
   *
   * - If the function returns nothing, the edited copy becomes the state.
   * - If the state is an object and the function returns an object, the returned object is merged over the state. Null
   *   counts as nothing. Any other value is a TypeError.
   * - If the state is any other value, such as an array or a string, the returned value replaces the state.
   */
  run(state: TState, context: StepContext): MaybePromise<Partial<TState> | void | null>;
}

/** Steps that run one after the other if the condition holds. */
export interface ConditionStep<TState> extends Tried {
  condition(state: TState, context: StepContext): MaybePromise<boolean>;
  steps: ReadonlyArray<StepDef<TState>>;
}

/**
 * Steps that run at the same time, each from the same state. Their changes are then merged. Objects are merged key by
 * key, and items that were appended to a list are joined in the order of the branches. If two branches change a value
 * differently, the step fails with `CONFLICT`.
 */
export interface ParallelStep<TState> {
  name: string;
  parallel: ReadonlyArray<StepDef<TState>>;
}

/**
 * A step that runs an agent and stores the answer in `state[name + "_output"]`. If the state is no object, the answer
 * replaces the state.
 */
export interface AgentStep<TState> extends Tried {
  agent: { run(input: string, options?: any): Promise<{ text: string }> };
  /** Returns the agent's input. Default: the state as JSON. */
  inputFrom?(state: TState): string;
}

/** A step of a workflow. */
export type StepDef<TState> = FunctionStep<TState> | ConditionStep<TState> | ParallelStep<TState> | AgentStep<TState>;

/** The result of a step. */
export interface StepResult {
  stepName: string;
  status: "done" | "skipped" | "error";
  /** The message of the error that the step threw. */
  error?: string;
  durationMs: number;
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
