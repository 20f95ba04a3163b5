/**
 * How answers are stored. Each answer is a record of its question, at the checkpoint of the graph that waits: a write of no task
 * in the channel `__forkpoint_answers__`. LangGraph does not see it. A run that continues the thread gets the answers when it
 * reads the thread: see resuming.ts.
 *
 * - The records have the slots -1000, -1001 and so on, and each is stored only if its slot is free. So whoever stores an answer has
 *   seen all earlier ones: of two answers to one question, the first one is stored.
 * - A question is named by the task that asks, and by the number of answers that the task has used: LangGraph gives the questions of
 *   a task one id.
 * - What a program answers with `new Command({ resume })` is recorded with LangGraph's own writes of it.
 * - `__resume__` of no task with the value undefined says that every question of the checkpoint has an answer. LangGraph ignores it.
 */

import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import type { Answered } from "../../store/answered.js";
import { load } from "./serde.js";
import type { Found, FoundWrite } from "./wire.js";

/** The task id of writes that belong to no task, such as the answer of `new Command({ resume })`. */
export const NO_TASK = "00000000-0000-0000-0000-000000000000";

/** LangGraph's own channels, and their places among the writes of a task. */
export const [INTERRUPT, RESUME] = [
  { channel: "__interrupt__", index: -3 },
  { channel: "__resume__", index: -4 },
] as const;

/** The channel of the records of answers. The first has this place, and each other one a smaller place. */
export const ANSWERS = { channel: "__forkpoint_answers__", index: -1_000 } as const;

/** Undefined, as LangGraph's serializer writes it. */
export const NOTHING = '{"lc":2,"type":"undefined"}';

/** What the record of an answer holds. */
export interface AnswerRecord extends Answered {
  /** Set if a program has answered itself: for all questions, or by the id of the question. */
  program?: "all" | "id";
  id: string;
  node: string | null;
  question: unknown;
  /** The task that asks, and the number of answers that it had used. */
  task: string;
  nth: number;
  /** How many questions of the checkpoint were left without an answer. */
  left: number;
}

/** Names a question: LangGraph gives the questions of a task one id. */
export const keyOf = ({ task, nth }: Pick<AnswerRecord, "task" | "nth">): string => `${nth} ${task}`;

/** Returns true for a write that only Forkpoint reads. */
export function isRecord({ task, part }: Pick<FoundWrite, "task" | "part">): boolean {
  if (task !== NO_TASK) return false;
  if (part.name === ANSWERS.channel) return true;
  return part.name === RESUME.channel && part.bytes.length === NOTHING.length && textOf(part.bytes) === NOTHING;
}

/**
 * Reads the records of a checkpoint's answers in the order in which they were stored. `used`: also those that a checkpoint has
 * claimed, which was made with them.
 */
export async function recordsOf(
  serde: SerializerProtocol,
  { writes }: Pick<Found, "writes">,
  used = false,
): Promise<AnswerRecord[]> {
  const own = writes.filter(
    ({ task, part, claimedBy }) => (used || !claimedBy) && task === NO_TASK && part.name === ANSWERS.channel,
  );
  own.sort((a, b) => b.index - a.index);
  return Promise.all(own.map(async ({ part }) => (await load(serde, part, "an answer")) as AnswerRecord));
}

export const textOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();

/** Returns the id of a question. Old versions of LangGraph give none. */
export const idOf = ({ id }: { id?: string }, { task }: { task: string }, at: number): string => id ?? `${task}-${at}`;
