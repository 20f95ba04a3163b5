/** Reads the reasons for the status of runs, and the nodes that run next. */

import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { ForkpointError } from "../bridge/errors.js";
import { status as langgraphStatus } from "../contracts/langgraph/status.js";
import { nextNodes as langgraphNext } from "../contracts/langgraph/tasks.js";
import { type Found, openFound as openTuple, langgraph } from "../contracts/langgraph/wire.js";
import type { SaverContext } from "../contracts/langgraph/tuples.js";
import { ERROR, INTERRUPT, RESUME } from "../contracts/tinyagents/contract.js";
import type { Context } from "./context.js";
import { readValue } from "./values.js";
import { type FoundWrite, type Row, inspect, openCheckpoint } from "./wire.js";
import type { Status } from "./views.js";

/** Returns the reason for the status of a run whose newest checkpoint is `row`, in a few words. Null: there is none. */
export async function readWhy(context: Context, row: Row, status: Status): Promise<string | null> {
  if (status === "finished") return null;
  try {
    if (row.space === "langgraph") return await ofLanggraph(context, row, status);
    if (row.space === "tinyagents") return await ofTinyAgents(context, row, status);
  } catch (error) {
    // The reason is unknown if the checkpoint is damaged or its serializer is missing. Any other error is an error of
    // the store.
    if (error instanceof ForkpointError && !["CORRUPT", "UNSUPPORTED"].includes(error.code)) throw error;
    return "the newest checkpoint cannot be read";
  }
  return whyOf(row, status);
}

function whyOf({ space, label, meta }: Row, status: Status): string | null {
  if (space === "agentos" && label !== null) {
    if (status === "waiting") return `node ${JSON.stringify(label)} or another node waits for a human`;
    if (status === "failed") return "a node has a result but has not completed";
  }
  if (space === "agentium" && typeof meta?.["steps"] === "number") {
    return `${Number(meta["stepIndex"]) + 1} of ${meta["steps"]} steps are stored`;
  }
  if (space === "helix" || space === "helix-sessions")
    return label && `the session's status is ${JSON.stringify(label)}`;
  return null;
}

/** Reads LangGraph's bytes as plain JSON. Does not create objects of LangChain's classes. */
const plain: SerializerProtocol = {
  dumpsTyped() {
    throw new Error("the inspector does not write LangGraph values through a serializer");
  },
  loadsTyped(tag, bytes) {
    const read = readValue(
      { formats: new Map() },
      { tag, bytes: typeof bytes === "string" ? Buffer.from(bytes) : bytes },
    );
    if (!read.readable)
      throw new ForkpointError(
        "UNSUPPORTED",
        `the serializer "${tag}" is not registered, so its values cannot be read`,
      );
    return read.value;
  },
} as SerializerProtocol;

/** Returns the parts of a saver that reads of LangGraph checkpoints use. */
export function saverOf({ engine }: Context): SaverContext {
  return { native: engine.native, serde: plain } as SaverContext;
}

async function ofLanggraph(context: Context, { run, ns }: Row, status: Status): Promise<string | null> {
  const found = await langgraphStatus(saverOf(context), run, ns ?? "");
  if (found === null) return null;
  const { interrupts, next } = found;
  const nodes = next.map((node) => JSON.stringify(node)).join(", ");
  if (status === "waiting")
    return interrupts.length === 1 ? "it asks a question" : `it asks ${interrupts.length} questions`;
  if (status === "failed") return nodes === "" ? "a task has failed" : `a task has failed: ${nodes}`;
  return status === "unfinished" ? `next: ${nodes}` : null;
}

/** Returns the nodes that run next after a checkpoint of LangGraph. Null: the checkpoint does not contain them. */
export async function langgraphNextOf(context: Context, row: Row): Promise<string[] | null> {
  const { run: threadId, ns, id } = row;
  const fields = { threadId, namespace: ns ?? "", id };
  const found: Found | null = await langgraph.find(context.engine.native, "get", fields, openTuple);
  try {
    return found && (await langgraphNext(saverOf(context), found));
  } catch {
    return null;
  }
}

async function ofTinyAgents(context: Context, row: Row, status: Status): Promise<string | null> {
  if (status === "unfinished")
    return `next: ${tinyAgentsNextOf(context, row)
      ?.map((node) => JSON.stringify(node))
      .join(", ")}`;
  const { native } = context.engine;
  // If an id was put several times, only its first checkpoint has the writes.
  const first = { ...keyOf(row), id: row.id.split("\0")[0]! };
  const found = await inspect.find(native, "read", first, openCheckpoint);
  const [waiting, failed] = openTasks(found?.writes ?? []);
  if (status === "waiting") return waiting === 1 ? "a task asks a question" : `${waiting} tasks ask`;
  if (status === "failed") return failed === 1 ? "a task has failed" : `${failed} tasks have failed`;
  return null;
}

/** Counts the tasks whose question has no answer, and the tasks that have failed. */
function openTasks(writes: readonly FoundWrite[]): [waiting: number, failed: number] {
  const slots = new Map<string, Set<number>>();
  for (const { task, index } of writes) slots.set(task, (slots.get(task) ?? new Set()).add(index));
  const open = [...slots.values()].filter((of) => ![...of].some((index) => index >= 0));
  const asks = open.filter((of) => of.has(INTERRUPT) && !of.has(RESUME));
  return [asks.length, open.filter((of) => of.has(ERROR) && !of.has(INTERRUPT)).length];
}

/** Returns the nodes that run next after a checkpoint of TinyAgents. Null: the checkpoint does not contain them. */
export function tinyAgentsNextOf(context: Context, { metadata }: Row): string[] | null {
  const { value, readable } = metadata === null ? { value: null, readable: false } : readValue(context, metadata);
  const next: unknown = readable ? (value as { nextNodes?: unknown } | null)?.nextNodes : undefined;
  return Array.isArray(next) && next.every((node) => typeof node === "string") ? next : null;
}

/** Returns the reference of a checkpoint, as the engine's calls have it. */
export function keyOf({ space, run, ns, id }: Row): { space: string; run: string; ns: string; id: string } {
  return { space, run, ns: ns ?? "", id };
}
