/** Reads and changes sessions. Each change is one transaction that expects the version it has read. */

import { crypto } from "../../bridge/crypto.js";
import type { Engine } from "../../store/engine.js";
import { ForkpointError, isOvertaken, quote } from "../../bridge/errors.js";
import { optionalId } from "../../store/ids.js";
import type { Seen } from "../../store/seen.js";
import { readRecord } from "../../store/options.js";
import { isLeased, removeIfFree } from "../../store/removing.js";
import { stats } from "../../store/retention.js";
import type { LineageStats, StoreStats } from "../../store/results.js";
import { deserialize } from "../../bridge/serializer.js";
import type { Bytes } from "../../bridge/bytes.js";
import type { Exact, NewPart, Part } from "../../bridge/wire.js";
import type { Compared, Comparison } from "./comparison.js";
import { PAGE, pageOf } from "../../store/page.js";
import { type Clock, sessionListOptions } from "./options.js";
import type { Turns } from "../shared/turns.js";
import { type EncodedState, StoredState, encodeState, fieldsOf, partsOf } from "./values.js";
import { type End, type Row, helix } from "./wire.js";
import { SESSIONS } from "./traits.js";
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
  /** The holder of the session's lease. Null: there is no lease, or it has expired. */
  lease: LeaseHolder | null;
}

/** A page of sessions. */
export interface SessionsPage {
  /** The last created session comes first. */
  sessions: SessionInfo[];
  /** Pass this cursor to the next call. Null means that this was the last page. */
  cursor: string | null;
}

/** Statistics of the sessions. */
export interface SessionStats extends Omit<StoreStats, "lineages" | "largest"> {
  sessions: number;
  /** The sessions whose checkpoints use the most storage, the largest first. */
  largest: Array<{ sessionId: string } & Omit<LineageStats, "lineage">>;
}

export interface Context {
  engine: Engine;
  /** The sessions that this store has saved or read. */
  seen: Seen;
  clock: Clock;
  turns: Turns;
  comparison: Comparison;
}

/** The stored form of a session that has not expired. */
export class Session {
  readonly row: Row;
  readonly #parts: readonly Part[];
  /** The incarnation of the session. A recreated session has another one. */
  readonly incarnation: Exact | null;

  constructor(row: Row, parts: readonly Part[], incarnation: Exact | null) {
    this.row = row;
    this.#parts = parts;
    this.incarnation = incarnation;
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
  return helix.find(
    native,
    "session",
    { sessionId },
    ({ parts, incarnation, ...row }, part) => new Session(row, parts.map(part), incarnation),
  );
}

/** A change of a session. Fields and parts that are left out stay as they are. */
export interface Edit {
  row?: Partial<Pick<Row, "agentType" | "status" | "stepCount">>;
  parts?: NewPart[];
  messages?: End;
}

/** The decision of a change: the edit, or null to change nothing, and the result of the call. */
export interface Decision<T> {
  edit: Edit | null;
  result: T;
}

/**
 * Changes or creates a session. `decide` gets the session, or null. If another writer changes the session first,
 * nothing is stored, and `decide` is called again with the new session.
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
      // First remove an expired session, so that the new one inherits nothing.
      if (found !== null && session === null) {
        await expire(context, sessionId, aliveSince);
        context.seen.forget(sessionId);
      }
      if (session !== null && isAnother(context, sessionId, session)) throw deleted(sessionId);
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

/** True if the session was deleted and recreated after this store had seen it. */
function isAnother({ seen }: Context, sessionId: string, { incarnation }: Session): boolean {
  const known = seen.incarnation(sessionId);
  return known !== undefined && known !== incarnation;
}

async function store(
  { engine: { native }, clock, seen }: Context,
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
  // The change expects the version of the row, which exists in only one incarnation.
  const learn = session === null ? (begun: Exact | null) => seen.note(sessionId, begun) : undefined;
  await helix.call(native, "change", fields, parts.map(bytesOf), learn);
  if (session !== null) seen.note(sessionId, session.incarnation);
}

/**
 * The row of a session before its first change. Its version is random, so that a recreated session never has a version
 * that another process has read before.
 */
export function newRow(id: string, now: number): Row {
  return {
    id,
    version: crypto().randomInt(2 ** 47),
    savedAt: now,
    agentType: "",
    status: "active",
    stepCount: 0,
    createdAt: now,
  };
}

/** Changes an existing session. `decide` returns the edit, or null to change nothing. */
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

/** Makes the error for a late write to a deleted session. */
function deleted(sessionId: string): ForkpointError {
  const message = `session ${quote(sessionId)} was deleted, so nothing was stored: createSession() begins a new one`;
  return new ForkpointError("CONFLICT", message);
}

export function notFound(sessionId: string): ForkpointError {
  const message = `session ${quote(sessionId)} not found: create it first, or check whether it has expired`;
  return new ForkpointError("NOT_FOUND", message);
}

/** Removes an expired session. Does nothing if it is alive or leased. */
export function expire({ engine: { native } }: Context, sessionId: string, aliveSince: number): Promise<boolean> {
  return removeIfFree(native, leaseOf(sessionId), (free) => helix.call(free, "expire", { sessionId, aliveSince }));
}

/** True if a process has the lease of a session. */
export const isHeld = ({ engine: { native } }: Context, sessionId: string): Promise<boolean> =>
  isLeased(native, leaseOf(sessionId));

const leaseOf = (sessionId: string) => ({ space: helix.name, run: sessionId, ns: "" });

/** Compares messages with those of a session. Returns null if there is no such session, or if it has expired. */
export async function compare(
  { engine: { native }, clock, comparison }: Context,
  sessionId: string,
  messages: EncodedState["messages"],
): Promise<Compared | null> {
  const found = await comparison.compare(native, sessionId, messages);
  return found !== null && found.savedAt >= clock.aliveSince() ? found : null;
}

async function replaceState(context: Context, sessionId: string, encoded: EncodedState): Promise<Edit> {
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

export function create(context: Context, id: string, options: unknown): Promise<void> {
  const { agentType, initialState, ...others } = fieldsOf(options === undefined ? {} : options, "options");
  const begun = { sessionId: id, agentType, status: "active", stepCount: 0 };
  // Set the fixed fields first, so that they come first in the state.
  const state = { ...begun, ...others, ...begun, customState: initialState ?? {} };
  const encoded = encodeState(state, "options", context.engine.format);
  optionalId(agentType, "options.agentType");
  return change(context, id, async (session) => {
    if (session === null) return { edit: await replaceState(context, id, encoded), result: undefined };
    throw new ForkpointError("CONFLICT", `session ${quote(id)} already exists: load it, or use another id`);
  });
}

export function saveState(context: Context, id: string, state: unknown): Promise<void> {
  const encoded = encodeState(state, "state", context.engine.format);
  return change(context, id, async (session) => {
    if (session === null && context.seen.has(id)) throw deleted(id);
    return { edit: await replaceState(context, id, encoded), result: undefined };
  });
}

/** Sets the status if `expected` contains the current one or is undefined. Returns whether the status was set. */
export function setStatus(context: Context, id: string, next: string, expected?: readonly string[]): Promise<boolean> {
  return update(context, id, ({ row }) => {
    const holds = expected?.includes(row.status) ?? true;
    return { edit: holds ? { row: { status: next } } : null, result: holds };
  });
}

export function incrementStepCount(context: Context, id: string): Promise<number> {
  return update(context, id, ({ row }) => {
    const stepCount = row.stepCount + 1;
    return { edit: { row: { stepCount } }, result: stepCount };
  });
}

export const BATCH = 500;

type Listing = ReturnType<typeof readListing>;

export const readListing = (options: unknown) => readRecord(options, "options", sessionListOptions);

export async function listSessions({ engine: { native }, clock }: Context, read: Listing): Promise<SessionsPage> {
  const { status: statuses, agentType: agentTypes, ...range } = read;
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

export async function sessionStats({ engine }: Context, options: unknown): Promise<SessionStats> {
  const { lineages: _, largest, ...rest } = await stats(engine, helix.name, options);
  const { checkpoints: rows } = await stats(engine, SESSIONS, undefined);
  const named = ({ lineage: sessionId, ...line }: (typeof largest)[number]) => ({ sessionId, ...line });
  return { ...rest, sessions: rows, largest: largest.map(named) };
}
