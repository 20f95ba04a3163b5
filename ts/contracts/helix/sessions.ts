/** Reads and changes sessions. Each change is one transaction, which expects the version that the change has read. */

import { randomInt } from "node:crypto";
import type { Engine } from "../../store/engine.js";
import { ForkpointError, isOvertaken, quote } from "../../bridge/errors.js";
import { readRecord } from "../../store/options.js";
import { deserialize } from "../../bridge/serializer.js";
import type { Bytes } from "../../bridge/bytes.js";
import type { NewPart, Part } from "../../bridge/wire.js";
import type { Compared, Comparison } from "./comparison.js";
import { PAGE, pageOf } from "../../store/page.js";
import { type Clock, sessionListOptions } from "./options.js";
import type { Turns } from "../shared/turns.js";
import { type EncodedState, StoredState, partsOf, readMessages } from "./values.js";
import { type End, type Row, helix } from "./wire.js";
import type { AgentStatus } from "./contract.js";
import type { LeaseHolder } from "../../bridge/forkpoint-error.js";

/** A session in a listing. */
export interface SessionInfo {
  sessionId: string;
  agentType: string;
  status: AgentStatus;
  stepCount: number;
  /** ms since the epoch. */
  createdAt: number;
  /** The time of the last write to the session, in ms since the epoch. */
  updatedAt: number;
  /** Who holds the session's lease. Null: nobody, or the lease has expired. */
  lease: LeaseHolder | null;
}

/** A page of sessions. */
export interface SessionsPage {
  /** The session that was created last comes first. */
  sessions: SessionInfo[];
  /** Pass this cursor to the next call. Null means that this was the last page. */
  cursor: string | null;
}

export interface Context {
  engine: Engine;
  clock: Clock;
  turns: Turns;
  comparison: Comparison;
}

/** A session that is alive, as it is stored. */
export class Session {
  readonly row: Row;
  readonly #parts: readonly Part[];

  constructor(row: Row, parts: readonly Part[]) {
    this.row = row;
    this.#parts = parts;
  }

  get state(): StoredState {
    return new StoredState(this.#parts, `session ${quote(this.row.id)}`);
  }

  list<T>(name: ListName, { format }: Engine): T[] {
    const part = this.#parts.find((one) => one.name === name);
    if (part === undefined) return [];
    return deserialize(format, part.tag, part.bytes, `session ${quote(this.row.id)}`) as T[];
  }
}

/** The lists that are stored beside a session's document. */
export type ListName = "staging" | "runs" | "subSessions";

export const bytesOf = ({ bytes }: NewPart): Bytes => bytes;

export function listPart(name: ListName, list: readonly unknown[], { format }: Engine): NewPart {
  return { name, ...format.serialize(list, name) };
}

/** Reads a session. Returns null if there is none, or if it has expired. */
export async function find({ engine, clock }: Context, sessionId: string): Promise<Session | null> {
  const found = await stored(engine, sessionId);
  return found !== null && found.row.savedAt >= clock.aliveSince() ? found : null;
}

function stored({ native }: Engine, sessionId: string): Promise<Session | null> {
  return helix.find(native, "session", { sessionId }, ({ parts, ...row }, part) => new Session(row, parts.map(part)));
}

/** A change of a session. Fields and parts that are left out stay as they are. */
export interface Edit {
  row?: Partial<Pick<Row, "agentType" | "status" | "stepCount">>;
  parts?: NewPart[];
  messages?: End;
}

/** What a change decides: the edit, or null to change nothing, and the result of the call. */
export interface Decision<T> {
  edit: Edit | null;
  result: T;
}

/**
 * Changes a session, or creates it. `decide` gets the session, or null if there is none. If another writer changes the
 * session first, nothing is stored, and `decide` is called again with the new session.
 */
export function change<T>(
  context: Context,
  sessionId: string,
  decide: (session: Session | null) => Decision<T> | Promise<Decision<T>>,
): Promise<T> {
  return context.turns.alone(sessionId, async () => {
    for (;;) {
      const found = await stored(context.engine, sessionId);
      const aliveSince = context.clock.aliveSince();
      const session = found !== null && found.row.savedAt >= aliveSince ? found : null;
      // Remove an expired session first, so that nothing of it is left in the new one.
      if (found !== null && session === null) await expire(context, sessionId, aliveSince);
      const { edit, result } = await decide(session);
      if (edit === null) return result;
      try {
        await store(context, sessionId, session, edit, aliveSince);
        return result;
      } catch (error) {
        if (!isOvertaken(error)) throw error;
        const now = await stored(context.engine, sessionId);
        if (now?.row.version === session?.row.version) throw error;
      }
    }
  });
}

async function store(
  { engine: { native }, clock }: Context,
  sessionId: string,
  session: Session | null,
  { row = {}, parts = [], messages }: Edit,
  aliveSince: number,
): Promise<void> {
  const savedAt = clock.now();
  const before = session?.row ?? newRow(sessionId, savedAt);
  const fields = {
    session: { ...before, ...row, id: sessionId, version: before.version + 1, savedAt },
    begins: session === null ? aliveSince : undefined,
    parts: parts.map(({ name, tag }) => ({ name, tag })),
    messages,
  };
  await helix.call(native, "change", fields, parts.map(bytesOf));
}

/**
 * The row of a session before its first change. Its version is random, so that a session that was deleted and created
 * again never has a version that another process has read before.
 */
export function newRow(id: string, now: number): Row {
  return {
    id,
    version: randomInt(2 ** 47),
    savedAt: now,
    agentType: "",
    status: "active",
    stepCount: 0,
    createdAt: now,
  };
}

/** Changes a session that must be there. `decide` returns the edit, or null to change nothing. */
export function update<T>(
  context: Context,
  sessionId: string,
  decide: (session: Session) => Decision<T> | Promise<Decision<T>>,
): Promise<T> {
  return change(context, sessionId, (session) => {
    if (session === null) throw notFound(sessionId);
    return decide(session);
  });
}

export function notFound(sessionId: string): ForkpointError {
  const message = `session ${quote(sessionId)} not found: create it first, or check whether it has expired`;
  return new ForkpointError("NOT_FOUND", message);
}

/** Removes a session that has expired. Does nothing if it is alive. */
export async function expire({ engine: { native } }: Context, sessionId: string, aliveSince: number): Promise<boolean> {
  try {
    await helix.call(native, "expire", { sessionId, aliveSince });
    return true;
  } catch (error) {
    if (!isOvertaken(error)) throw error;
    return false;
  }
}

/** Compares messages with those of a session. Returns null if there is no such session, or if it has expired. */
export async function compare(
  { engine: { native }, clock, comparison }: Context,
  sessionId: string,
  messages: EncodedState["messages"],
): Promise<Compared | null> {
  const found = await comparison.compare(native, sessionId, messages);
  return found !== null && found.savedAt >= clock.aliveSince() ? found : null;
}

export async function replaceState(context: Context, sessionId: string, encoded: EncodedState): Promise<Edit> {
  const compared = encoded.messages && (await compare(context, sessionId, encoded.messages));
  return {
    row: {
      ...(encoded.agentType !== undefined && { agentType: encoded.agentType }),
      status: encoded.status ?? "active",
      stepCount: encoded.stepCount ?? 0,
    },
    parts: partsOf(encoded, compared?.same === true),
  };
}

/** Makes the edit that keeps the first messages of a session. A document that shares more of them gets its own copy. */
export async function truncate({ engine }: Context, { row, state }: Session, length: number): Promise<Edit> {
  const { shared } = state;
  if (shared === null || shared <= length) return { messages: { length } };
  const fields = { sessionId: row.id, offset: 0, limit: shared };
  const messages = await helix.find(engine.native, "messages", fields, (page, part) => page.messages.map(part));
  return { messages: { length }, parts: state.withMessages(messages ?? []) };
}

export async function loadState(context: Context, sessionId: string): Promise<Record<string, unknown> | null> {
  const { engine } = context;
  for (;;) {
    const session = await find(context, sessionId);
    if (session === null) return null;
    const { row, state } = session;
    const shared = state.shared ? await readLog(context, sessionId, 0, state.shared) : undefined;
    if (state.shared) {
      // The session and its messages were read one after the other. Read both again if a change came between them.
      const now = await find(context, sessionId);
      if (now === null || now.row.version !== row.version) continue;
    }
    const restored = await state.restore(engine.format, shared?.messages ?? []);
    return Object.assign(restored, { status: row.status, stepCount: row.stepCount });
  }
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

export const BATCH = 500;

export async function listSessions({ engine: { native }, clock }: Context, options: unknown): Promise<SessionsPage> {
  const { status: statuses, agentType: agentTypes, ...range } = readRecord(options, "options", sessionListOptions);
  const { limit = PAGE } = range;
  const aliveSince = clock.aliveSince();
  const { page, cursor } = await pageOf(native, range, {
    space: helix.name,
    fetch: (before, most) => helix.call(native, "sessions", { before, limit: most }),
    picks: ({ savedAt, status, agentType }) =>
      savedAt >= aliveSince && (statuses?.includes(status) ?? true) && (agentTypes?.includes(agentType) ?? true),
    batch: Math.max(limit + 1, statuses || agentTypes ? BATCH : 0),
    runOf: ({ id }) => id,
    show: ({ id, agentType, status, stepCount, createdAt, savedAt }, lease): SessionInfo => {
      return { sessionId: id, agentType, status, stepCount, createdAt, updatedAt: savedAt, lease };
    },
  });
  return { sessions: page, cursor };
}
