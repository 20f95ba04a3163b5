/** Reads the status of a thread: the nodes that run next, and the tasks that wait or have failed. */

import type { Stored } from "../../bridge/serializer.js";
import { recordsOf } from "./answer-records.js";
import { type Mark, decodeMark } from "../../store/mark.js";
import { questionsAt } from "./questions.js";
import { load } from "./serde.js";
import { headers } from "./list-checkpoints.js";
import { type Context, type Interrupt, nextNodes, outline, tasksOf } from "./tasks.js";
import type { SaverContext } from "./tuples.js";
import { type Found, langgraph, sortKeyOf } from "./wire.js";
import { stopsOf } from "../../store/ended-runs.js";
import type { RunStop } from "../../store/results.js";
import type { RunStatus } from "../shared/recover-options.js";

/** The status of a thread, read from its newest checkpoint. */
export interface ThreadStatus {
  /** The id of the newest checkpoint of the root namespace. */
  checkpointId: string;
  /** When the store received that checkpoint, in ms since the epoch. */
  updatedAt: number;
  /**
   * - `"waiting"`: an `interrupt()` waits for an answer.
   * - `"failed"`: a node threw an error, and no later run has repeated the node.
   * - `"unfinished"`: nodes have yet to run. Either a process is running them, or a process ended too early, or the
   *   graph is at a breakpoint (`interruptBefore`, `interruptAfter`). The store cannot know which.
   * - `"stopped"`: somebody has stopped the thread, and nobody has continued it. See `stopped`.
   * - `"finished"`: no node has yet to run.
   * - `"unknown"`: the checkpoint does not contain the status. Its format is older than LangGraph's version 4, or it is
   *   not from a `StateGraph` or an `entrypoint`.
   */
  status: RunStatus;
  /** The nodes that have yet to run. `"__start__"`: no node has read the input yet. */
  next: string[];
  /** The questions that wait for an answer, as `interrupt()` stored them. */
  interrupts: Array<{ id?: string; value?: any }>;
  /** The error of a node, if one has failed. If several nodes failed, one of their errors. */
  error?: NodeError;
  /** Who has stopped the thread, when, and why. Null if the status is not `"stopped"`. */
  stopped: RunStop | null;
}

/** The fields of a node's error that LangGraph stores. */
export interface NodeError {
  name: string;
  message: string;
}

/** Reads the status of a thread from its newest checkpoint. */
export async function status(context: Context, threadId: unknown): Promise<ThreadStatus | null> {
  const found = await outline(context, threadId, "");
  if (found === null) return null;
  const { status: stored } = await standingAt(context, found);
  const { checkpointId: newest, status } = stored;
  const { threadId: run } = found.header;
  const [stopped = null] = await stopsOf(context.native, langgraph.name, [{ run, ns: "", newest, status }]);
  return stopped === null ? { ...stored, stopped } : { ...stored, status: "stopped", stopped };
}

/** The status without the knowledge that the thread was stopped. */
export interface StoredStatus extends Omit<ThreadStatus, "status" | "stopped"> {
  status: Exclude<RunStatus, "stopped">;
}

/** Reads the stored status of a thread, or of one of its namespaces, from the newest checkpoint of the namespace. */
export async function storedStatus(context: Context, threadId: unknown, namespace = ""): Promise<StoredStatus | null> {
  const found = await outline(context, threadId, namespace);
  return found && (await standingAt(context, found)).status;
}

export interface Standing extends StoredStatus {
  mark: Mark;
  /** True if all questions are answered, but no run has all of the answers: nothing continues the thread by itself. */
  answered: boolean;
  /** True if some of the questions have answers. */
  partly: boolean;
  found: Found;
}

export async function standing(context: Context, threadId: string): Promise<Standing | null> {
  const found = await outline(context, threadId, "");
  if (found === null) return null;
  const { status, answered, partly } = await standingAt(context, found);
  return { ...status, answered, partly, mark: decodeMark(found.header.mark), found };
}

async function standingAt(
  context: Context,
  found: Found,
): Promise<Pick<Standing, "answered" | "partly"> & { status: StoredStatus }> {
  const { failed } = await tasksOf(context, found);
  const tasks = await nextNodes(context, found);
  const next = tasks && [...new Set(tasks)];
  const { interrupts, answered, partly } = await openAt(context, found);
  const { id: checkpointId, savedAt: updatedAt } = found.header;
  const rest = { checkpointId, updatedAt, next: next ?? [], interrupts };
  const of = (status: StoredStatus["status"], more?: Pick<ThreadStatus, "error">) => ({
    status: { status, ...rest, ...more },
    answered: answered && status === "unfinished",
    partly,
  });
  if (failed !== undefined) return of("failed", { error: await errorOf(context, failed) });
  if (interrupts.length > 0) return of("waiting");
  if (next === null) return of("unknown");
  return of(next.length > 0 ? "unfinished" : "finished");
}

/** Reads the questions without an answer. `answered` and `partly`: see {@link Standing}. */
async function openAt(
  context: Context,
  found: Found,
): Promise<Pick<Standing, "answered" | "partly"> & { interrupts: Interrupt[] }> {
  const { open, answer } = await tasksOf(context, found);
  const { threadId, namespace } = found.header;
  const root = namespace === "" || open.length === 0 ? found : await outline(context, threadId, "");
  const records = root === null ? [] : await recordsOf(context.serde, root);
  if (root === null || records.length === 0) {
    // LangGraph keeps an earlier question's answer beside the next question of the same subgraph. Only the subgraph's
    // own checkpoints tell whether the answer was used.
    const waits = open.length > 0 && (answer === undefined || (await asksInside(context, found)));
    return { interrupts: waits ? open : [], answered: false, partly: false };
  }
  const questions = open.length === 0 ? [] : await questionsAt(context, root);
  const asked = questions.filter(
    (each) => each.answered === null && each.levels.some((level) => level.found.header.namespace === namespace),
  );
  // A program's run continues if the program has answered the last question. Otherwise it stops at the next one.
  const runs = records.some(({ program, left }) => program !== undefined && left === 0);
  const unused = questions.some((each) => each.answered !== null && each.answered.program === undefined);
  const answered = !runs && (unused || (open.length === 0 && records.every(({ left }) => left > 0)));
  const partly = questions.some((each) => each.answered !== null);
  return { interrupts: asked.map(({ interrupt }) => interrupt), answered, partly };
}

/**
 * Returns true if a run has stopped at this checkpoint. The checkpoint is the thread's newest, and no task is left, a
 * task has failed, or all tasks have ended and one waits for an answer. Tasks beside a waiting task continue.
 */
export async function hasStopped(context: SaverContext, threadId: string, id: string): Promise<boolean> {
  const found = await outline(context, threadId, "");
  if (found?.header.id !== id) return false;
  const { failed, open, ended } = await tasksOf(context, found);
  const next = await nextNodes(context, found);
  return failed !== undefined || (next !== null && (next.length === 0 || (open.length > 0 && ended >= next.length)));
}

/** Reads an error that LangGraph has stored, with its name and message. */
async function errorOf({ serde }: Pick<SaverContext, "serde">, stored: Stored): Promise<NodeError> {
  const error: unknown = await load(serde, stored, "an error");
  const { name, message } = (error ?? {}) as Record<string, unknown>;
  // Another writer may have stored another form, such as a text.
  return {
    name: typeof name === "string" ? name : "Error",
    message: typeof message === "string" ? message : String(error),
  };
}

/** Returns true if a subgraph waits for an answer. Its checkpoints are later than the root's newest one. */
async function asksInside(context: Context, { header: root }: Found): Promise<boolean> {
  const seen = new Set([""]);
  for await (const header of headers(context, root.threadId)) {
    if (sortKeyOf(header) < root.id) break;
    const { namespace } = header;
    if (seen.has(namespace)) continue;
    seen.add(namespace);
    const found = await outline(context, root.threadId, namespace);
    if (found === null) continue;
    const { open, answer } = await tasksOf(context, found);
    if (open.length > 0 && answer === undefined) return true;
  }
  return false;
}
