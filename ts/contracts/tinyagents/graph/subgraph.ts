/** Runs a subgraph as a task of its graph, in a namespace of the task. */

import type { Format } from "../../../bridge/serializer.js";
import { RunDrainedError } from "../../shared/drain.js";
import type { RunEffects } from "../../shared/once.js";
import { type GraphParts, type GraphPlan, inputOf } from "./plan.js";
import { type BoundaryTask, type Loaded, type ThreadRef, loadCheckpoint } from "./recorder.js";
import { type Inner, isWaiting } from "./tasks.js";
import { type Outcome, outcomeOf } from "./task.js";
import type { GraphResult } from "./events.js";
import type { NodeContext, Subgraph } from "./node.js";

/** The private parts of each graph. `Graph` registers itself here. */
export const partsOf = new WeakMap<object, GraphParts>();

/** A run, for the run of its outer graph. */
interface Inside {
  start(): Promise<GraphResult<any>>;
  waiting(): BoundaryTask[];
}

/** A run, for the run of its subgraph. */
interface Around {
  readonly plan: GraphPlan;
  readonly format: Format;
  readonly persists: boolean;
  readonly effects: RunEffects;
  inside(parts: GraphParts, plan: GraphPlan): Inside;
}

export async function runSubgraph(
  parent: Around,
  { subgraph, input, output }: Subgraph,
  task: BoundaryTask,
  state: unknown,
  context: NodeContext,
): Promise<Outcome> {
  const { plan, format, persists } = parent;
  const checkpointer = persists ? plan.checkpointer : undefined;
  const thread: ThreadRef = { threadId: plan.thread.threadId, namespace: [...plan.thread.namespace, task.id] };
  const loaded = checkpointer && (await loadCheckpoint(checkpointer, thread, undefined, format));
  const mode: Partial<GraphPlan> = loaded ? continued(task, loaded) : { mode: { kind: "input" } };
  const parts = partsOf.get(subgraph)!;
  const begin = async () => inputOf(parts, input === undefined ? state : await input(state, context), format);
  const given = loaded ? {} : { input: await begin() };
  const { drain, durability, runId, lease } = plan;
  const { effects } = parent;
  const own = {
    thread,
    runId,
    checkpointer,
    durability,
    signal: context.signal,
    lease,
    effects,
    ...(drain && { drain }),
  };
  const execution = parent.inside(parts, { ...own, ...given, ...mode } as GraphPlan);
  try {
    const { status, state: final, interrupts } = await execution.start();
    if (status === "done") {
      return outcomeOf(output === undefined ? final : await output(final, state), task.name, format);
    }
    const { name: node, id: taskId, record } = task;
    const asked = interrupts.map(({ namespace, value }) => ({ node, taskId, namespace, value }));
    return { kind: "asked", question: { index: record.answers.length, asked, inner: waitingIn(execution) } };
  } catch (error) {
    if (error instanceof RunDrainedError) return { kind: "stopped" };
    throw error;
  }
}

function waitingIn(execution: Inside): Inner[] {
  return execution.waiting().map(({ id: taskId, record }) => ({ taskId, index: record.question!.index }));
}

/**
 * Continues a subgraph. An answer belongs to the questions that the task had already asked, and not to later questions
 * of the subgraph.
 */
function continued({ record }: BoundaryTask, loaded: Loaded): Partial<GraphPlan> {
  const { question, answers } = record;
  const answered = question !== undefined && answers.length === question.index + 1;
  const is = ({ taskId, index }: Inner) =>
    loaded.activations.some(
      (one) => one.task === taskId && isWaiting(one.record) && one.record.question!.index === index,
    );
  const tasks = answered ? (question.inner ?? []).filter(is).map(({ taskId }) => taskId) : [];
  return {
    mode: {
      kind: "continue",
      from: undefined,
      update: false,
      goto: [],
      answers: tasks.length > 0 ? { tasks } : "none",
    },
    loaded,
    answer: () => answers.at(-1)!,
  };
}
