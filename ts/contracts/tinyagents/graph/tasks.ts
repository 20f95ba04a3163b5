/** Converts between the record of a task and the task's pending writes. */

import { messageOf } from "../../shared/failure.js";
import type { Format } from "../../../bridge/serializer.js";
import { END, Send } from "../command.js";
import { Snapshot } from "./values.js";
import type { GraphInterrupt } from "./node.js";
import { ERROR, INTERRUPT, RESUME, type PendingWrite, type ThreadCheckpoint } from "../contract.js";
import { type AnswerRecord, isRecordOf, recordWrite } from "./answers.js";

const channels = { update: "__update__", goto: "__goto__", done: "__done__" } as const;

/** A question of a task in a subgraph. `index` is its number among the questions of this task. */
export interface Inner {
  taskId: string;
  index: number;
}

/** The last question of a task. `index` is its number among the questions of this task. */
export interface Question {
  index: number;
  asked: GraphInterrupt[];
  inner?: Inner[];
}

export interface TaskRecord {
  question: Question | undefined;
  answers: Snapshot[];
  /** The result. `goto` has the chosen nodes, as names and Sends. */
  result: { update: Snapshot | undefined; goto: Array<string | Send> } | undefined;
  error: { name: string; message: string } | undefined;
  /** The record of the last answer, until it is stored. */
  given?: AnswerRecord | undefined;
}

export function nothing(): TaskRecord {
  return { question: undefined, answers: [], result: undefined, error: undefined };
}

export interface Activation {
  node: string;
  task: string;
  sendArg: Snapshot | undefined;
  record: TaskRecord;
}

export function writesOf(node: string, taskId: string, record: TaskRecord): PendingWrite[] {
  const { question, answers, result, error, given } = record;
  const write = (idx: number, channel: string, payload: unknown) => ({ node, taskId, idx, channel, payload });
  const writes: PendingWrite[] = [];
  if (question !== undefined) writes.push(write(INTERRUPT, "__interrupt__", question));
  if (answers.length > 0)
    writes.push(
      write(
        RESUME,
        "__resume__",
        answers.map((answer) => answer.fresh()),
      ),
    );
  if (given !== undefined) writes.push(recordWrite(node, taskId, given));
  if (error !== undefined) writes.push(write(ERROR, "__error__", error));
  if (result === undefined) return writes;
  if (result.update !== undefined) writes.push(write(0, channels.update, result.update.fresh()));
  if (result.goto.length > 0) {
    const goto = result.goto.map((to) => (to instanceof Send ? { node: to.node, sendArg: to.arg } : { node: to }));
    writes.push(write(1, channels.goto, goto));
  }
  writes.push(write(2, channels.done, true));
  return writes;
}

/** Joins the writes in a checkpoint with those of the ledger. The ledger wins in a common slot. */
export function joinWrites(inside: readonly PendingWrite[], ledger: readonly PendingWrite[]): PendingWrite[] {
  const joined = new Map<string, PendingWrite>();
  for (const write of [...inside, ...ledger]) joined.set(JSON.stringify([write.taskId, write.idx]), write);
  return [...joined.values()];
}

/** Returns the tasks of a checkpoint, each with its record from the writes. */
export function activationsOf(
  checkpoint: ThreadCheckpoint<unknown>,
  writes: readonly PendingWrite[],
  format: Format,
): Activation[] {
  const { checkpointId, pendingActivations, nextNodes, interrupts } = checkpoint;
  const listed: NonNullable<typeof pendingActivations> =
    pendingActivations ?? nextNodes.filter((node) => node !== END).map((node) => ({ node }));
  return listed.map((activation, index) => {
    const { node, taskId } = activation;
    const task = taskId ?? writes.find((write) => write.node === node)?.taskId ?? `${node}:${checkpointId}:${index}`;
    const record = recordOf(
      writes.filter((write) => write.taskId === task),
      format,
    );
    const inside = interrupts.find((one) => (one.taskId === undefined ? one.node === node : one.taskId === task));
    if (inside !== undefined && record.question === undefined)
      record.question = {
        index: 0,
        asked: [{ namespace: checkpoint.namespace, value: undefined, ...inside, taskId: task }],
      };
    const sendArg = "sendArg" in activation ? Snapshot.of(activation.sendArg, format, "sendArg") : undefined;
    return { node, task, sendArg, record };
  });
}

function recordOf(writes: readonly PendingWrite[], format: Format): TaskRecord {
  const record = nothing();
  const at = (idx: number) => writes.find((write) => write.idx === idx);
  const channel = (name: string) => writes.find((write) => write.channel === name);
  const question = at(INTERRUPT);
  if (question !== undefined) record.question = readQuestion(question);
  const answers = at(RESUME)?.payload;
  if (Array.isArray(answers)) record.answers = answers.map((answer) => Snapshot.of(answer, format, "an answer"));
  record.error = at(ERROR)?.payload as TaskRecord["error"];
  if (channel(channels.done) === undefined) return record;
  const update = channel(channels.update);
  const goto = (channel(channels.goto)?.payload ?? []) as Array<{ node: string; sendArg?: unknown }>;
  record.result = {
    update: update && Snapshot.of(update.payload, format, "an update"),
    goto: goto.map((to) => ("sendArg" in to ? new Send(to.node, to.sendArg) : to.node)),
  };
  record.error = undefined;
  return record;
}

function readQuestion({ node, taskId, payload }: PendingWrite): Question {
  const { index, asked, inner } = (payload ?? {}) as Partial<Question>;
  // Another program may store a question in another form.
  if (typeof index !== "number" || !Array.isArray(asked))
    return { index: 0, asked: [{ node, taskId, namespace: [], value: payload }] };
  return { index, asked, ...(inner !== undefined && { inner }) };
}

/** Removes an unused answer, because an answer belongs to the question of its own checkpoint. */
export function withoutAnswer(record: TaskRecord): TaskRecord {
  const { question, answers, result } = record;
  if (question === undefined || result !== undefined) return record;
  return { ...record, answers: answers.slice(0, question.index) };
}

/** Returns the writes for a copy of a checkpoint, without unused answers. */
export function writesWithoutAnswers(
  checkpoint: ThreadCheckpoint<unknown>,
  ledger: readonly PendingWrite[],
  format: Format,
): { inside: PendingWrite[]; ledger: PendingWrite[] } {
  const questions = new Map<string, number>();
  for (const { task, record } of activationsOf(checkpoint, joinWrites(checkpoint.pendingWrites, ledger), format)) {
    if (record.question !== undefined && record.result === undefined) questions.set(task, record.question.index);
  }
  const without = (writes: readonly PendingWrite[]) =>
    writes.flatMap((write): PendingWrite[] => {
      const index = questions.get(write.taskId);
      if (index === undefined) return [write];
      if (isRecordOf(write)) return (write.payload as AnswerRecord).nth < index ? [write] : [];
      if (write.idx !== RESUME || !Array.isArray(write.payload)) return [write];
      const payload = write.payload.slice(0, index);
      return payload.length > 0 ? [{ ...write, payload }] : [];
    });
  return { inside: without(checkpoint.pendingWrites), ledger: without(ledger) };
}

export function isWaiting({ question, answers, result }: TaskRecord): boolean {
  return result === undefined && question !== undefined && answers.length <= question.index;
}

export function errorOf(thrown: unknown): { name: string; message: string } {
  return { name: thrown instanceof Error ? thrown.name : "Error", message: messageOf(thrown) };
}

/** Returns the nodes that run next: those without a recorded result, or all if all have a result. */
export function nextNodes(tasks: ReadonlyArray<{ node: string; record: TaskRecord }>): string[] {
  const todo = tasks.filter(({ record }) => record.result === undefined);
  return [...new Set((todo.length > 0 ? todo : tasks).map(({ node }) => node))];
}

type Pending = NonNullable<ThreadCheckpoint<unknown>["pendingActivations"]>[number];

export function pendingOf(
  tasks: ReadonlyArray<{ node: string; task: string; sendArg: Snapshot | undefined }>,
): Pending[] {
  return tasks.map(({ node, task: taskId, sendArg }) => {
    const pending: Pending = { node, taskId };
    if (sendArg !== undefined) pending.sendArg = sendArg.fresh();
    return pending;
  });
}
