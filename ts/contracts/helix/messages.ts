/** The messages of a session. */

import { isArray, quote, readingArgument, show, typeError } from "../../bridge/errors.js";
import { readRecord } from "../../store/options.js";
import { count as wholeCount, messageOptions } from "./options.js";
import { type Context, type Edit, type Session, find, update } from "./sessions.js";
import { packMessages, readMessages } from "./values.js";
import { helix } from "./wire.js";
import type { Message, MessagesPage } from "./contract.js";

export async function append(
  { engine, clock, turns, seen }: Context,
  sessionId: string,
  messages: unknown,
): Promise<void> {
  if (!isArray(messages)) throw typeError(`messages must be an array, but is ${show(messages)}`);
  const given = readingArgument("messages", () => [...messages]);
  const list = given.findIndex(isArray);
  if (list !== -1) throw typeError(`messages[${list}] must be an object, but is an array`);
  const { bytes, ...packed } = packMessages(given, "messages", engine.format);
  await turns.shared(sessionId, () => {
    const [aliveSince, savedAt, incarnation] = [clock.aliveSince(), clock.now(), seen.incarnation(sessionId)];
    const fields = { sessionId, messages: packed, aliveSince, savedAt, incarnation };
    return helix.call(engine.native, "append", fields, [bytes]);
  });
}

type Range = ReturnType<typeof rangeOf>;

export const rangeOf = (options: unknown) => readRecord(options, "options", messageOptions);

export async function page(context: Context, sessionId: string, read: Range): Promise<MessagesPage | null> {
  const { offset = 0, limit = Number.MAX_SAFE_INTEGER, includeThinking = true } = read;
  const found = await readLog(context, sessionId, offset, limit);
  if (found === null) return null;
  const messages = found.messages as Message[];
  if (!includeThinking) for (const message of messages) delete message["thinking"];
  return { messages, total: found.total, hasMore: offset + messages.length < found.total };
}

export function truncate(context: Context, sessionId: string, count: unknown): Promise<void> {
  const to = wholeCount(count, "count");
  return update(context, sessionId, async (session) => ({ edit: await cut(context, session, to), result: undefined }));
}

/** Makes the edit that cuts a session's messages. A document that shares more of them gets its own copy. */
async function cut({ engine }: Context, { row, state }: Session, length: number): Promise<Edit> {
  const { shared } = state;
  if (shared === null || shared <= length) return { messages: { length } };
  const fields = { sessionId: row.id, offset: 0, limit: shared };
  const messages = await helix.find(engine.native, "messages", fields, (page, part) => page.messages.map(part));
  return { messages: { length }, parts: state.withMessages(messages ?? []) };
}

/** Reads messages of a session. Returns null if there is no such session. */
export async function readLog(
  { engine, clock }: Context,
  sessionId: string,
  offset: number,
  limit: number,
): Promise<{ messages: object[]; total: number } | null> {
  const found = await helix.find(engine.native, "messages", { sessionId, offset, limit }, (page, part) => ({
    ...page,
    messages: page.messages.map(part),
  }));
  if (found === null || found.savedAt < clock.aliveSince()) return null;
  const messages = await readMessages(engine.format, found.messages, `a message of session ${quote(sessionId)}`);
  return { messages, total: found.total };
}

export async function loadState(context: Context, sessionId: string): Promise<Record<string, unknown> | null> {
  const { engine } = context;
  for (;;) {
    const session = await find(context, sessionId);
    if (session === null) return null;
    const { row, state } = session;
    const shared = state.shared ? await readLog(context, sessionId, 0, state.shared) : undefined;
    if (state.shared) {
      // The session and its messages were read separately. If the session changed in between, read both again.
      const now = await find(context, sessionId);
      if (now === null || now.row.version !== row.version) continue;
    }
    const restored = await state.restore(engine.format, shared?.messages ?? []);
    return Object.assign(restored, { status: row.status, stepCount: row.stepCount });
  }
}
