/** Reads where a run stands, as the code that goes on from there must know it: what it asks, and what has failed. */

import { type Progress, isHuman, openNodes, statusOf as agentosStatus } from "../contracts/agentos/status.js";
import { ForkpointError } from "../bridge/errors.js";
import { SessionStore } from "../contracts/helix/store.js";
import { status as langgraphStatus } from "../contracts/langgraph/status.js";
import { formatOf } from "../bridge/serializer.js";
import { Checkpointer } from "../contracts/tinyagents/checkpointer.js";
import { activationsOf, isWaiting, joinWrites } from "../contracts/tinyagents/graph/tasks.js";
import { readNamespace } from "../contracts/tinyagents/values.js";
import { type Context, SESSIONS } from "./context.js";
import { keyOf, readStatus, saverOf } from "./status.js";
import { readValue } from "./values.js";
import { type Row, inspect, openCheckpoint } from "./wire.js";
import type { Status } from "./views.js";

/** A question to a human. */
export interface Ask {
  /** AgentOS' node, the id of LangGraph's interrupt, or the task of TinyAgents. */
  id: string;
  /** What is asked. Undefined: nothing, or a value that JSON cannot hold. */
  question: unknown;
}

/** Where a run stands. */
export interface Position {
  status: Status;
  /** The questions without an answer. */
  asks: Ask[];
  /** The nodes that have failed. */
  failed: string[];
  /** The number of messages of a Helix session. 0 elsewhere. */
  messages: number;
}

/** Reads where a run stood at a checkpoint. `isNewest`: it is where the run stands now. */
export async function readPosition(context: Context, row: Row, isNewest: boolean): Promise<Position> {
  const { status } = await readStatus(context, row);
  const found = { status, asks: [], failed: [], messages: 0 };
  try {
    if (row.space === "agentos") return (await ofAgentos(context, row)) ?? found;
    if (row.space === "tinyagents") return (await ofTinyAgents(context, row, isNewest)) ?? found;
    if (isHelix(row) && status === "waiting")
      return { ...found, messages: await new SessionStore(context.store).getMessageCount(row.run) };
    // LangGraph's questions get new ids when a branch begins at their checkpoint.
    if (row.space === "langgraph" && isNewest) return (await ofLanggraph(context, row)) ?? found;
  } catch (error) {
    // A value that cannot be read here says nothing about the run. Anything else is an error of the store.
    if (error instanceof ForkpointError && !["CORRUPT", "UNSUPPORTED"].includes(error.code)) throw error;
    return { ...found, status: "unknown" };
  }
  return found;
}

function isHelix({ space }: Row): boolean {
  return space === "helix" || space === SESSIONS;
}

async function ofAgentos(context: Context, row: Row): Promise<Position | undefined> {
  const found = await inspect.find(context.engine.native, "read", keyOf(row), openCheckpoint);
  const rest = found?.parts.find(({ name }) => name === "rest");
  const { value, readable } = rest === undefined ? { value: null, readable: false } : readValue(context, rest);
  if (!readable) return undefined;
  const checkpoint = { ...(value as object), nodeId: row.label };
  const status = agentosStatus(checkpoint);
  if (status === undefined) return undefined;
  const progress = checkpoint as unknown as Progress & { nodeResults: Record<string, { output?: unknown }> };
  const [asks, failed]: [Ask[], string[]] = [[], []];
  for (const node of openNodes(progress)) {
    const output = progress.nodeResults[node]!.output as { prompt?: unknown } | null | undefined;
    if (isHuman(progress, node)) asks.push({ id: node, question: output?.prompt });
    else failed.push(node);
  }
  return { status, asks, failed, messages: 0 };
}

/** A thread of LangGraph is resumed from its root, also where a subgraph asks. */
async function ofLanggraph(context: Context, { run }: Row): Promise<Position | undefined> {
  const found = await langgraphStatus(saverOf(context), run);
  if (found === null) return undefined;
  const { status, interrupts, next } = found;
  // Versions before 1.0 gave a question no id. No answer could name it.
  const asks = interrupts.flatMap(({ id, value }) => (typeof id === "string" ? [{ id, question: value }] : []));
  return { status, asks, failed: status === "failed" ? next : [], messages: 0 };
}

/**
 * At an older checkpoint of TinyAgents, a question that was answered counts as open: the recorded answer was given to
 * another run.
 */
async function ofTinyAgents({ store }: Context, row: Row, isNewest: boolean): Promise<Position | undefined> {
  const config = { threadId: row.run, checkpointId: row.id.split("\0")[0]!, namespace: readNamespace(row.ns ?? "") };
  const tuple = await new Checkpointer<unknown>(store).getTuple(config);
  if (tuple === null) return undefined;
  const writes = joinWrites(tuple.checkpoint.pendingWrites, tuple.pendingWrites);
  const tasks = activationsOf(tuple.checkpoint, writes, formatOf("v8"));
  const asks = tasks.flatMap(({ task: id, known }) => {
    const isOpen = isNewest ? isWaiting(known) : known.question !== undefined;
    return isOpen ? [{ id, question: jsonOf(known.question!.asked.map(({ value }) => value)) }] : [];
  });
  const failed = tasks.filter(({ known }) => known.error !== undefined && !isWaiting(known)).map(({ node }) => node);
  const open = failed.length > 0 ? "failed" : tasks.length > 0 ? "unfinished" : "finished";
  return { status: asks.length > 0 ? "waiting" : open, asks, failed, messages: 0 };
}

/** Returns a value as JSON holds it. Undefined: JSON cannot hold it. */
function jsonOf(value: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(value));
  } catch {
    return undefined;
  }
}
