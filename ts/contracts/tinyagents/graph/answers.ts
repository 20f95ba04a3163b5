/** The records of answers. Each is a pending write of the asking task. */

import { isDeepStrictEqual } from "node:util";
import { type Answered, hasAnswer } from "../../../store/answered.js";
import type { PendingWrite } from "../contract.js";

/**
 * The channel and the slot of a task's first record. Later records count down. The store refuses a second record in a
 * slot, so of two answers to a question the first is stored.
 */
const ANSWERS = { channel: "__forkpoint_answers__", slot: -1_000 } as const;

/** An answer to a question of a task, with its author and time. */
export interface AnswerRecord extends Answered {
  /** The id of the task. */
  id: string;
  node: string;
  /** The number of the question among those of the task. */
  nth: number;
  /** The question of the task. A subgraph's task may have several, which get one answer. */
  question: unknown;
}

export const isRecordOf = ({ channel, idx }: PendingWrite): boolean =>
  channel === ANSWERS.channel && idx <= ANSWERS.slot;

export const recordsIn = (writes: readonly PendingWrite[]): AnswerRecord[] =>
  writes.filter(isRecordOf).map(({ payload }) => payload as AnswerRecord);

export function recordWrite(node: string, taskId: string, record: AnswerRecord): PendingWrite {
  return { node, taskId, idx: ANSWERS.slot - record.nth, channel: ANSWERS.channel, payload: record };
}

/** Returns the question of a task, in the form of its record. */
export function questionIn({ asked }: { asked: ReadonlyArray<{ value?: unknown }> }): unknown {
  const values = asked.map(({ value }) => value);
  return values.length === 1 ? values[0] : values;
}

/** Throws if the question already has a different answer. */
export function refuseOther(threadId: string, stored: Answered | undefined, value: unknown): void {
  if (stored !== undefined && !isDeepStrictEqual(stored.value, value)) throw hasAnswer(threadId, stored);
}
