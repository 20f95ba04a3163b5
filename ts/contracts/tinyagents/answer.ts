/** Reads the questions of a thread, and stores answers to them as `graph.resume(threadId, { resume })` does. */

import { ForkpointError, quote } from "../../bridge/errors.js";
import { formatOf } from "../../bridge/serializer.js";
import type { HeldLease } from "../../store/lease.js";
import type { Checkpointer } from "./checkpointer.js";
import { RESUME, type CheckpointTuple, type Namespace, type PendingWrite } from "./contract.js";
import { type Activation, activationsOf, isWaiting, joinWrites } from "./graph/tasks.js";

/** The channel of the records of answers. The first has this slot, and each other one a smaller slot. */
export const ANSWERS = { channel: "__forkpoint_answers__", slot: -1_000 } as const;

/** Who has answered a task, when, and what. */
export interface AnswerRecord {
  id: string;
  node: string;
  /** What the task asked. The task of a subgraph may ask several questions, which get one answer. */
  question: unknown;
  value: unknown;
  by: string | null;
  at: number;
}

export interface TaskQuestion {
  /** The id of the task. */
  id: string;
  node: string;
  question: unknown;
}

interface Read {
  tuple: CheckpointTuple<unknown>;
  waiting: Array<TaskQuestion & Pick<Activation, "record">>;
  records: AnswerRecord[];
}

/** Reads the questions of the newest checkpoint of a thread, or of another one, and the answers that were stored for it. */
export async function readQuestions(
  checkpointer: Checkpointer<unknown>,
  place: { threadId: string; namespace: Namespace; checkpointId?: string },
): Promise<Read | null> {
  const tuple = await checkpointer.getTuple(place);
  if (tuple === null) return null;
  const { checkpoint, pendingWrites } = tuple;
  const tasks = activationsOf(checkpoint, joinWrites(checkpoint.pendingWrites, pendingWrites), formatOf("v8"));
  const waiting = tasks
    .filter(({ record }) => isWaiting(record))
    .map(({ task, node, record }) => {
      const values = record.question!.asked.map(({ value }) => value);
      return { id: task, node, record, question: values.length === 1 ? values[0] : values };
    });
  const records = pendingWrites
    .filter(({ channel, idx }) => channel === ANSWERS.channel && idx <= ANSWERS.slot)
    .map(({ payload }) => payload as AnswerRecord);
  return { tuple, waiting, records };
}

/**
 * Stores an answer. The writes carry the lease of the thread, so that of two answers at the same time only one is stored.
 *
 * @throws ForkpointError `NOT_FOUND` if the task does not wait.
 */
export async function answerTask(
  checkpointer: Checkpointer<unknown>,
  place: { threadId: string; namespace: Namespace },
  task: string,
  answer: Pick<AnswerRecord, "value" | "by" | "at">,
  lease: HeldLease,
): Promise<void> {
  const read = await readQuestions(checkpointer, place);
  const waiting = read?.waiting.find(({ id }) => id === task);
  if (waiting === undefined) {
    throw new ForkpointError(
      "NOT_FOUND",
      `task ${quote(task)} of thread ${quote(place.threadId)} does not wait any more`,
    );
  }
  const { tuple, records } = read!;
  const { node, question, record } = waiting;
  const answers = [...record.answers.map((each) => each.fresh()), answer.value];
  const kept: AnswerRecord = { id: task, node, question, ...answer };
  const slot = ANSWERS.slot - records.filter(({ id }) => id === task).length;
  const writes: PendingWrite[] = [
    { node, taskId: task, idx: RESUME, channel: "__resume__", payload: answers },
    { node, taskId: task, idx: slot, channel: ANSWERS.channel, payload: kept },
  ];
  await checkpointer.putWrites(tuple.config, writes, { lease });
}
