/** The agent of the demo: it decides refunds. Its answers are fixed, so it needs no model and no key. */

import { Workflow, WorkflowCheckpointStore } from "../../../ts/contracts/agentium/index.js";
import { Checkpointer, Graph } from "../../../ts/contracts/tinyagents/index.js";
import type { Store } from "../../../ts/store/store.js";

export interface Refund {
  order: string;
  item?: string;
  problem?: string;
  customer?: string;
  amount?: number;
  risk?: number;
  reply?: string;
  outcome?: string;
}

type Step = (state: Refund) => Partial<Refund>;

/** The step has ended, and its changes are stored. */
export type StepEvent =
  | { at: "started"; step: string }
  /** Called when a step starts, before its work. */
  | { at: "stored"; step: string; update: Partial<Refund> };

/** A larger refund, in dollars, needs a person. */
export type During = (step: string) => Promise<unknown>;

const requests: Record<string, Partial<Refund>> = {
  "A-101": { item: "headphones", problem: "arrived broken" },
  "A-102": { item: "laptop", problem: "arrived late" },
};

const orders: Record<string, Partial<Refund>> = {
  "A-101": { customer: "Ada", amount: 120 },
  "A-102": { customer: "Ben", amount: 480 },
};

/** A refund of more dollars than this needs a person. */
const LIMIT = 200;

const isSafe = ({ risk = 1 }: Refund) => risk < 0.5;

const steps: Record<string, Step> = {
  read_request: ({ order }) => requests[order]!,
  find_order: ({ order }) => orders[order]!,
  score_risk: () => ({ risk: 0.1 }),
  write_reply: (state) => ({
    reply: isSafe(state) ? `We refund $${state.amount}.` : "We need to check this first.",
  }),
  settle: (state) => ({ outcome: isSafe(state) ? `refunded $${state.amount}` : "declined" }),
};

export const stepNames = Object.keys(steps);

/** The agent as a workflow: it stores a checkpoint after each step. */
export function workflowOf(store: Store, run: (name: string, step: Step, state: Refund) => Promise<Partial<Refund>>) {
  return new Workflow<Refund>({
    name: "refund-agent",
    register: false,
    initialState: { order: "A-101" },
    checkpointStore: new WorkflowCheckpointStore<Refund>(store),
    steps: Object.entries(steps).map(([name, step]) => ({ name, run: (state) => run(name, step, state) })),
  });
}

/** Runs or resumes the workflow, and yields the events of its steps. */
export async function* follow(
  store: Store,
  options: { runId: string; resume?: boolean; signal?: AbortSignal },
  during: During,
): AsyncGenerator<StepEvent> {
  const updates: Record<string, Partial<Refund>> = {};
  const workflow = workflowOf(store, async (name, step, state) => {
    await during(name);
    return (updates[name] = step(state));
  });
  for await (const event of workflow.stream(options)) {
    if (event.type === "workflow.step" && event.status === "start") yield { at: "started", step: event.stepName };
    const step = event.type === "checkpoint.saved" ? event.stepName : "";
    if (step in updates) yield { at: "stored", step, update: updates[step]! };
  }
}

/** The agent as a graph that can ask a person. */
export function graphOf(store: Store, during: During) {
  const nodes = Object.entries(steps).map(([name, step]) => [
    name,
    async (state: Refund, { interrupt }: { interrupt: <T>(question: string) => T }) => {
      await during(name);
      const { amount = 0, customer } = state;
      const asks = name === "settle" && isSafe(state) && amount > LIMIT;
      if (asks && interrupt<string>(`Refund $${amount} to ${customer}?`) !== "yes") return { outcome: "declined" };
      return step(state);
    },
  ]);
  return new Graph<Refund>({
    name: "refund-agent",
    nodes: Object.fromEntries(nodes),
    entry: stepNames[0]!,
    edges: stepNames.slice(1).map((name, at) => [stepNames[at]!, name]),
    reducer: (state, update) => ({ ...state, ...update }),
    checkpointer: new Checkpointer<Refund>(store),
  });
}
