/** Reads the questions of a thread, and stores answers like `graph.resume(threadId, { resume })`. */

import { ForkpointError, quote } from "../../bridge/errors.js";
import { formatOf } from "../../bridge/serializer.js";
import type { HeldLease } from "../../store/lease.js";
import type { Checkpointer } from "./checkpointer.js";
import { RESUME, type CheckpointTuple, type Namespace, type PendingWrite } from "./contract.js";
import { type AnswerRecord, questionIn, recordWrite, recordsIn } from "./graph/answers.js";
import { type Activation, activationsOf, isWaiting, joinWrites } from "./graph/tasks.js";

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

/** Reads the questions of a thread's newest or another checkpoint, and their stored answers. */
export async function readQuestions(
  checkpointer: Checkpointer<unknown>,
  place: { threadId: string; namespace: Namespace; checkpointId?: string },
): Promise<Read | null> {
  const tuple = await checkpointer.getTuple(place);
  if (tuple === null) return null;
  const { checkpoint, pendingWrites } = tuple;
  const joined = joinWrites(checkpoint.pendingWrites, pendingWrites);
  const tasks = activationsOf(checkpoint, joined, formatOf("v8"));
  const waiting = tasks
    .filter(({ record }) => isWaiting(record))
    .map(({ task, node, record }) => ({ id: task, node, record, question: questionIn(record.question!) }));
  return { tuple, waiting, records: recordsIn(joined) };
}

/**
 * Stores an answer. The writes carry the lease of the thread.
 *
 * @throws ForkpointError `NOT_FOUND` if the task does not wait. `CONFLICT` if it has an answer.
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
  const { tuple } = read!;
  const { node, question, record } = waiting;
  const nth = record.question!.index;
  const answers = [...record.answers.slice(0, nth).map((each) => each.fresh()), answer.value];
  const writes: PendingWrite[] = [
    { node, taskId: task, idx: RESUME, channel: "__resume__", payload: answers },
    recordWrite(node, task, { id: task, node, nth, question, ...answer }),
  ];
  await checkpointer.putWrites(tuple.config, writes, { lease });
}
