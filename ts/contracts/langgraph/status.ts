/** Reads the status of a thread: the nodes that run next, and the tasks that wait or have failed. */

import type { Checkpoint } from "@langchain/langgraph-checkpoint";
import { isDeepStrictEqual } from "node:util";
import { quote } from "../../bridge/errors.js";
import { idOrNull } from "../../store/ids.js";
import type { Stored } from "../../bridge/serializer.js";
import { type Answered, INTERRUPT, NO_TASK, RESUME, answeredIn, isRecord } from "./answered.js";
import { type Mark, decodeMark } from "../../store/mark.js";
import { load } from "./serde.js";
import { headers } from "./list.js";
import { isSteering, nextNodesOf } from "./next.js";
import type { SaverContext } from "./tuples.js";
import { channelOf } from "./values.js";
import { type Found, langgraph, openFound, placeOf } from "./wire.js";
import type { RunStatus } from "../shared/recovery.js";

/** What the newest checkpoint of a thread says about the thread. */
export interface ThreadStatus {
  /** The id of the newest checkpoint of the root namespace. */
  checkpointId: string;
  /** When the store received that checkpoint, in ms since the epoch. */
  updatedAt: number;
  /**
   * - `"waiting"`: an `interrupt()` waits for an answer.
   * - `"failed"`: a node threw an error, and no later run has repeated the node.
   * - `"unfinished"`: nodes have yet to run. Either a process runs them now, or a process ended too early, or the graph
   *   stopped at a breakpoint (`interruptBefore`, `interruptAfter`). The store cannot know which.
   * - `"finished"`: no node has yet to run.
   * - `"unknown"`: the checkpoint does not say it. It has a format older than LangGraph's version 4, or was not made by a
   *   `StateGraph` or an `entrypoint`.
   */
  status: RunStatus;
  /** The nodes that have yet to run. `"__start__"` stands for an input that no node has read yet. */
  next: string[];
  /** The questions that wait for an answer, as `interrupt()` stored them. */
  interrupts: Array<{ id?: string; value?: any }>;
  /** What a failed node threw. Set if the status is `"failed"`. If several nodes failed, the error of one of them. */
  error?: NodeError;
}

/** What LangGraph stores of an error that a node threw. */
export interface NodeError {
  name: string;
  message: string;
}

/** Channels of writes that a task may have without being finished. */
const UNFINISHED = new Set(["__error__", "__error_source_node__", "__interrupt__", "__resume__", "__scheduled__"]);

export type Context = Pick<SaverContext, "native" | "serde">;

/** Reads the status of a thread, or of one of its namespaces, from the newest checkpoint of the namespace. */
export async function status(context: Context, threadId: unknown, namespace = ""): Promise<ThreadStatus | null> {
  const found = await outline(context, threadId, namespace);
  return found && statusAt(context, found);
}

export interface Standing extends ThreadStatus {
  mark: Mark;
  /** True if every question has an answer that the inspector has stored, and that no task has used. */
  answered: boolean;
  found: Found;
}

export async function standing(context: Context, threadId: string): Promise<Standing | null> {
  const found = await outline(context, threadId, "");
  if (found === null) return null;
  const { status, answered } = await standingAt(context, found);
  return { ...status, answered, mark: decodeMark(found.header.mark), found };
}

async function statusAt(context: Context, found: Found): Promise<ThreadStatus> {
  return (await standingAt(context, found)).status;
}

async function standingAt(context: Context, found: Found): Promise<{ status: ThreadStatus; answered: boolean }> {
  const { failed, open, answered, stored } = await tasksOf(context, found);
  const tasks = await nextNodes(context, found);
  const next = tasks && [...new Set(tasks)];
  // LangGraph keeps the answer of an earlier question beside the next question of the same subgraph. Only the
  // subgraph's own checkpoints say whether the answer was used.
  const waits = open.length > 0 && (!answered || (await asksInside(context, found)));
  const { id: checkpointId, savedAt: updatedAt } = found.header;
  const rest = { checkpointId, updatedAt, next: next ?? [], interrupts: waits ? open : [] };
  const of = (status: RunStatus, more?: Pick<ThreadStatus, "error">) => ({
    status: { status, ...rest, ...more },
    answered: stored && status === "unfinished",
  });
  if (failed !== undefined) return of("failed", { error: await errorOf(context, failed) });
  if (waits) return of("waiting");
  if (next === null) return of("unknown");
  return of(next.length > 0 ? "unfinished" : "finished");
}

/**
 * Returns true if a run has stopped at this checkpoint: it is the newest of the thread, and no task is left, a task has
 * failed, or every task has ended and one waits for an answer. Tasks that run beside the one that asks continue.
 */
export async function hasStopped(context: SaverContext, threadId: string, id: string): Promise<boolean> {
  const found = await outline(context, threadId, "");
  if (found?.header.id !== id) return false;
  const { failed, open, ended } = await tasksOf(context, found);
  const next = await nextNodes(context, found);
  return failed !== undefined || (next !== null && (next.length === 0 || (open.length > 0 && ended >= next.length)));
}

export async function outline({ native }: Context, threadId: unknown, namespace: string): Promise<Found | null> {
  const thread = idOrNull(threadId, "threadId");
  return thread === null ? null : langgraph.find(native, "outline", { threadId: thread, namespace }, openFound);
}

interface Tasks {
  /** The error of a task that failed and has not succeeded since. */
  failed: Stored | undefined;
  /** The questions without an answer of the tasks that have not finished. */
  open: ThreadStatus["interrupts"];
  /** True if there is an answer that no task has used. */
  answered: boolean;
  /** True if the inspector has stored the answer to a question of a task that has not finished. */
  stored: boolean;
  /** How many tasks have written: they have finished, have failed, or ask a question. */
  ended: number;
  /** How many nodes have finished. */
  finished: number;
}

export async function tasksOf(context: Pick<SaverContext, "serde">, found: Pick<Found, "writes">): Promise<Tasks> {
  const { serde } = context;
  const tasks = taskWrites(found);
  const answer = tasks.get(NO_TASK)?.channels.get(RESUME.channel);
  tasks.delete(NO_TASK);
  const result: Tasks = { failed: undefined, open: [], answered: false, stored: false, ended: tasks.size, finished: 0 };
  const used: unknown[] = [];
  for (const { channels } of tasks.values()) {
    const resume = channels.get(RESUME.channel);
    // A task records the answers that it has used, in order, when it asks again, fails or finishes.
    if (resume) used.push(([await load(serde, resume, "an answer")] as unknown[]).flat().at(-1));
    if (hasFinished(channels)) {
      // A `task()` returns its result to the node that has called it.
      if (!channels.has("__return__")) result.finished += 1;
      continue;
    }
    if (!channels.has("__error_source_node__")) result.failed ??= channels.get("__error__");
    for (const { answered, interrupt } of await askedIn(serde, channels.get(INTERRUPT.channel))) {
      if (answered === null) result.open.push(interrupt);
      else result.stored = true;
    }
  }
  if (answer) {
    const value: unknown = await load(serde, answer, "an answer");
    result.answered = !used.some((one) => isDeepStrictEqual(one, value));
  }
  return result;
}

/** A question, as `interrupt()` stored it. */
export interface Asked {
  id?: string;
  value: unknown;
  answered: Answered | null;
  interrupt: ThreadStatus["interrupts"][number];
}

/** A task that has not finished. */
export interface OpenTask {
  task: string;
  path: string | undefined;
  channels: ReadonlyMap<string, Stored>;
  asked: Asked[];
}

/** Returns the tasks that have written to a checkpoint and have not finished, with their questions. */
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
    const asked: Asked = { value, answered: answeredIn(interrupt), interrupt: interrupt as Asked["interrupt"] };
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

/** Returns the pending writes by their task, in the order in which the tasks have written first. */
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

/** Reads an error that LangGraph has stored. It stores the name and the message. */
async function errorOf({ serde }: Pick<SaverContext, "serde">, stored: Stored): Promise<NodeError> {
  const error: unknown = await load(serde, stored, "an error");
  const { name, message } = (error ?? {}) as Record<string, unknown>;
  // Another writer may have stored something else, such as a text.
  return {
    name: typeof name === "string" ? name : "Error",
    message: typeof message === "string" ? message : String(error),
  };
}

/** Returns true if a subgraph waits for an answer. Subgraphs have saved their checkpoints after the root's newest one. */
async function asksInside(context: Context, { header: root }: Found): Promise<boolean> {
  const seen = new Set([""]);
  for await (const header of headers(context, root.threadId)) {
    if (placeOf(header) < root.id) break;
    const { namespace } = header;
    if (seen.has(namespace)) continue;
    seen.add(namespace);
    const found = await outline(context, root.threadId, namespace);
    if (found === null) continue;
    const { open, answered } = await tasksOf(context, found);
    if (open.length > 0 && !answered) return true;
  }
  return false;
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

/** Returns the joins that some of their nodes have reached, for example `a+b` and the node that waits for `a` and `b`. */
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
