/**
 * How answers are stored. Each answer is a record at the checkpoint of the waiting graph: a write without a task in the
 * channel `__forkpoint_answers__`. LangGraph does not see it. A run that continues the thread reads the answers: see
 * resuming.ts.
 *
 * - The records have the slots -1000, -1001 and so on. A record is stored only if its slot is free. Its writer
 *   therefore knows all earlier answers, and of two answers to one question the first is stored.
 * - The asking task and the number of answers that it has used name a question, because LangGraph gives all questions
 *   of a task the same id.
 * - An answer by `new Command({ resume })` is recorded together with LangGraph's own writes of it.
 * - A `__resume__` without a task and with the value undefined: all questions are answered. LangGraph ignores it.
 */

import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import type { Answered } from "../../store/answered.js";
import { load } from "./serde.js";
import type { Found, FoundWrite } from "./wire.js";

/** The task id of writes that belong to no task, such as the answer of `new Command({ resume })`. */
export const NO_TASK = "00000000-0000-0000-0000-000000000000";

/** LangGraph's own channels, and their indexes among the writes of a task. */
export const [INTERRUPT, RESUME] = [
  { channel: "__interrupt__", index: -3 },
  { channel: "__resume__", index: -4 },
] as const;

/** The channel of the answer records. The first record has this index. Later ones count down. */
export const ANSWERS = { channel: "__forkpoint_answers__", index: -1_000 } as const;

/** Undefined, as LangGraph's serializer writes it. */
export const NOTHING = '{"lc":2,"type":"undefined"}';

/** The value of an answer record. */
export interface AnswerRecord extends Answered {
  /** Set if the program gave the answer: for all questions, or by the id of the question. */
  program?: "all" | "id";
  id: string;
  node: string | null;
  question: unknown;
  /** The task that asks, and the number of answers that the task had used. */
  task: string;
  nth: number;
  /** How many questions of the checkpoint were left without an answer. */
  left: number;
}

/** Returns the key of a question. LangGraph gives all questions of a task the same id. */
export const keyOf = ({ task, nth }: Pick<AnswerRecord, "task" | "nth">): string => `${nth} ${task}`;

/** Returns true for a write that only Forkpoint reads. */
export function isRecord({ task, part }: Pick<FoundWrite, "task" | "part">): boolean {
  if (task !== NO_TASK) return false;
  if (part.name === ANSWERS.channel) return true;
  return part.name === RESUME.channel && part.bytes.length === NOTHING.length && textOf(part.bytes) === NOTHING;
}

/**
 * Reads the records of a checkpoint's answers, in the order of storing. `used` includes the records that a child
 * checkpoint has claimed.
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

/** Returns the id of a question. Old versions of LangGraph set none. */
export const idOf = ({ id }: { id?: string }, { task }: { task: string }, at: number): string => id ?? `${task}-${at}`;
