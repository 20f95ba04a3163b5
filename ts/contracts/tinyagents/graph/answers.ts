/** The records of answers. Each is a pending write of the task that asks. */

import { isDeepStrictEqual } from "node:util";
import { type Answered, hasAnswer } from "../../../store/answered.js";
import type { PendingWrite } from "../contract.js";

/**
 * The channel of the records. The first answer of a task has this slot, and each other one a smaller slot. The store refuses a
 * second record in a slot, so of two answers to a question the first one is stored.
 */
const ANSWERS = { channel: "__forkpoint_answers__", slot: -1_000 } as const;

/** Who has answered a question of a task, when, and what. */
export interface AnswerRecord extends Answered {
  /** The id of the task. */
  id: string;
  node: string;
  /** The number of the question among those of the task. */
  nth: number;
  /** What the task asked. The task of a subgraph may ask several questions, which get one answer. */
  question: unknown;
}

export const isRecordOf = ({ channel, idx }: PendingWrite): boolean =>
  channel === ANSWERS.channel && idx <= ANSWERS.slot;

export const recordsIn = (writes: readonly PendingWrite[]): AnswerRecord[] =>
  writes.filter(isRecordOf).map(({ payload }) => payload as AnswerRecord);

export function recordWrite(node: string, taskId: string, record: AnswerRecord): PendingWrite {
  return { node, taskId, idx: ANSWERS.slot - record.nth, channel: ANSWERS.channel, payload: record };
}

/** Returns what a task asks, as its record has it. */
export function questionIn({ asked }: { asked: ReadonlyArray<{ value?: unknown }> }): unknown {
  const values = asked.map(({ value }) => value);
  return values.length === 1 ? values[0] : values;
}

/** Throws if a question has another answer than the value. */
export function refuseOther(threadId: string, stored: Answered | undefined, value: unknown): void {
  if (stored !== undefined && !isDeepStrictEqual(stored.value, value)) throw hasAnswer(threadId, stored);
}
