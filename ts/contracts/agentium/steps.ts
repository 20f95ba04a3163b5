/** Reads the steps of a workflow, and calls their functions. */

import { quote, show, typeError } from "../../bridge/errors.js";
import { requireId } from "../../store/ids.js";
import { callback, refuseUnknown } from "../../store/options.js";
import { readRetry } from "../shared/retry.js";
import { readTimeLimit } from "../shared/time-limit.js";
import { isRecord } from "./state.js";
import type { RunTool } from "./wire.js";
import type { EventBus } from "./events.js";
import type { MaybePromise } from "../../bridge/maybe-promise.js";
import type { ContextOnce } from "../shared/once.js";

/**
 * The context that the steps of a run share. The framework has a class of this name with the same fields.
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
   * An object that the steps of a run share while the process lives. It is not stored: after a resume it is empty. Put
   * data that must survive a restart into the state.
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
  /** The index of the checkpointed step: of this step or, if it is nested, of its top-level step. */
  readonly stepIndex: number;
  /** The name of this step. */
  readonly stepName: string;
  /** The names of the steps from the checkpointed step down to this step. */
  readonly path: readonly string[];
  /** The number of this attempt. 0 for the first attempt. */
  readonly attempt: number;
  /**
   * Aborts when the run is aborted, when this attempt takes longer than the step's `timeoutMs`, and when the run fails
   * while this step is running.
   */
  readonly signal: AbortSignal;
  /**
   * True if a drain was requested. The run ends when this step is stored. A long step can check this field and end
   * early.
   */
  readonly draining: boolean;
  /**
   * Runs an effect once for each key of the run, and stores its result before it resolves. A repeated step gets the
   * stored result. In `run()`, which stores nothing, the function runs each time.
   * @throws ForkpointError `UNSUPPORTED` if the workflow's store is not a `WorkflowCheckpointStore` of this package.
   * @example
   * ```ts
   * const run = async ({ order }: { order: number }, { once }: StepContext) => ({
   *   receipt: await once(`charge order ${order}`, ({ idempotencyKey }) => charge(order, idempotencyKey)),
   * });
   * ```
   */
  readonly once: ContextOnce;
}

/** How many times a function, an agent or a condition is retried after it throws. */
export interface RetryPolicy {
  maxRetries: number;
  /** The wait before each retry is `backoffMs * 2^attempt` ms. Default: 1,000. */
  backoffMs?: number;
}

/** The fields of steps that call a function, an agent or a condition. */
interface Tried {
  /** The name of the step. A checkpoint stores it. */
  name: string;
  /** Replaces the workflow's `retryPolicy` for this step. `{ maxRetries: 0 }` never retries the step. */
  retryPolicy?: RetryPolicy;
  /**
   * The time limit of an attempt, in ms. After it, `context.signal` aborts, and the attempt fails with `UNAVAILABLE`
   * and is retried under the retry policy. A function that ignores the signal continues: its result is dropped, but its
   * side effects stay. For a condition, the limit applies to `condition`. Default: no limit.
   */
  timeoutMs?: number;
}

/** A step that is a function. */
export interface FunctionStep<TState> extends Tried {
  /**
   * Gets a copy of the state, fresh for every attempt.
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
 * Steps that run at the same time, each from the same state. Their changes are merged: objects key by key, and items
 * appended to a list in the order of the branches. If two branches change a value differently, the step fails with
 * `CONFLICT`.
 */
export interface ParallelStep<TState> {
  name: string;
  parallel: ReadonlyArray<StepDef<TState>>;
}

/**
 * A step that runs an agent and stores the answer in `state[name + "_output"]`. If the state is not an object, the
 * answer replaces the state.
 */
export interface AgentStep<TState> extends Tried {
  agent: { run(input: string, options?: any): Promise<{ text: string }> };
  /** Returns the agent's input. Default: the state as JSON. */
  inputFrom?(state: TState): string;
}

/** A step of a workflow. */
export type StepDef<TState> = FunctionStep<TState> | ConditionStep<TState> | ParallelStep<TState> | AgentStep<TState>;

/** A step that has failed in all of its attempts. */
export interface FailedStep {
  runId: string;
  stepIndex: number;
  stepName: string;
  path: readonly string[];
  /** How many times the step was tried. */
  attempts: number;
}

/** A step, prepared to run. */
export interface Node {
  name: string;
  stepIndex: number;
  path: readonly string[];
  kind: "task" | "condition" | "parallel";
  /** The step's own retry policy. Undefined: the workflow's policy applies. */
  retry: Required<RetryPolicy> | undefined;
  timeoutMs: number | undefined;
  step: StepDef<any>;
}

export interface Definition {
  /** All steps. A parent comes before its nested steps. */
  nodes: Node[];
  /** The names of the checkpointed steps, in order. */
  names: string[];
  description: Pick<RunTool["run"], "steps" | "retry">;
}

const LONGEST_NESTING = 100;

/**
 * Checks the steps of a workflow and copies them in order, so that later changes to the user's definition have no
 * effect.
 */
export function readDefinition({
  steps,
  retryPolicy,
}: {
  steps: ReadonlyArray<StepDef<any>>;
  retryPolicy?: RetryPolicy;
}): Definition {
  const nodes: Node[] = [];
  const parents: number[] = [];
  const read = (list: unknown, what: string, parent: number, path: readonly string[]) => {
    if (!Array.isArray(list)) throw typeError(`${what} must be an array of steps, but is ${show(list)}`);
    if (path.length > LONGEST_NESTING)
      throw typeError(`${what}: steps are nested deeper than ${LONGEST_NESTING} levels`);
    for (const [at, step] of list.entries()) {
      const where = `${what}[${at}]`;
      const node = readStep(step, where, parent === -1 ? at : nodes[parent]!.stepIndex, path);
      const id = nodes.push(node) - 1;
      parents.push(parent);
      if (node.kind === "condition") read((step as ConditionStep<any>).steps, `${where}.steps`, id, node.path);
      if (node.kind === "parallel") read((step as ParallelStep<any>).parallel, `${where}.parallel`, id, node.path);
    }
  };
  read(steps, "steps", -1, []);
  const parentOf = (node: number) => (parents[node] === -1 ? undefined : parents[node]);
  const description = {
    steps: nodes.map(({ name, kind, retry }, node) => ({ name, kind, parent: parentOf(node), retry })),
    retry: readRetry(retryPolicy, "retryPolicy") ?? { maxRetries: 0, backoffMs: 0 },
  };
  const top = nodes.filter((_, node) => parents[node] === -1);
  return { nodes, names: top.map(({ name }) => name), description };
}

function readStep(step: unknown, where: string, stepIndex: number, path: readonly string[]): Node {
  if (typeof step !== "object" || step === null) throw typeError(`${where} must be a step, but is ${show(step)}`);
  const { name } = step as { name?: unknown };
  if (typeof name !== "string" || name === "")
    throw typeError(`${where}.name must be a non-empty string, but is ${show(name)}`);
  const { run, condition, parallel, agent, inputFrom, retryPolicy, timeoutMs } = step as Record<string, unknown>;
  const said = Object.entries({ run, condition, parallel, agent }).filter(([, value]) => value !== undefined);
  if (said.length !== 1) {
    const has = said.length === 0 ? "none of them" : said.map(([key]) => key).join(" and ");
    throw typeError(
      `${where} (${quote(name)}) must have exactly one of run, condition, parallel and agent, but has ${has}`,
    );
  }
  const kind = said[0]![0] as keyof typeof fields;
  // An instance of a user's class may have additional fields.
  if (isRecord(step)) refuseUnknown(step, fields[kind], `${where} (${quote(name)})`);
  const at = {
    name: requireId(name, `${where}.name`),
    stepIndex,
    path: [...path, name],
    retry: readRetry(retryPolicy, `${where}.retryPolicy`),
    timeoutMs: readTimeLimit(timeoutMs, `${where}.timeoutMs`),
  };
  if (kind === "run") callback(run, `${where}.run`);
  if (kind === "condition") callback(condition, `${where}.condition`);
  if (kind === "agent") {
    if (typeof (agent as { run?: unknown } | null)?.run !== "function")
      throw typeError(`${where}.agent must have a method run()`);
    if (inputFrom !== undefined) callback(inputFrom, `${where}.inputFrom`);
  }
  return { ...at, kind: kind === "run" || kind === "agent" ? "task" : kind, step: step as StepDef<any> };
}

const tried = ["retryPolicy", "timeoutMs"];

const fields = {
  run: ["name", "run", ...tried],
  condition: ["name", "condition", "steps", ...tried],
  parallel: ["name", "parallel"],
  agent: ["name", "agent", "inputFrom", ...tried],
};

export async function callTask({ step }: Node, draft: unknown, context: StepContext): Promise<unknown> {
  return "agent" in step
    ? askAgent(step as AgentStep<any>, draft, context)
    : (step as FunctionStep<any>).run(draft, context);
}

async function askAgent({ name, agent, inputFrom }: AgentStep<any>, state: unknown, context: StepContext) {
  const input = inputFrom === undefined ? JSON.stringify(state) : inputFrom(state);
  const { sessionId, signal } = context;
  const output = await agent.run(input, { sessionId, signal });
  if (typeof output?.text !== "string") {
    throw typeError(
      `the agent of step "${name}" must return an object whose text is a string, but its text is ${show(output?.text)}`,
    );
  }
  // A state that is not an object has no place for the answer, so the answer replaces the state.
  return isRecord(state) ? { [`${name}_output`]: output.text } : output.text;
}
