/** Calls the function of a node once. */

import { ForkpointError, quote } from "../../../bridge/errors.js";
import type { Format } from "../../../bridge/serializer.js";
import type { ContextOnce } from "../../shared/once.js";
import { Command, InterruptSignal, type Send } from "../command.js";
import type { BoundaryTask } from "./recorder.js";
import type { Question } from "./tasks.js";
import { Snapshot } from "./values.js";
import type { GraphInterrupt, NodeContext, NodeFunction } from "./node.js";

export type Outcome =
  | { kind: "done"; update: Snapshot | undefined; goto: Array<string | Send> }
  | { kind: "asked"; question: Question }
  | { kind: "stopped" };

/** The parts of the context that all tasks of a superstep share. */
export type CommonContext = Pick<NodeContext, "threadId" | "runId" | "namespace" | "step">;

/** Makes the context of a task. `asked` returns the task's question, if there is one. */
export function makeContext(
  task: BoundaryTask,
  attempt: number,
  common: CommonContext,
  { signal, format, canAsk, once }: { signal: AbortSignal; format: Format; canAsk: boolean; once: ContextOnce },
): { context: NodeContext; asked: () => Question | undefined } {
  const { name: node, id: taskId, arg, record } = task;
  let question: Question | undefined;
  let count = 0;
  const interrupt = (value?: unknown): unknown => {
    if (!canAsk) {
      throw new ForkpointError(
        "INVALID_ARGUMENT",
        `node ${quote(node)} asks a question, but the graph stores no checkpoints: give the graph a checkpointer, and ` +
          'a checkpoint policy other than "none"',
      );
    }
    if (question !== undefined) throw new InterruptSignal(node);
    const index = count++;
    const answer = record.answers[index];
    if (answer !== undefined) return answer.fresh();
    const snapshot = Snapshot.of(value, format, "the value of an interrupt");
    const asked: GraphInterrupt = { node, taskId, namespace: [...common.namespace], value: snapshot.fresh() };
    question = { index, asked: [asked] };
    throw new InterruptSignal(node);
  };
  const context: NodeContext = {
    ...common,
    node,
    taskId,
    sendArg: arg?.fresh(),
    resume: record.answers.at(-1)?.fresh(),
    interrupt: interrupt as NodeContext["interrupt"],
    signal,
    attempt,
    once,
  };
  return { context, asked: () => question };
}

/** Calls a node's function. A question counts even if the function catches the error of `interrupt`. */
export async function callNode(
  run: NodeFunction<any, any>,
  state: unknown,
  { context, asked }: ReturnType<typeof makeContext>,
  format: Format,
): Promise<Outcome> {
  let result: unknown;
  try {
    result = await run(state, context);
  } catch (error) {
    const question = asked();
    if (question === undefined) throw error;
    return { kind: "asked", question };
  }
  const question = asked();
  return question === undefined ? outcomeOf(result, context.node, format) : { kind: "asked", question };
}

export function outcomeOf(result: unknown, node: string, format: Format): Outcome {
  const command = result instanceof Command ? result : undefined;
  const update = command === undefined ? result : command.update;
  const snapshot =
    update === undefined || update === null
      ? undefined
      : Snapshot.of(update, format, `the update of node ${quote(node)}`);
  return {
    kind: "done",
    update: snapshot,
    goto: command === undefined ? [] : ([command.goto ?? []].flat() as string[]),
  };
}
