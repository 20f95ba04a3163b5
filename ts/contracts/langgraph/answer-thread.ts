/** Stores an answer to a question of a thread. answer-records.ts describes the stored form. */

import { ForkpointError, quote } from "../../bridge/errors.js";
import { lostInJson } from "../../bridge/exact-json.js";
import type { NativeStore } from "../../bridge/native.js";
import { type Answered, hasAnswer } from "../../store/answered.js";
import { ANSWERS, INTERRUPT, NOTHING, NO_TASK, RESUME, recordsOf } from "./answer-records.js";
import { type Level, answeredLevels, questionsAt, recordOf } from "./questions.js";
import { type Context, outline } from "./tasks.js";
import { writeFields } from "./writing.js";
import { type Found, langgraph } from "./wire.js";

/**
 * Stores an answer, unless the question has one. `native` carries the lease of the thread. All changes are one
 * transaction. It fails if a program has continued the thread or stored an answer since the read.
 *
 * @throws ForkpointError `NOT_FOUND` if no question has this id. `CONFLICT` if it has an answer, or if the thread has continued.
 *   `UNSUPPORTED` if LangGraph's JSON cannot hold the answer, or if the question was written by another serializer.
 */
export async function answerThread(
  context: Context,
  native: NativeStore,
  threadId: string,
  id: string,
  answer: Pick<Answered, "value" | "by" | "at">,
): Promise<void> {
  const root = await outline(context, threadId, "");
  const questions = root === null ? [] : await questionsAt(context, root);
  const question = questions.find((each) => each.id === id);
  if (root === null || question === undefined) {
    throw new ForkpointError("NOT_FOUND", `thread ${quote(threadId)} does not ask the question ${quote(id)} any more`);
  }
  if (question.answered !== null) throw hasAnswer(threadId, question.answered);
  refuseOtherJson(question.levels.at(-1)!);
  const lost = lostInJson(answer.value, "the answer");
  if (lost !== undefined) {
    throw new ForkpointError("UNSUPPORTED", `${lost}, which LangGraph's JSON cannot hold: pass plain JSON`);
  }
  const open = questions.filter((each) => each !== question && each.answered === null);
  const record = JSON.stringify(recordOf(question, answer, open.length));
  const slot = ANSWERS.index - (await recordsOf(context.serde, root)).length;
  const changes = [change(root, { ...ANSWERS, index: slot }, record, slot)];
  question.answered = answer;
  // The store keeps the status of a run: a `__resume__` without a task says that no task waits any longer.
  for (const found of answeredLevels(questions)) changes.push(change(found, RESUME, NOTHING));
  // The thread must not have continued, neither in the graph nor in the subgraphs that ask.
  const expect = question.levels.map(({ found: { header } }) => ({ namespace: header.namespace, newest: header.id }));
  const buffers = changes.map(({ bytes }) => bytes);
  const writes = changes.map(({ fields }) => fields);
  await langgraph.call(native, "import", { threadId, expect, replace: false, writes, puts: [] }, buffers);
}

/** Makes a write without a task to a checkpoint. `free`: the slot that must be free. */
function change(
  { header }: Found,
  { channel, index }: { channel: string; index: number },
  text: string,
  free?: number,
) {
  const { threadId, namespace, id } = header;
  const bytes = Buffer.from(text);
  const write = { index, part: { name: channel, tag: "json", bytes } };
  return {
    bytes,
    fields: writeFields({ threadId, namespace, id }, { task: NO_TASK, path: "" }, [write], true, undefined, free),
  };
}

function refuseOtherJson({ task: { channels } }: Level): void {
  const other = [channels.get(INTERRUPT.channel), channels.get(RESUME.channel)].find(
    (stored) => stored !== undefined && stored.tag !== "json",
  );
  if (other === undefined) return;
  const message = `the question was written by the serializer ${quote(other.tag)}: answer it in the program, with Command`;
  throw new ForkpointError("UNSUPPORTED", message);
}
