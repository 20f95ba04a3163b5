/** Stores a branch of a thread: a checkpoint with the values of an earlier one. The same nodes run next. */

import { ForkpointError, quote } from "../../bridge/errors.js";
import type { RunKey } from "../../bridge/native.js";
import type { Part } from "../../bridge/wire.js";
import type { Engine } from "../../store/engine.js";
import { decodeMark, encodeMark } from "../../store/mark.js";
import { channelOf } from "./values.js";
import { type Found, langgraph, openFound } from "./wire.js";
import { type Pieces, putCheckpoint } from "./writing.js";

/** The fields of a checkpoint that a branch changes. */
export interface Rest {
  id: string;
  ts: string;
  channel_versions: Record<string, number | string>;
}

/** The channels of a checkpoint, and the rest. */
export interface Content {
  parts: Part[];
  rest: Rest;
}

export async function foundAt(
  { native }: Engine,
  { run: threadId, ns: namespace }: RunKey,
  id: string,
): Promise<Found> {
  const found = await langgraph.find(native, "get", { threadId, namespace, id }, openFound);
  if (found !== null) return found;
  throw new ForkpointError("NOT_FOUND", `thread ${quote(threadId)} has no checkpoint ${quote(id)} any more`);
}

/** Splits a checkpoint into the channels and the rest. */
export function contentOf(
  all: Part[],
  id: string,
  read: (part: Part) => { value: unknown; readable: boolean },
): Content {
  const stored = all.find(({ name }) => channelOf(name) === undefined);
  const { value, readable } = stored === undefined ? { value: null, readable: false } : read(stored);
  if (!readable || typeof value !== "object" || value === null)
    throw new ForkpointError("UNSUPPORTED", `checkpoint ${quote(id)} was not written by LangGraph.js in plain JSON`);
  return { parts: all.filter((each) => each !== stored), rest: value as Rest };
}

/**
 * Stores the first checkpoint of a branch, with the id `id`. `header` and `metadata` are of the checkpoint that it
 * continues from.
 */
export async function storeBranch(
  engine: Engine,
  to: RunKey,
  id: string,
  header: Found["header"],
  { parts, rest }: Content,
  metadata: unknown,
): Promise<void> {
  const whole = { ...rest, id, ts: new Date().toISOString() };
  // The branch belongs to the same program. No node has made it, and the same nodes run next.
  const { nodes, ...source } = decodeMark(header.mark);
  const next = nodes?.next && { nodes: { ran: [], next: nodes.next } };
  const mark = encodeMark({ ...source, ...next, by: undefined, imported: undefined, branch: true });
  await put(engine, to, id, header.id, {
    parts: [{ name: "", ...json(whole) }, ...parts],
    metadata: json(branchMetadata(metadata)),
    mark,
    dependsOnParent: header.dependsOnParent,
    status: header.status,
  });
}

/** Stores a checkpoint of a thread. The pending writes of its parent stay pending. */
export async function put(
  { native }: Engine,
  { run: threadId, ns: namespace }: RunKey,
  id: string,
  parent: string | null,
  pieces: Omit<Pieces, "inherit" | "like">,
): Promise<void> {
  const whole = { ...pieces, inherit: [], like: [] };
  await putCheckpoint(native, { threadId, namespace, id }, parent ?? undefined, whole, { claims: false }, "copy");
}

/** A part as plain JSON, which LangGraph's serializer reads. */
export const json = (value: object) => ({ tag: "json", bytes: Buffer.from(JSON.stringify(value)) });

/** Returns the metadata of the branch, as `graph.updateState` would write it. */
function branchMetadata(metadata: unknown): object {
  const { step = -1, parents = {} } = (typeof metadata === "object" && metadata !== null ? metadata : {}) as {
    step?: number;
    parents?: object;
  };
  return { source: "fork", step: step + 1, parents };
}
