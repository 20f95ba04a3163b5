/** Saves, reads and lists checkpoints, and rewinds sessions to them. */

import { ForkpointError, isOvertaken, quote, show, typeError } from "../../bridge/errors.js";
import { idOrNull, requireId } from "../../store/ids.js";
import { readRecord } from "../../store/options.js";
import { detachBuffers } from "../../bridge/detach.js";
import { type Format, deserialize } from "../../bridge/serializer.js";
import type { NewPart } from "../../bridge/wire.js";
import { generateCheckpointId } from "./checkpoint-id.js";
import type { Compared } from "./comparison.js";
import { checkpointListOptions, count, finite } from "./options.js";
import { type Context, type Edit, bytesOf, change, compare, expire, listPart, newRow, notFound } from "./sessions.js";
import { type EncodedState, StoredState, encodeState, fieldsOf, partsOf, readMessages } from "./values.js";
import { type CheckpointFields, type FoundCheckpoint as Found, helix, openCheckpoint } from "./wire.js";
import type { Checkpoint, CheckpointMeta, CheckpointPage } from "./contract.js";

export interface EncodedCheckpoint extends CheckpointFields {
  messageCount: number | undefined;
  state: EncodedState;
  /** The other fields of the checkpoint. The fields above are stored empty there, to keep the order of the keys. */
  rest: NewPart;
}

const blanks = ["id", "sessionId", "stepCount", "timestamp", "state", "messageCount", "streamSequence"] as const;

/** Serializes a checkpoint. With a `sessionId`, the checkpoint must belong to this session or name no session. */
export function encodeCheckpoint(checkpoint: unknown, sessionId: unknown, format: Format): EncodedCheckpoint {
  const fields = fieldsOf(checkpoint, "checkpoint");
  const encoded = {
    id: requireId(fields["id"], "checkpoint.id"),
    sessionId: requireId(fields["sessionId"] ?? sessionId, "checkpoint.sessionId"),
    stepCount: count(fields["stepCount"], "checkpoint.stepCount"),
    timestamp: finite(fields["timestamp"], "checkpoint.timestamp"),
    streamSequence: finite(fields["streamSequence"] ?? 0, "checkpoint.streamSequence"),
    messageCount:
      fields["messageCount"] === undefined ? undefined : count(fields["messageCount"], "checkpoint.messageCount"),
    state: encodeState(fields["state"], "checkpoint.state", format),
  };
  if (sessionId !== undefined && encoded.sessionId !== sessionId) {
    const message = `checkpoint ${quote(encoded.id)} belongs to session ${quote(encoded.sessionId)}, not to ${show(sessionId)}`;
    throw new ForkpointError("INVALID_ARGUMENT", message);
  }
  for (const field of blanks) if (field in fields) fields[field] = null;
  return { ...encoded, rest: { name: "rest", ...format.serialize(fields, "checkpoint") } };
}

/** Saves a checkpoint. Messages that it shares with the session are not stored again. */
export function save(context: Context, checkpoint: EncodedCheckpoint): Promise<void> {
  const { sessionId, state } = checkpoint;
  return context.turns.alone(sessionId, async () => {
    for (;;) {
      const compared = await compare(context, sessionId, state.messages);
      // A late save must not adopt the incarnation of a restarted session.
      if (compared !== null) context.seen.note(sessionId, context.seen.incarnation(sessionId) ?? compared.incarnation);
      try {
        const savedAt = await put(context, checkpoint, compared);
        context.comparison.remember(sessionId, state.messages, compared, { id: checkpoint.id, savedAt });
        detachBuffers(checkpoint.rest, ...state.parts, ...(state.messages ? [{ ...state.messages, tag: "" }] : []));
        return;
      } catch (error) {
        if (!isOvertaken(error)) throw error;
        // If the session's messages were cut or rewound since the comparison, compare again.
        const now = await compare(context, sessionId, null);
        if (now?.version === compared?.version) throw error;
      }
    }
  });
}

/** Saves a checkpoint, and returns its time in the store. */
async function put(
  { engine: { native }, clock, seen }: Context,
  checkpoint: EncodedCheckpoint,
  compared: Compared | null,
): Promise<number> {
  const { id, sessionId, stepCount, timestamp, streamSequence, messageCount, state, rest } = checkpoint;
  const { shared, messages, counted } = namedMessages(checkpoint, compared);
  const parts = [...partsOf(state, shared), rest];
  const fields = {
    id,
    sessionId,
    known: seen.has(sessionId),
    incarnation: seen.incarnation(sessionId),
    timestamp,
    stepCount,
    streamSequence,
    // Without a session, the state's messages are the only ones.
    messageCount: messageCount ?? (compared === null ? state.messages?.tags.length : undefined),
    status: state.status,
    lastRole: state.lastRole,
    sharesMessages: shared || state.messages === null,
    messages,
    version: counted ? compared?.version : undefined,
    touches: compared !== null,
    parts: parts.map(({ name, tag }) => ({ name, tag })),
    savedAt: clock.now(),
  };
  await helix.call(native, "save", fields, parts.map(bytesOf));
  return fields.savedAt;
}

/**
 * Decides which messages of the session a checkpoint has. `messages` is their number, or undefined for all. `shared` is
 * true if they equal the state's messages. `counted` is true if the decision only holds for the session's current
 * version.
 */
function namedMessages(
  { messageCount, state: { messages: given } }: EncodedCheckpoint,
  compared: Compared | null,
): { messages: number | undefined; shared: boolean; counted: boolean } {
  if (compared === null) return { messages: 0, shared: false, counted: false };
  const { total, same } = compared;
  if (same && given !== null && given.tags.length === (messageCount ?? total)) {
    return { messages: given.tags.length, shared: true, counted: true };
  }
  if (messageCount === undefined) return { messages: undefined, shared: false, counted: false };
  return { messages: Math.min(messageCount, total), shared: false, counted: true };
}

/** Finds a checkpoint. With a `sessionId`, a checkpoint of another session is not found. */
export async function find(
  { engine: { native }, clock }: Context,
  checkpointId: unknown,
  sessionId?: unknown,
): Promise<Found | null> {
  const id = idOrNull(checkpointId, "checkpointId");
  const session = sessionId === undefined ? undefined : idOrNull(sessionId, "sessionId");
  if (id === null || session === null) return null;
  const found = await helix.find(native, "load", { checkpointId: id }, openCheckpoint);
  if (found === null || found.savedAt < clock.aliveSince()) return null;
  return session === undefined || found.sessionId === session ? found : null;
}

/** Finds the last saved checkpoint of a session. */
export async function findLatest(context: Context, sessionId: string): Promise<Found | null> {
  const { engine, clock } = context;
  const aliveSince = clock.aliveSince();
  const newest = await helix.find(engine.native, "latest", { sessionId }, openCheckpoint);
  if (newest === null || newest.savedAt >= aliveSince) return newest;
  // An older checkpoint may have been saved later, so it may not have expired.
  const { items } = await page(context, sessionId, { limit: 1 });
  return items[0] === undefined ? null : find(context, items[0].id, sessionId);
}

export async function restore({ engine: { format } }: Context, found: Found): Promise<Checkpoint<any>> {
  const { id, sessionId, stepCount, timestamp, streamSequence, messageCount } = found;
  const what = `checkpoint ${quote(id)}`;
  const stored = new StoredState(found.parts, what);
  const shared = await readMessages(format, found.messages ?? [], what);
  const state = await stored.restore(format, shared);
  // The first checkpoint of a branched session has the state of the source session.
  if (found.copied && typeof state["sessionId"] === "string") state["sessionId"] = sessionId;
  // A state without messages gets the messages of its session.
  if (!stored.hasMessages) state["messages"] ??= shared;
  const rest = found.parts.find(({ name }) => name === "rest");
  if (rest === undefined) throw new ForkpointError("CORRUPT", `${what} has no part "rest": restore a backup`);
  const fields = deserialize(format, rest.tag, rest.bytes, what);
  const known = { id, sessionId, stepCount, timestamp, state, messageCount, streamSequence };
  return Object.assign(fields, known) as Checkpoint<any>;
}

export async function list(context: Context, sessionId: unknown, options: unknown): Promise<CheckpointPage> {
  const { offset, limit, cursor: given } = readRecord(options, "options", checkpointListOptions);
  const cursor = given === undefined ? undefined : readCursor(given);
  if (cursor !== undefined && offset !== undefined) {
    throw typeError('options "cursor" and "offset" both say where the page begins: pass one of them');
  }
  const session = idOrNull(sessionId, "sessionId");
  if (session === null) return { items: [], total: 0, hasMore: false };
  return context.turns.shared(session, () =>
    page(context, session, { offset, limit, cursorId: cursor?.id, cursorTimestamp: cursor?.timestamp }),
  );
}

/** The range of a listing. A cursor is the checkpoint before the page. */
interface Range {
  offset?: number | undefined;
  limit?: number | undefined;
  cursorId?: string | undefined;
  cursorTimestamp?: number | undefined;
}

async function page({ engine: { native }, clock }: Context, sessionId: string, range: Range): Promise<CheckpointPage> {
  const { offset = 0, limit, cursorId, cursorTimestamp } = range;
  const aliveSince = clock.ttlMs === null ? undefined : clock.aliveSince();
  const fields = { sessionId, aliveSince, offset, limit, cursorId, cursorTimestamp };
  const { total, rest, items } = await helix.call(native, "list", fields);
  const metas = items.map(({ id, stepCount, timestamp, status }): CheckpointMeta => {
    return { id, sessionId, stepCount, timestamp, status: status ?? undefined } as CheckpointMeta;
  });
  const last = items.at(-1);
  return {
    items: metas,
    total,
    hasMore: rest > 0,
    ...(rest > 0 && last !== undefined && { cursor: `${last.place ?? last.timestamp}:${last.id}` }),
  };
}

function readCursor(cursor: string): { id: string; timestamp: number } {
  const [, timestamp, id] = /^(-?\d[\d.e+-]*):([^]*)$/.exec(cursor) ?? [];
  const at = Number(timestamp);
  if (id === undefined || !Number.isFinite(at) || !id.isWellFormed()) {
    throw typeError('option "cursor" must be the cursor of an earlier page');
  }
  return { id, timestamp: at };
}

function checkpointNotFound(checkpointId: unknown, sessionId: unknown): ForkpointError {
  const of = typeof sessionId === "string" ? ` of session ${quote(sessionId)}` : "";
  const message = `checkpoint ${quote(String(checkpointId))}${of} not found: list the session's checkpoints`;
  return new ForkpointError("NOT_FOUND", message);
}

export async function rewind(context: Context, checkpointId: unknown, sessionId: unknown): Promise<Checkpoint<any>> {
  const first = await find(context, checkpointId, sessionId);
  if (first === null) throw checkpointNotFound(checkpointId, sessionId);
  return change(context, first.sessionId, async (session) => {
    const found = await find(context, first.id, first.sessionId);
    if (found === null) throw checkpointNotFound(checkpointId, sessionId);
    const checkpoint = await restore(context, found);
    return {
      edit: {
        ...editTo(context, found, checkpoint, found.sessionId, session?.row.agentType),
        messages: { checkpoint: found.id },
      },
      result: checkpoint,
    };
  });
}

/** Makes the edit that rewinds a session to a checkpoint's state. Drops changes that were staged later. */
function editTo(
  { engine }: Context,
  found: Found,
  { state }: Checkpoint<any>,
  sessionId: string,
  agentType = "",
): Edit {
  const stored = new StoredState(found.parts, `checkpoint ${quote(found.id)}`);
  const isOwn = sessionId === found.sessionId && !found.copied;
  const parts = isOwn ? stored.parts : stored.partsFor(sessionId, engine.format);
  return {
    row: {
      agentType: typeof state.agentType === "string" ? state.agentType : agentType,
      status: typeof state.status === "string" ? state.status : "active",
      stepCount: typeof state.stepCount === "number" ? state.stepCount : found.stepCount,
    },
    parts: [...parts, listPart("staging", [], engine)],
  };
}

export async function branch(context: Context, checkpointId: unknown, newSessionId: string): Promise<Checkpoint<any>> {
  const { engine, clock, turns } = context;
  const source = await find(context, checkpointId);
  if (source === null) throw checkpointNotFound(checkpointId, undefined);
  return turns.alone(newSessionId, async () => {
    const [now, aliveSince] = [clock.now(), clock.aliveSince()];
    await expire(context, newSessionId, aliveSince);
    const { row, parts = [] } = editTo(context, source, await restore(context, source), newSessionId);
    const copyId = generateCheckpointId(newSessionId, source.stepCount, now);
    const fields = {
      session: { ...newRow(newSessionId, now), ...row },
      aliveSince,
      parts: parts.map(({ name, tag }) => ({ name, tag })),
      checkpointId: source.id,
      copyId,
      timestamp: now,
    };
    await helix.call(engine.native, "branch", fields, parts.map(bytesOf));
    const copy = await find(context, copyId, newSessionId);
    if (copy === null) throw notFound(newSessionId);
    return restore(context, copy);
  });
}
