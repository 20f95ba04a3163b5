/**
 * How an answer is stored that the inspector was given: LangGraph's own `new Command({ resume })` cannot be called without the graph.
 *
 * - The task that asks gets the answer into its list `__resume__`. The next run of the task takes it from there.
 * - Its question `__interrupt__` gets the field `answered`. A task that asks again stores its next question without it.
 * - An answer of no task says that every question of the checkpoint has an answer. The value is undefined, which LangGraph ignores.
 * - A record of the answer stays at the checkpoint of the graph itself: `__forkpoint_answers__`, also of no task.
 */

import type { FoundWrite } from "./wire.js";

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

/** Who has answered a question, when, and what. */
export interface Answered {
  value: unknown;
  /** Null: the one who answered gave no name. */
  by: string | null;
  /** In ms since the epoch. */
  at: number;
}

/** What the record of an answer holds. */
export interface AnswerRecord extends Answered {
  id: string;
  node: string | null;
  question: unknown;
}

/** Returns true for a write that only Forkpoint reads. */
export function isRecord({ task, part }: Pick<FoundWrite, "task" | "part">): boolean {
  if (task !== NO_TASK) return false;
  if (part.name === ANSWERS.channel) return true;
  return part.name === RESUME.channel && part.bytes.length === NOTHING.length && textOf(part.bytes) === NOTHING;
}

export const textOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();

/** Reads the field `answered` of a question. */
export function answeredIn(question: unknown): Answered | null {
  const { answered } = (question ?? {}) as { answered?: unknown };
  const { value, by, at } = (answered ?? {}) as Partial<Answered>;
  if (typeof at !== "number") return null;
  return { value, by: typeof by === "string" ? by : null, at };
}

/** Returns the id of a question. Old versions of LangGraph give none. */
export const idOf = ({ id }: { id?: string }, { task }: { task: string }, at: number): string => id ?? `${task}-${at}`;
