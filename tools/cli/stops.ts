/** Finds the open questions of a run, and the errors of its failed tasks, in its newest checkpoint. */

import type { CheckpointDetail, Status, WriteInfo } from "../../ts/plugin/views.js";

/** An open question, in the JSON form of values, or the message of an error. */
export type Stop = { question: unknown } | { error: string };

/** The channels of the pending writes of graphs. */
const [QUESTION, ERROR] = ["__interrupt__", "__error__"];

export function stopsOf(detail: CheckpointDetail, status: Status | null): Stop[] {
  const channel = status === "waiting" ? QUESTION : status === "failed" ? ERROR : undefined;
  const found = openWrites(detail.writes).filter((write) => write.channel === channel);
  return found.flatMap(({ value }) => (channel === QUESTION ? questionsOf(value) : [{ error: messageOf(value) }]));
}

/** Returns the value of a write for people: the message of an error, or the value of a question. */
export function shownValue({ channel, value }: WriteInfo): unknown {
  if (channel === ERROR) return messageOf(value);
  const questions = channel === QUESTION ? questionsOf(value) : [];
  const [only] = questions;
  return questions.length === 1 && only !== undefined && "question" in only ? only.question : value;
}

/** Returns the pending writes of tasks without a result. The index of a result is 0 or more. */
function openWrites(writes: WriteInfo[]): WriteInfo[] {
  const pending = writes.filter(({ owner }) => owner === null);
  const ended = new Set(pending.filter(({ index }) => index >= 0).map(({ task }) => task));
  return pending.filter(({ task }) => !ended.has(task));
}

/** A task stores a list of questions. Older versions of a framework may store a single one. */
function questionsOf(stored: unknown): Stop[] {
  const { asked = stored } = (stored ?? {}) as { asked?: unknown };
  return [asked].flat().map((each: unknown) => {
    const isWrapped = typeof each === "object" && each !== null && "value" in each;
    return { question: isWrapped ? each.value : each };
  });
}

function messageOf(stored: unknown): string {
  const { $type, value, ...fields } = (stored ?? {}) as Record<string, unknown>;
  const { name, message } = ($type === "Error" && typeof value === "object" ? value : fields) as Record<
    string,
    unknown
  >;
  if (typeof message !== "string") return typeof stored === "string" ? stored : JSON.stringify(stored);
  return typeof name === "string" && name !== "" ? `${name}: ${message}` : message;
}
