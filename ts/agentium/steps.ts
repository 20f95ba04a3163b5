import type {
  AgentStep,
  ConditionStep,
  FunctionStep,
  ParallelStep,
  StepContext,
  StepDefinition,
  WorkflowConfig,
} from "../../agentium.js";
import { quote, show, typeError } from "../errors.js";
import { requireId } from "../ids.js";
import type { RunTool } from "./wire.js";

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
  step: StepDefinition<any>;
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
    steps: nodes.map(({ name, kind }, node) => ({ name, kind, parent: parentOf(node) })),
    retry: readRetryPolicy(retryPolicy),
  };
  const top = nodes.filter((_, node) => parents[node] === -1);
  return { nodes, names: top.map(({ name }) => name), told };
}

function readStep(step: unknown, where: string, stepIndex: number, path: readonly string[]): Node {
  if (typeof step !== "object" || step === null) throw typeError(`${where} must be a step, and is ${show(step)}`);
  const { name } = step as { name?: unknown };
  if (typeof name !== "string" || name === "")
    throw typeError(`${where}.name must be a non-empty string, and is ${show(name)}`);
  const at = { name: requireId(name, `${where}.name`), stepIndex, path: [...path, name] };
  const { run, condition, parallel, agent, inputFrom } = step as Record<string, unknown>;
  const said = Object.entries({ run, condition, parallel, agent }).filter(([, value]) => value !== undefined);
  if (said.length !== 1) {
    const has = said.length === 0 ? "none of them" : said.map(([key]) => key).join(" and ");
    throw typeError(
      `${where} (${quote(name)}) must have exactly one of run, condition, parallel and agent, and has ${has}`,
    );
  }
  if (run !== undefined) return { ...at, kind: "task", step: callable(step as FunctionStep<any>, "run", where) };
  if (condition !== undefined) {
    return { ...at, kind: "condition", step: callable(step as ConditionStep<any>, "condition", where) };
  }
  if (parallel !== undefined) return { ...at, kind: "parallel", step: step as ParallelStep<any> };
  if (typeof (agent as { run?: unknown } | null)?.run !== "function") {
    throw typeError(`${where}.agent must have a method run()`);
  }
  if (inputFrom !== undefined) callable(step as AgentStep<any>, "inputFrom", where);
  return { ...at, kind: "task", step: step as AgentStep<any> };
}

function callable<T extends object>(step: T, key: keyof T & string, where: string): T {
  if (typeof step[key] !== "function") throw typeError(`${where}.${key} must be a function, and is ${show(step[key])}`);
  return step;
}

function readRetryPolicy(policy: unknown): { maxRetries: number; backoffMs: number } {
  if (policy === undefined || policy === null) return { maxRetries: 0, backoffMs: 0 };
  if (typeof policy !== "object") throw typeError(`retryPolicy must be an object, and is ${show(policy)}`);
  // Default of `backoffMs`: one second, as in the framework.
  const { maxRetries, backoffMs = 1000 } = policy as Record<string, unknown>;
  if (!Number.isInteger(maxRetries) || (maxRetries as number) < 0 || (maxRetries as number) > 0xffffffff) {
    throw typeError(`retryPolicy.maxRetries must be a whole number that is not negative, and is ${show(maxRetries)}`);
  }
  if (typeof backoffMs !== "number" || !(backoffMs >= 0) || backoffMs === Number.POSITIVE_INFINITY) {
    throw typeError(
      `retryPolicy.backoffMs must be a number of milliseconds that is not negative, and is ${show(backoffMs)}`,
    );
  }
  return { maxRetries: maxRetries as number, backoffMs };
}

/** Calls a step's function or agent with its own draft of the state. */
export async function callTask({ step }: Node, draft: object, context: StepContext): Promise<unknown> {
  return "agent" in step
    ? askAgent(step as AgentStep<any>, draft, context)
    : (step as FunctionStep<any>).run(draft, context);
}

async function askAgent(
  { name, agent, inputFrom }: AgentStep<any>,
  state: object,
  context: StepContext,
): Promise<object> {
  const input = inputFrom === undefined ? JSON.stringify(state) : inputFrom(state);
  const { sessionId, signal } = context;
  const output = await agent.run(input, { ...(sessionId !== undefined && { sessionId }), signal });
  if (typeof output?.text !== "string") {
    throw typeError(
      `the agent of step "${name}" must return an object whose text is a string, and its text is ${show(output?.text)}`,
    );
  }
  return { [`${name}_output`]: output.text };
}
