/** Reads the steps of a workflow, and calls their functions. */

import type {
  AgentStep,
  ConditionStep,
  FunctionStep,
  ParallelStep,
  StepContext,
  StepDef,
  WorkflowConfig,
} from "../../../agentium.js";
import { quote, show, typeError } from "../../bridge/errors.js";
import { requireId } from "../../store/ids.js";
import { refuseUnknown } from "../../store/options.js";
import { readTimeLimit } from "../shared/time-limit.js";
import { isRecord } from "./state.js";
import type { RunTool } from "./wire.js";

interface RetryPolicy {
  maxRetries: number;
  backoffMs: number;
}

/** A step, prepared to run. */
export interface Node {
  name: string;
  /**
   * The index of the checkpointed step. For a nested step, this is the index of the top-level step that contains it.
   */
  stepIndex: number;
  /** The names of the steps from the checkpointed step down to this step. */
  path: readonly string[];
  kind: "task" | "condition" | "parallel";
  /** The step's own retry policy. Undefined: the workflow's. */
  retry: RetryPolicy | undefined;
  /** The time limit of one attempt, in ms. */
  timeoutMs: number | undefined;
  step: StepDef<any>;
}

/**
 * The steps of a workflow: the list of all nodes, in which a parent comes before its nested steps, and the description
 * of the nodes for the engine.
 */
export interface Definition {
  nodes: Node[];
  /** The names of the checkpointed steps, in order. */
  names: string[];
  told: Pick<RunTool["run"], "steps" | "retry">;
}

const LONGEST_NESTING = 100;

/**
 * Checks the steps of a workflow and copies them in order. Because of the copy, later changes to the user's definition
 * have no effect.
 */
export function readDefinition({ steps, retryPolicy }: Pick<WorkflowConfig<any>, "steps" | "retryPolicy">): Definition {
  const nodes: Node[] = [];
  const parents: number[] = [];
  const read = (list: unknown, what: string, parent: number, path: readonly string[]) => {
    if (!Array.isArray(list)) throw typeError(`${what} must be an array of steps, and is ${show(list)}`);
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
  const told = {
    steps: nodes.map(({ name, kind, retry }, node) => ({ name, kind, parent: parentOf(node), retry })),
    retry: readRetryPolicy(retryPolicy, "retryPolicy") ?? { maxRetries: 0, backoffMs: 0 },
  };
  const top = nodes.filter((_, node) => parents[node] === -1);
  return { nodes, names: top.map(({ name }) => name), told };
}

function readStep(step: unknown, where: string, stepIndex: number, path: readonly string[]): Node {
  if (typeof step !== "object" || step === null) throw typeError(`${where} must be a step, and is ${show(step)}`);
  const { name } = step as { name?: unknown };
  if (typeof name !== "string" || name === "")
    throw typeError(`${where}.name must be a non-empty string, and is ${show(name)}`);
  const { run, condition, parallel, agent, inputFrom, retryPolicy, timeoutMs } = step as Record<string, unknown>;
  const said = Object.entries({ run, condition, parallel, agent }).filter(([, value]) => value !== undefined);
  if (said.length !== 1) {
    const has = said.length === 0 ? "none of them" : said.map(([key]) => key).join(" and ");
    throw typeError(
      `${where} (${quote(name)}) must have exactly one of run, condition, parallel and agent, and has ${has}`,
    );
  }
  const kind = said[0]![0] as keyof typeof fields;
  // An instance of the user's own class may have fields of its own.
  if (isRecord(step)) refuseUnknown(step, fields[kind], `${where} (${quote(name)})`);
  const at = {
    name: requireId(name, `${where}.name`),
    stepIndex,
    path: [...path, name],
    retry: readRetryPolicy(retryPolicy, `${where}.retryPolicy`),
    timeoutMs: readTimeLimit(timeoutMs, `${where}.timeoutMs`),
  };
  if (kind === "run") return { ...at, kind: "task", step: callable(step as FunctionStep<any>, "run", where) };
  if (kind === "condition") {
    return { ...at, kind: "condition", step: callable(step as ConditionStep<any>, "condition", where) };
  }
  if (kind === "parallel") return { ...at, kind: "parallel", step: step as ParallelStep<any> };
  if (typeof (agent as { run?: unknown } | null)?.run !== "function") {
    throw typeError(`${where}.agent must have a method run()`);
  }
  if (inputFrom !== undefined) callable(step as AgentStep<any>, "inputFrom", where);
  return { ...at, kind: "task", step: step as AgentStep<any> };
}

const tried = ["retryPolicy", "timeoutMs"];

/** The fields of each kind of step. */
const fields = {
  run: ["name", "run", ...tried],
  condition: ["name", "condition", "steps", ...tried],
  parallel: ["name", "parallel"],
  agent: ["name", "agent", "inputFrom", ...tried],
};

function callable<T extends object>(step: T, key: keyof T & string, where: string): T {
  if (typeof step[key] !== "function") throw typeError(`${where}.${key} must be a function, and is ${show(step[key])}`);
  return step;
}

function readRetryPolicy(policy: unknown, where: string): RetryPolicy | undefined {
  if (policy === undefined || policy === null) return undefined;
  if (typeof policy !== "object") throw typeError(`${where} must be an object, and is ${show(policy)}`);
  refuseUnknown(policy, ["maxRetries", "backoffMs"], where);
  // Default of `backoffMs`: one second, as in the framework.
  const { maxRetries, backoffMs = 1000 } = policy as Record<string, unknown>;
  if (!Number.isInteger(maxRetries) || (maxRetries as number) < 0 || (maxRetries as number) > 0xffffffff) {
    throw typeError(`${where}.maxRetries must be a whole number that is not negative, and is ${show(maxRetries)}`);
  }
  if (typeof backoffMs !== "number" || !(backoffMs >= 0) || backoffMs === Number.POSITIVE_INFINITY) {
    throw typeError(
      `${where}.backoffMs must be a number of milliseconds that is not negative, and is ${show(backoffMs)}`,
    );
  }
  return { maxRetries: maxRetries as number, backoffMs };
}

/** Calls a step's function or agent with its own draft of the state. */
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
      `the agent of step "${name}" must return an object whose text is a string, and its text is ${show(output?.text)}`,
    );
  }
  // A state that is no object has no place for the answer, so the answer replaces the state.
  return isRecord(state) ? { [`${name}_output`]: output.text } : output.text;
}
