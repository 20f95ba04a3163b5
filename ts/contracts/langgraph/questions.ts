/** Reads the questions of a thread: the value of each `interrupt()`, its task, and its answer. */

import { crypto } from "../../bridge/crypto.js";
import { type AnswerRecord, RESUME, idOf, keyOf, recordsOf } from "./answer-records.js";
import { load } from "./serde.js";
import { type Asked, type Context, type OpenTask, nextNodes, openTasks, outline, restOf, tasksOf } from "./tasks.js";
import { headers } from "./list-checkpoints.js";
import { type Found, sortKeyOf } from "./wire.js";

/** A task with a question, or a task whose subgraph has a question. */
export interface Level {
  found: Found;
  task: OpenTask;
}

/** A question of a thread. */
export interface ThreadQuestion extends Asked {
  id: string;
  /** The node of the question. Null: unknown. */
  node: string | null;
  /** The tasks from the graph itself down to the asking task. */
  levels: Level[];
  /** The answers that this task has used. */
  used: unknown[];
  /** Null: the question has no answer. */
  answered: (Pick<AnswerRecord, "value" | "by" | "at" | "program"> & { task?: string }) | null;
}

/** Reads the questions of a thread's newest checkpoint. An answered question stays until its task uses the answer. */
export async function questionsOf(context: Context, threadId: string): Promise<ThreadQuestion[]> {
  const root = await outline(context, threadId, "");
  return root === null ? [] : questionsAt(context, root);
}

/** Like {@link questionsOf}, for a newest checkpoint that was already read. */
export async function questionsAt(context: Context, root: Found): Promise<ThreadQuestion[]> {
  const questions = await new Reader(context, root.header.threadId).read(root);
  if (questions.length === 0) return [];
  const records = await recordsOf(context.serde, root);
  if (records.length > 0) {
    const answers = new Map(records.map((record) => [keyOf(record), record]));
    for (const question of questions) {
      // A task passes on its subgraph's question. The subgraph may use the answer before the task ends.
      const passed = () => records.findLast(({ id, task }) => id === question.id && task !== asking(question));
      question.answered = answers.get(placeIn(question)) ?? passed() ?? null;
    }
    return questions;
  }
  // LangGraph has stored an answer through another version of this package.
  const { answer } = await tasksOf(context, root);
  if (answer === undefined) return questions;
  for (const question of questions)
    question.answered = { ...answer, by: null, at: root.header.savedAt, program: "all" };
  return questions;
}

/** Returns the key of a question: see {@link keyOf}. */
export const placeIn = (question: Pick<ThreadQuestion, "levels" | "used">): string =>
  keyOf({ task: asking(question), nth: question.used.length });

/** Returns the task that asks. */
export const asking = ({ levels }: Pick<ThreadQuestion, "levels">): string => levels.at(-1)!.task.task;

const name = ({ header }: Found): string => `${header.id} ${header.namespace}`;

/** Returns the checkpoints whose questions are all answered. */
export function answeredLevels(questions: readonly ThreadQuestion[]): Found[] {
  const all = questions.flatMap(({ levels }) => levels.map(({ found }) => found));
  const open = questions.filter(({ answered }) => answered === null);
  const waiting = new Set(open.flatMap(({ levels }) => levels.map(({ found }) => name(found))));
  const answered = new Map(all.map((found) => [name(found), found]));
  return [...answered].filter(([key]) => !waiting.has(key)).map(([, found]) => found);
}

/** Makes the record of an answer. `left`: the number of questions that remain unanswered. */
export function recordOf(
  { id, node, value, levels, used }: ThreadQuestion,
  answer: Pick<AnswerRecord, "value" | "by" | "at" | "program">,
  left: number,
): AnswerRecord {
  return { id, node, question: value, ...answer, task: levels.at(-1)!.task.task, nth: used.length, left };
}

class Reader {
  readonly #context: Context;
  readonly #threadId: string;
  #inner: Promise<Found[]> | undefined;

  constructor(context: Context, threadId: string) {
    this.#context = context;
    this.#threadId = threadId;
  }

  async read(root: Found): Promise<ThreadQuestion[]> {
    this.#inner ??= this.#subgraphs(root.header.id);
    return this.#within(root, []);
  }

  async #within(found: Found, above: Level[]): Promise<ThreadQuestion[]> {
    const tasks = (await openTasks(this.#context, found)).filter(({ asked }) => asked.length > 0);
    const questions: ThreadQuestion[] = [];
    const seen = new Set<string>();
    for (const task of tasks) {
      const levels = [...above, { found, task }];
      const inside: ThreadQuestion[] = [];
      if (above.length < DEEPEST) {
        for (const child of await this.#childrenOf(found, task)) inside.push(...(await this.#within(child, levels)));
      }
      const own = async () => {
        const node = await nodeOf(this.#context, found, task, tasks.length);
        const used = await usedBy(this.#context, task);
        return task.asked.map((asked, at): ThreadQuestion => {
          const { value, interrupt } = asked;
          return { id: idOf(asked, task, at), node, value, answered: null, interrupt, levels, used };
        });
      };
      for (const question of inside.length > 0 ? inside : await own()) {
        // A `task()` passes its question on to its `entrypoint()`. The original question was stored first.
        if (!seen.has(question.id)) questions.push(question);
        seen.add(question.id);
      }
    }
    return questions;
  }

  /** The newest checkpoint of each subgraph that has begun after the graph's checkpoint. */
  async #subgraphs(after: string): Promise<Found[]> {
    const newest: Found[] = [];
    const seen = new Set([""]);
    for await (const header of headers(this.#context, this.#threadId)) {
      if (sortKeyOf(header) < after) break;
      const { namespace } = header;
      if (seen.has(namespace)) continue;
      seen.add(namespace);
      const found = await outline(this.#context, this.#threadId, namespace);
      if (found !== null) newest.push(found);
    }
    return newest;
  }

  async #childrenOf({ header: { namespace: parent } }: Found, { task, asked }: OpenTask): Promise<Found[]> {
    const children = [];
    for (const found of (await this.#inner) ?? []) {
      const { namespace } = found.header;
      const { own, above } = splitNamespace(namespace);
      if (own.endsWith(`:${task}`) && above === parent) children.push(found);
      // The namespace of a subgraph with its own memory has no task. Its question is that of its task.
      else if (!own.includes(":") && above === withoutTasks(parent)) {
        const tasks = await openTasks(this.#context, found);
        const inside = new Set(tasks.flatMap((each) => each.asked.map(({ id }) => id)));
        if (asked.some(({ id }) => id !== undefined && inside.has(id))) children.push(found);
      }
    }
    return children;
  }
}

async function usedBy({ serde }: Context, { channels }: OpenTask): Promise<unknown[]> {
  const stored = channels.get(RESUME.channel);
  const used: unknown = stored && (await load(serde, stored, "an answer"));
  return Array.isArray(used) ? used : used === undefined ? [] : [used];
}

/** Limits recursion, because namespaces of a hostile store may nest without an end. */
const DEEPEST = 32;

function splitNamespace(namespace: string): { own: string; above: string } {
  const at = namespace.lastIndexOf("|");
  return { own: namespace.slice(at + 1), above: at === -1 ? "" : namespace.slice(0, at) };
}

const withoutTasks = (namespace: string): string =>
  namespace
    .split("|")
    .map((part) => part.split(":", 1)[0])
    .join("|");

/** Returns the node of a task. LangGraph 1.6 and earlier store only the task's id, which is a hash of the node. */
async function nodeOf(
  context: Context,
  found: Found,
  { task, path }: OpenTask,
  waiting: number,
): Promise<string | null> {
  // The path of a task: `~__pregel_pull, settle`, or `~__pregel_push, 0` for a Send.
  const pulled = /^~__pregel_pull, (.+)$/s.exec(path ?? "")?.[1];
  if (pulled !== undefined) return pulled;
  const next = [...new Set((await nextNodes(context, found)) ?? [])];
  if (next.length === 1 && waiting === 1) return next[0]!;
  const rest = await restOf(context, found);
  const step = ((await stepOf(context, found)) ?? 0) + 1;
  const { namespace, id } = found.header;
  for (const node of rest === undefined ? [] : next) {
    const at = namespace === "" ? node : `${namespace}|${node}`;
    const name = JSON.stringify([at, String(step), node, "__pregel_pull", [`branch:to:${node}`]]);
    if (uuid5(name, id) === task) return node;
  }
  return null;
}

async function stepOf({ serde }: Context, { header: { metadata } }: Found): Promise<number | undefined> {
  const { step } = ((await serde.loadsTyped(metadata.tag, new Uint8Array(metadata.bytes))) ?? {}) as { step?: unknown };
  return typeof step === "number" ? step : undefined;
}

/** Returns the id of a task, computed like LangGraph does. */
function uuid5(name: string, namespace: string): string {
  const hash = crypto()
    .createHash("sha1")
    .update(Buffer.from(namespace.replaceAll("-", ""), "hex"))
    .update(name)
    .digest()
    .subarray(0, 16);
  hash[6] = (hash[6]! & 0x0f) | 0x50;
  hash[8] = (hash[8]! & 0x3f) | 0x80;
  return hash.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
