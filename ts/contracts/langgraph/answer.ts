/** Stores an answer to a question of a thread. See answered.ts for what is stored. */

import { ForkpointError, quote } from "../../bridge/errors.js";
import { lostInJson } from "../../bridge/exact-json.js";
import type { NativeStore } from "../../bridge/native.js";
import type { Stored } from "../../bridge/serializer.js";
import {
  ANSWERS,
  type AnswerRecord,
  type Answered,
  INTERRUPT,
  NOTHING,
  NO_TASK,
  RESUME,
  idOf,
  textOf,
} from "./answered.js";
import { type Level, type ThreadQuestion, questionsOf } from "./questions.js";
import { type Context, type OpenTask, openTasks } from "./status.js";
import { type IndexedWrite, writeFields } from "./writing.js";
import { type Found, langgraph } from "./wire.js";

type Typed = { tag: string; bytes: Buffer };

/** The new writes of a task to a checkpoint. */
interface Change {
  found: Found;
  task: string;
  writes: Array<{ channel: string; index: number; value: Typed }>;
}

/**
 * Stores an answer, unless the question has one. `native` carries the lease of the thread, so that of two answers at the same time
 * only one is stored. All changes are one transaction, which fails if a program has continued the thread.
 *
 * @throws ForkpointError `NOT_FOUND` if no question has this id. `CONFLICT` if it has an answer, or if the thread has continued.
 *   `UNSUPPORTED` if LangGraph's JSON cannot hold the answer, or if the question was written by another serializer.
 */
export async function answerThread(
  context: Context,
  native: NativeStore,
  threadId: string,
  id: string,
  answer: Answered,
): Promise<void> {
  const questions = await questionsOf(context, threadId);
  const question = questions.find((each) => each.id === id);
  if (question === undefined) {
    throw new ForkpointError("NOT_FOUND", `thread ${quote(threadId)} does not ask the question ${quote(id)} any more`);
  }
  if (question.answered !== null) throw hasAnswer(threadId, question.answered);
  const stored = json(answer.value, "the answer");
  const changes: Change[] = [];
  const asking = question.levels.at(-1)!;
  const used = asking.task.channels.get(RESUME.channel);
  const resume = used === undefined ? `[${stored}]` : listWith(readJson(used), stored);
  changes.push(change(asking, RESUME, resume));
  const others = questions.filter((each) => each.id !== id && each.answered === null);
  for (const level of question.levels) changes.push(...(await marked(context, level, question, answer, others)));
  changes.push(recordOf(question, answer));
  await store(native, threadId, changes);
}

/** Makes the error for a question that has an answer. */
export function hasAnswer(run: string, { by, at }: Answered): ForkpointError {
  const who = by === null ? "" : ` by ${quote(by)}`;
  const message = `the question of ${quote(run)} was answered${who} at ${new Date(at).toISOString()}: nothing was stored`;
  return new ForkpointError("CONFLICT", message);
}

/**
 * Marks the question in every task of a checkpoint that has it, and the checkpoint if all of its questions have answers. LangGraph 1.6
 * and earlier keep only one of the questions of a subgraph. Such a task gets another question that has no answer.
 */
async function marked(
  context: Context,
  { found, task: level }: Level,
  question: ThreadQuestion,
  answer: Answered,
  others: readonly ThreadQuestion[],
): Promise<Change[]> {
  const changes: Change[] = [];
  let open = 0;
  for (const task of await openTasks(context, found)) {
    const inside = others.filter(({ levels }) =>
      levels.some((each) => isSame(each.found, found) && each.task.task === task.task),
    );
    const isAsking = task.task === level.task || task.asked.some((asked, at) => idOf(asked, task, at) === question.id);
    if (isAsking) changes.push({ found, task: task.task, writes: [withMark(task, question.id, answer, inside)] });
    open += isAsking ? inside.length : task.asked.filter(({ answered }) => answered === null).length;
  }
  // The store keeps the status of a run: an answer of no task says that no task waits any more.
  if (open === 0) changes.push(change({ found, task: { task: NO_TASK } }, RESUME, NOTHING));
  return changes;
}

const isSame = (a: Found, b: Found): boolean =>
  a.header.namespace === b.header.namespace && a.header.id === b.header.id;

function withMark(
  task: OpenTask,
  id: string,
  answer: Answered,
  open: readonly ThreadQuestion[],
): Change["writes"][number] {
  const stored = readJson(task.channels.get(INTERRUPT.channel)!);
  const isList = Array.isArray(stored);
  const list = (isList ? stored : [stored]) as object[];
  const at = list.findIndex((each, index) => idOf(each as { id?: string }, task, index) === id);
  const instead = isList ? undefined : open[0];
  let next: unknown = stored;
  if (instead !== undefined) next = instead.interrupt;
  else if (at !== -1) {
    const replaced = list.with(at, { ...list[at], answered: answer });
    next = isList ? replaced : replaced[0];
  } else if (!isList) next = { ...(stored as object), answered: answer };
  return { ...INTERRUPT, value: serialized(JSON.stringify(next)) };
}

function recordOf({ id, node, value, levels }: ThreadQuestion, answer: Answered): Change {
  const { found } = levels[0]!;
  const before = found.writes.filter(({ task, part }) => task === NO_TASK && part.name === ANSWERS.channel).length;
  const record: AnswerRecord = { id, node, question: value, ...answer };
  const index = ANSWERS.index - before;
  const { channel } = ANSWERS;
  return { found, task: NO_TASK, writes: [{ channel, index, value: serialized(JSON.stringify(record)) }] };
}

function change(
  { found, task: { task } }: { found: Found; task: { task: string } },
  slot: typeof RESUME,
  text: string,
) {
  return { found, task, writes: [{ ...slot, value: serialized(text) }] };
}

const serialized = (text: string): Typed => ({ tag: "json", bytes: Buffer.from(text) });

/** Stores all changes, or nothing if one of the checkpoints is no longer the newest of its graph. */
async function store(native: NativeStore, threadId: string, changes: Change[]): Promise<void> {
  const newest = new Map(changes.map(({ found: { header } }) => [header.namespace, header.id]));
  const buffers: Uint8Array[] = [];
  const writes = changes.map(({ found: { header }, task, writes: own }) => {
    const indexed = own.map(({ channel, index, value }): IndexedWrite => {
      buffers.push(value.bytes);
      return { index, part: { name: channel, ...value } };
    });
    const { namespace, id } = header;
    return writeFields({ threadId, namespace, id }, { task, path: "" }, indexed, true);
  });
  const expect = [...newest].map(([namespace, id]) => ({ namespace, newest: id }));
  await langgraph.call(native, "import", { threadId, expect, replace: false, writes, puts: [] }, buffers);
}

function readJson({ tag, bytes }: Stored): unknown {
  if (tag === "json") return JSON.parse(textOf(bytes)) as unknown;
  const message = `the question was written by the serializer ${quote(tag)}: answer it in the program, with Command`;
  throw new ForkpointError("UNSUPPORTED", message);
}

function listWith(list: unknown, stored: string): string {
  const texts = [list].flat().map((each) => JSON.stringify(each));
  return `[${[...texts, stored].join(",")}]`;
}

/** Returns an answer as JSON. LangGraph's serializer reads plain JSON. */
function json(value: unknown, what: string): string {
  const lost = lostInJson(value, what);
  if (lost === undefined) return JSON.stringify(value);
  throw new ForkpointError("UNSUPPORTED", `${lost}, which LangGraph's JSON cannot hold: pass plain JSON`);
}
