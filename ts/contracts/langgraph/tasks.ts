/** Reads the tasks of a checkpoint, and the nodes that run next. */

import type { Checkpoint } from "@langchain/langgraph-checkpoint";
import { isDeepStrictEqual } from "node:util";
import { quote } from "../../bridge/errors.js";
import { idOrNull } from "../../store/ids.js";
import type { Stored } from "../../bridge/serializer.js";
import { INTERRUPT, NO_TASK, RESUME, isRecord } from "./answer-records.js";
import { load } from "./serde.js";
import { isSteering, nextNodesOf } from "./next.js";
import type { SaverContext } from "./tuples.js";
import { channelOf } from "./values.js";
import { type Found, langgraph, openFound } from "./wire.js";

/** Channels that an unfinished task may have written to. */
const UNFINISHED = new Set(["__error__", "__error_source_node__", "__interrupt__", "__resume__", "__scheduled__"]);

export type Context = Pick<SaverContext, "native" | "serde">;

export async function outline({ native }: Context, threadId: unknown, namespace: string): Promise<Found | null> {
  const thread = idOrNull(threadId, "threadId");
  return thread === null ? null : langgraph.find(native, "outline", { threadId: thread, namespace }, openFound);
}

interface Tasks {
  /** The error of a failed task that has not succeeded since. */
  failed: Stored | undefined;
  /** The questions of the tasks that have not finished. */
  open: Interrupt[];
  /** An answer for all questions, as LangGraph stores it, that no task has used. Its records are more exact. */
  answer: { value: unknown } | undefined;
  /** The number of tasks with writes: they have finished, have failed, or ask a question. */
  ended: number;
  /** The number of finished nodes. */
  finished: number;
}

export async function tasksOf(context: Pick<SaverContext, "serde">, found: Pick<Found, "writes">): Promise<Tasks> {
  const { serde } = context;
  const tasks = taskWrites(found);
  const answer = tasks.get(NO_TASK)?.channels.get(RESUME.channel);
  tasks.delete(NO_TASK);
  const result: Tasks = { failed: undefined, open: [], answer: undefined, ended: 0, finished: 0 };
  const used: unknown[] = [];
  for (const { channels } of tasks.values()) {
    // LangGraph stores an answer by question id under this id.
    if ([...channels.keys()].some((channel) => channel !== RESUME.channel)) result.ended += 1;
    const resume = channels.get(RESUME.channel);
    // A task records its used answers, in order, when it asks again, fails or finishes.
    if (resume) used.push(([await load(serde, resume, "an answer")] as unknown[]).flat().at(-1));
    if (hasFinished(channels)) {
      // A `task()` returns its result to the node that called it.
      if (!channels.has("__return__")) result.finished += 1;
      continue;
    }
    if (!channels.has("__error_source_node__")) result.failed ??= channels.get("__error__");
    for (const { interrupt } of await askedIn(serde, channels.get(INTERRUPT.channel))) result.open.push(interrupt);
  }
  if (answer) {
    const value: unknown = await load(serde, answer, "an answer");
    if (!used.some((one) => isDeepStrictEqual(one, value))) result.answer = { value };
  }
  return result;
}

/** A question, as `interrupt()` stored it. */
export interface Interrupt {
  id?: string;
  value?: any;
}

export interface Asked {
  id?: string;
  value: unknown;
  interrupt: Interrupt;
}

/** A task that has not finished. */
export interface OpenTask {
  task: string;
  path: string | undefined;
  channels: ReadonlyMap<string, Stored>;
  asked: Asked[];
}

/** Returns the unfinished tasks that have written to a checkpoint, with their questions. */
export async function openTasks(
  { serde }: Pick<SaverContext, "serde">,
  found: Pick<Found, "writes">,
): Promise<OpenTask[]> {
  const open: OpenTask[] = [];
  for (const [task, { path, channels }] of taskWrites(found)) {
    if (task === NO_TASK || hasFinished(channels)) continue;
    open.push({ task, path, channels, asked: await askedIn(serde, channels.get(INTERRUPT.channel)) });
  }
  return open;
}

async function askedIn(serde: SaverContext["serde"], question: Stored | undefined): Promise<Asked[]> {
  if (question === undefined) return [];
  const stored = [(await load(serde, question, "a question")) as unknown].flat();
  return stored.map((interrupt): Asked => {
    const { id, value } = (interrupt ?? {}) as { id?: unknown; value?: unknown };
    const asked: Asked = { value, interrupt: interrupt as Interrupt };
    if (typeof id === "string") asked.id = id;
    return asked;
  });
}

const hasFinished = (channels: ReadonlyMap<string, Stored>): boolean =>
  [...channels.keys()].some((channel) => !UNFINISHED.has(channel));

interface TaskWrites {
  path: string | undefined;
  channels: Map<string, Stored>;
}

/** Returns the pending writes by task, in the order of each task's first write. */
function taskWrites({ writes }: Pick<Found, "writes">): Map<string, TaskWrites> {
  const tasks = new Map<string, TaskWrites>();
  for (const write of writes) {
    const { task, path, claimedBy, part } = write;
    if (claimedBy || isRecord(write)) continue;
    const known = tasks.get(task) ?? { path, channels: new Map<string, Stored>() };
    known.channels.set(part.name, part);
    tasks.set(task, known);
  }
  return tasks;
}

/** Reads the nodes that run next: see `nextNodesOf`. */
export async function nextNodes({ serde }: Pick<SaverContext, "serde">, { parts }: Found): Promise<string[] | null> {
  const rest = await restOf({ serde }, { parts });
  if (rest === undefined) return null;
  const values: Record<string, unknown> = {};
  for (const part of parts) {
    const channel = channelOf(part.name);
    if (channel !== undefined && isSteering(channel))
      values[channel] = await load(serde, part, `channel ${quote(channel)}`);
  }
  return nextNodesOf({ ...rest, channel_values: values });
}

/** Returns the partly reached joins, for example `a+b` and the node that waits for `a` and `b`. */
export async function openJoins(
  { serde }: Pick<SaverContext, "serde">,
  { parts }: Pick<Found, "parts">,
): Promise<Array<{ to: string; joins: string }>> {
  const open: Array<{ to: string; joins: string }> = [];
  for (const part of parts) {
    const [, joins, to] = /^join:([^:]*):(.*)$/s.exec(channelOf(part.name) ?? "") ?? [];
    if (joins === undefined || to === undefined) continue;
    const value: unknown = await load(serde, part, `channel ${quote(part.name)}`);
    if (Array.isArray(value) && value.flat().some((name) => typeof name === "string")) open.push({ to, joins });
  }
  return open;
}

export async function restOf(
  { serde }: Pick<SaverContext, "serde">,
  { parts }: Pick<Found, "parts">,
): Promise<Checkpoint | undefined> {
  const part = parts.findLast(({ name }) => channelOf(name) === undefined);
  return part && ((await load(serde, part, "the latest checkpoint")) as Checkpoint);
}
