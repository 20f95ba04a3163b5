/** Reads a checkpoint with its values. */

import { joinRecords } from "../contracts/ai/messages.js";
import { channelOf } from "../contracts/langgraph/values.js";
import { type Layout, unpackMessages } from "../contracts/helix/values.js";
import { detachBuffers } from "../bridge/detach.js";
import type { Part } from "../bridge/wire.js";
import type { Context } from "./context.js";
import { shownForm } from "../bridge/json-form/to-json-form.js";
import { keyOf, langgraphNextOf, tinyAgentsNextOf } from "./status.js";
import { type Read, readValue } from "./values.js";
import { type FoundCheckpoint, type FoundWrite, type Row, inspect, openCheckpoint } from "./wire.js";
import type { CheckpointDetail, CheckpointInfo, PartInfo, WriteInfo } from "./views.js";

/** The values of a checkpoint, before they are in the JSON form. */
export interface Values {
  state: unknown;
  rest: unknown;
  parts: PartInfo[];
}

/** Reads a checkpoint. Null: it does not exist any more. */
export async function readDetail(
  context: Context,
  row: Row,
  checkpoint: CheckpointInfo,
): Promise<CheckpointDetail | null> {
  const found = await readFound(context, row);
  if (found === null) return null;
  const { state, rest, parts } = readValues(context, row, found);
  const detail = {
    checkpoint,
    state: shownForm(state),
    rest: rest === null ? null : shownForm(rest),
    writes: await readWrites(context, row, found),
    next: await nextOf(context, row),
    parts,
  };
  // The forms share no memory with the response's buffers.
  detachBuffers(...found.parts, ...found.writes.map(({ part }) => part), ...(found.records ?? []));
  return detail;
}

export function readFound({ engine }: Context, row: Row): Promise<FoundCheckpoint | null> {
  return inspect.find(engine.native, "read", keyOf(row), openCheckpoint);
}

function nextOf(context: Context, row: Row): Promise<string[] | null> | string[] | null {
  if (row.space === "langgraph") return langgraphNextOf(context, row);
  return row.space === "tinyagents" ? tinyAgentsNextOf(context, row) : null;
}

/** Reads parts, and collects the name, size and serializer of each. */
class Parts {
  readonly infos: PartInfo[] = [];
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  read(part: Part, name = part.name): Read {
    const read = readValue(this.#context, part);
    this.infos.push({ name, tag: part.tag, bytes: part.bytes.byteLength, readable: read.readable });
    return read;
  }
}

export function readValues(context: Context, row: Row, found: FoundCheckpoint): Values {
  const parts = new Parts(context);
  const [state, rest] = readers[row.space as keyof typeof readers]?.(parts, row, found) ?? unnamed(parts, row, found);
  return { state, rest, parts: parts.infos };
}

type Reader = (parts: Parts, row: Row, found: FoundCheckpoint) => [state: unknown, rest: unknown];

/** The contract's name for the fields that are stored beside the values. */
const readers = {
  agentos: (parts, _, found) => withState(parts, found, ["id", "runId", "graphId", "nodeId", "timestamp", "state"]),
  agentium: (parts, _, found) =>
    withState(parts, found, ["id", "runId", "stepIndex", "stepName", "createdAt", "state"]),
  storage: (parts, _, found) => [stored(parts, found), null],
  langgraph,
  "langgraph-store": (parts, { meta }, { parts: [part] }) => [part ? parts.read(part).value : meta, null],
  "langgraph-cache": (parts, _, { parts: [part] }) => [part && parts.read(part).value, null],
  tinyagents,
  helix,
  "helix-sessions": session,
  ai: (parts, _, { records }) => [
    { messages: joinRecords((records ?? []).map((part) => parts.read(part).value)).messages },
    null,
  ],
  "ai-streams": (parts, _, { records }) => [
    { text: (records ?? []).map((part) => parts.read(part).value).join("") },
    null,
  ],
  "claude-agent-sdk": (parts, _, { records }) => [
    { entries: (records ?? []).map((part) => parts.read(part).value) },
    null,
  ],
  mastra(parts, _, { parts: [part] }) {
    // The results of the steps are the state.
    const { context, ...rest } = (part === undefined ? {} : parts.read(part).value) as { context?: unknown };
    return [context, rest];
  },
  "mastra-threads": (parts, _, { parts: [part] }) => [part && parts.read(part).value, null],
  "openai-agents": (parts, _, { records }) => [{ items: (records ?? []).map((part) => parts.read(part).value) }, null],
  "openai-agents-states": (parts, _, { parts: [part] }) => [part && parts.read(part).value, null],
} satisfies Record<string, Reader>;

/** Every part is its own value. */
const unnamed: Reader = (parts, _, found) => [
  Object.fromEntries(found.parts.map((part) => [part.name, parts.read(part).value])),
  null,
];

/** A driver stores a value in an object, because a value may be anything. */
function stored(parts: Parts, { parts: [part] }: FoundCheckpoint): unknown {
  if (part === undefined) return undefined;
  const { value, readable } = parts.read(part);
  return readable && typeof value === "object" && value !== null && "value" in value ? value.value : value;
}

/**
 * The parts `state` and `rest`. `blanks` are the fields that the part `rest` stores empty, because another place stores
 * their values.
 */
function withState(
  parts: Parts,
  { parts: [state, rest] }: FoundCheckpoint,
  blanks: readonly string[],
): [unknown, unknown] {
  const value = state && parts.read(state).value;
  return [value, rest ? withoutBlanks(parts.read(rest), blanks) : null];
}

function withoutBlanks({ value, readable }: Read, blanks: readonly string[]): unknown {
  if (!readable || typeof value !== "object" || value === null) return value;
  const fields = value as Record<string, unknown>;
  for (const blank of blanks) if (fields[blank] === null) delete fields[blank];
  return fields;
}

/** Each channel is a part. One more part holds the rest of the checkpoint, without its id. */
function langgraph(parts: Parts, row: Row, found: FoundCheckpoint): [unknown, unknown] {
  const state: Array<[string, unknown]> = [];
  let rest: unknown = null;
  for (const part of found.parts) {
    const channel = channelOf(part.name);
    const { value } = parts.read(part, channel ?? "checkpoint");
    if (channel === undefined) rest = withId(value, row.id);
    else state.push([channel, value]);
  }
  return [Object.fromEntries(state), rest];
}

function withId(rest: unknown, id: string): unknown {
  return typeof rest === "object" && rest !== null && "id" in rest ? Object.assign(rest, { id }) : rest;
}

/** The state is stored in a list, because a state may be any value. */
function tinyagents(parts: Parts, _: Row, found: FoundCheckpoint): [unknown, unknown] {
  const blanks = [
    "threadId",
    "checkpointId",
    "parentCheckpointId",
    "namespace",
    "state",
    "runId",
    "nextNodes",
    "metadata",
  ];
  const [state, rest] = withState(parts, found, blanks);
  return [Array.isArray(state) ? state[0] : state, rest];
}

/** A checkpoint of a session. The messages that it shares with the session are records of the session's log. */
function helix(parts: Parts, _: Row, found: FoundCheckpoint): [unknown, unknown] {
  const rest = found.parts.find(({ name }) => name === "rest");
  const state = helixState(parts, found.parts, found.records ?? []);
  const blanks = ["id", "sessionId", "stepCount", "timestamp", "state", "messageCount", "streamSequence"];
  return [state, rest ? withoutBlanks(parts.read(rest), blanks) : null];
}

/**
 * The current state of a session, as `loadState` returns it. The engine stores each of its parts as a write, so that a
 * single part can be replaced. The status and the number of steps come from the row, because they can change while the
 * stored document stays the same.
 */
function session(parts: Parts, row: Row, found: FoundCheckpoint): [unknown, unknown] {
  const all = found.writes.map(({ part }) => part);
  const lists = all.filter(({ name }) => ["staging", "runs", "subSessions"].includes(name));
  const rest = Object.fromEntries(lists.map((part) => [part.name, parts.read(part).value]));
  // The metadata of a damaged row cannot be read.
  const now = row.meta === null ? {} : { status: row.label, stepCount: row.meta["stepCount"] };
  return [helixState(parts, all, found.records ?? [], now), lists.length === 0 ? null : rest];
}

/** `now` has the current values of fields that may have changed since the document was stored. */
function helixState(parts: Parts, all: readonly Part[], records: readonly Part[], now: object = {}): unknown {
  const named = (name: string) => all.find((part) => part.name === name);
  const [state, custom, layout, own] = ["state", "customState", "layout", "messages"].map(named);
  const place = layout === undefined ? undefined : (parts.read(layout).value as Layout);
  const shared = records.map((record) => parts.read(record, "message").value);
  const read = state === undefined ? { value: {}, readable: true } : parts.read(state);
  if (!read.readable) return read.value;
  const fields = Object.assign(read.value as Record<string, unknown>, now);
  if (custom !== undefined) fields["customState"] = parts.read(custom).value;
  const messages = place?.messages ?? null;
  if (messages === null || "shared" in messages)
    fields["messages"] = shared.slice(0, messages?.shared ?? shared.length);
  else if (own !== undefined)
    fields["messages"] = unpackMessages({ ...messages, bytes: own.bytes }).map(
      (message) => parts.read({ name: "message", ...message }).value,
    );
  return fields;
}

export async function readWrites(context: Context, row: Row, found: FoundCheckpoint): Promise<WriteInfo[]> {
  if (row.space === "langgraph") return found.writes.map((write) => shownWrite(context, write, write.part.name));
  if (row.space !== "tinyagents") return [];
  // If an id was put several times, only its first checkpoint has the writes.
  const id = row.id.split("\0")[0]!;
  const first = id === row.id ? found : await readFound(context, { ...row, id });
  return (first?.writes ?? []).map((write) => shownWrite(context, write, tinyAgentsChannel(write.part.name), 0));
}

/** `item` is the index of the value in the stored list. Undefined: the value is not stored in a list. */
function shownWrite(context: Context, write: FoundWrite, channel: string, item?: number): WriteInfo {
  const { value, readable } = readValue(context, write.part);
  const shown = readable && item !== undefined && Array.isArray(value) ? value[item] : value;
  const { task, index, claimedBy, part } = write;
  return { task, index, channel, value: shownForm(shown), owner: claimedBy, tag: part.tag };
}

/** The name of a write is its node and its channel, as JSON. */
function tinyAgentsChannel(name: string): string {
  try {
    const [, channel] = JSON.parse(name) as unknown[];
    if (typeof channel === "string") return channel;
  } catch {
    // Another program stored the write, under a name of another form.
  }
  return name;
}
