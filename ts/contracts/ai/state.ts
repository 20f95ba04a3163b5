/** Reads and changes chats. Each change is one transaction that expects the row it was made from. */

import { crypto } from "../../bridge/crypto.js";
import { ForkpointError, isArray, isForkpointError, isOvertaken, quote } from "../../bridge/errors.js";
import type { Stored } from "../../bridge/serializer.js";
import type { Exact, Part } from "../../bridge/wire.js";
import type { Engine } from "../../store/engine.js";
import type { Seen } from "../../store/seen.js";
import { Turns } from "../shared/turns.js";
import { readRecords } from "../shared/records.js";
import { newVersion } from "../shared/version.js";
import { finishedAnswer } from "./finished.js";
import { KeptVersion, type Snapshot, type Version, joinRecords } from "./messages.js";
import { NO_METADATA, type StoredMetadata, readMetadata } from "./metadata.js";
import { wasStopped } from "./maker.js";
import { type BegunAnswer, type FoundRow, type Head, type NewRow, type Revision, chatCalls } from "./wire.js";

/** The number of chats that stay in memory. */
const KEPT = 1_000;

/** The row of a chat. */
export interface Row extends Head {
  chat: string;
  revision: Revision;
  /** The incarnation of the chat. A recreated chat has another one. Undefined: unknown. */
  incarnation?: Exact | undefined;
  metadata: StoredMetadata;
}

/** A chat, as this store knows it. Without a row: there is no such chat. */
export interface Known {
  row: Row | undefined;
  version: Version;
}

/** The changes of a save. Undefined fields stay as they are. */
export interface Change {
  snapshot?: Snapshot | undefined;
  stream?: string | null | undefined;
  /** An ended stream. If it is the active one, the chat then has none. */
  endedStream?: string | undefined;
  metadata?: StoredMetadata | undefined;
  expected?: number | undefined;
  /** True if `endedStream` was interrupted, and is saved now. */
  settles?: boolean;
}

const EMPTY: Version = { number: null, messages: [], ends: [], size: 0 };

/** The shared state of a store's calls. */
export class Chats {
  readonly turns = new Turns();
  readonly #keepVersions: number | undefined;
  /** A change expects the row that it has seen, so an outdated row does no harm. */
  readonly #kept = new Map<string, { row: Row; kept: KeptVersion }>();
  /** The chats of the last streams. */
  readonly #named = new Map<string, string>();
  /** The chats that this store has saved or changed. A late save must not recreate a deleted chat. */
  readonly #seen: Seen;

  constructor(keepVersions: number | undefined, seen: Seen) {
    this.#keepVersions = keepVersions;
    this.#seen = seen;
  }

  /** Returns messages with which the chat probably begins. */
  known(chat: string): Version["messages"] {
    return this.#kept.get(chat)?.kept.version?.messages ?? [];
  }

  /** Saves a change and returns the newest version. */
  save(engine: Engine, chat: string, change: Change): Promise<number> {
    return this.turns.alone(chat, async () => {
      for (let kept = this.#take(chat); ; kept = undefined) {
        const before = kept ?? (await this.#read(engine, chat));
        const saved = await this.#try(engine, chat, before, change, kept !== undefined);
        if (saved !== undefined) return saved;
      }
    });
  }

  /** Reads a chat, and saves the change that `decide` returns, if it returns one. Begins again if it was overtaken. */
  change(engine: Engine, chat: string, decide: (known: Known) => Promise<Change | undefined>): Promise<void> {
    return this.turns.alone(chat, async () => {
      for (;;) {
        const known = await this.#read(engine, chat);
        const change = await decide(known);
        if (change === undefined || (await this.#store(engine, chat, known, change, false)) !== undefined) return;
      }
    });
  }

  /** Reads a chat after its earlier changes. */
  read(engine: Engine, chat: string): Promise<Known> {
    return this.turns.shared(chat, () => this.#read(engine, chat));
  }

  /** Tries to save. Undefined: the chat differs from `before`, and must be read again. */
  async #try(
    engine: Engine,
    chat: string,
    before: Known,
    change: Change,
    mayBeOld: boolean,
  ): Promise<number | undefined> {
    const [{ row }, { snapshot, endedStream, expected }] = [before, change];
    // The end of an answer belongs to the chat in which the answer began.
    const begun = [...(endedStream === undefined ? [] : [streamName(chat, endedStream)]), chat];
    const isKnown = begun.some((name) => this.#seen.has(name));
    if (row === undefined ? isKnown || endedStream !== undefined : this.#isAnother(begun, row)) {
      const message =
        row === undefined && !isKnown
          ? `chat ${quote(chat)} is not stored, so the end of its answer was not saved: save a chat when its answer begins`
          : `chat ${quote(chat)} was deleted, so nothing was saved: createChat() makes a new one with this id`;
      throw new ForkpointError("CONFLICT", message);
    }
    const number = row?.version ?? 0;
    if (expected !== undefined && expected !== number) {
      if (mayBeOld) return undefined;
      const message = `chat ${quote(chat)} has version ${number}, not ${expected} as expected: read it again`;
      throw new ForkpointError("CONFLICT", message);
    }
    const answer = row?.answer;
    if (snapshot === undefined || endedStream === undefined || !answer) {
      return this.#store(engine, chat, before, change, mayBeOld);
    }
    // The answer was stopped, and the app saves it too.
    if (answer.stream !== endedStream && (await wasStopped(engine, endedStream))) {
      // The chat has gone on without it.
      return mayBeOld ? undefined : number;
    }
    if (answer.stream !== endedStream || !answer.settled) return this.#store(engine, chat, before, change, mayBeOld);
    const { stream, metadata } = change;
    const own = { snapshot: snapshot.ending(finishedAnswer), stream, endedStream, metadata };
    return this.#store(engine, chat, before, own, mayBeOld);
  }

  async #store(
    engine: Engine,
    chat: string,
    { row, version }: Known,
    { snapshot, stream, endedStream, metadata, settles = false }: Change,
    mayBeOld: boolean,
  ): Promise<number | undefined> {
    const number = row?.version ?? 0;
    const shared = snapshot?.sharedWith(version.messages) ?? 0;
    const isNew =
      snapshot !== undefined &&
      (number === 0 || shared !== snapshot.messages.length || shared !== version.messages.length);
    const active = row === undefined || row.stream === endedStream ? null : row.stream;
    const head = { version: isNew ? number + 1 : number, stream: stream === undefined ? active : stream };
    const settlesNow = settles && row?.answer?.settled === false;
    const isSame =
      row !== undefined &&
      !isNew &&
      !settlesNow &&
      head.stream === row.stream &&
      (metadata === undefined || isEqual(metadata, row));
    if (isSame) {
      const isCurrent = !mayBeOld || sameRevision((await readRow(engine, chat))?.revision, row.revision);
      if (!isCurrent) return undefined;
      this.#keep(chat, row, version);
      return number;
    }
    const messages = snapshot?.messages ?? version.messages;
    const next: Row = {
      chat,
      ...head,
      answer: settlesNow ? { ...row.answer!, settled: true } : answerOf(row, head, messages),
      revision: revisionAfter(row?.revision),
      incarnation: row?.incarnation,
      metadata: metadata ?? row?.metadata ?? NO_METADATA,
    };
    const plan = isNew ? snapshot.plan(version, shared, head.version) : undefined;
    const { fields, buffers } = rowFields(next, row?.revision);
    try {
      const keep = isNew ? this.#keepVersions : undefined;
      const all = [...buffers, ...(plan?.buffers ?? [])];
      const learn = (incarnation: Exact | null) => void (next.incarnation = incarnation ?? undefined);
      const call = { row: fields, version: plan?.fields, keep };
      await chatCalls.call(engine.native, "save", call, all, next.incarnation === undefined ? learn : undefined);
    } catch (error) {
      if (isOvertaken(error) || (mayBeOld && isForkpointError(error) && error.code === "NOT_FOUND")) return undefined;
      throw error;
    }
    this.#seen.note(chat, next.incarnation);
    if (head.stream !== null) {
      this.#seen.note(streamName(chat, head.stream), next.incarnation);
      this.#name(head.stream, chat);
    }
    this.#keep(chat, next, plan?.version ?? version);
    return head.version;
  }

  /** Returns the chat that has named a stream as its active one. */
  chatOf(stream: string): string | undefined {
    return this.#named.get(stream);
  }

  #name(stream: string, chat: string): void {
    this.#named.set(stream, chat);
    if (this.#named.size > KEPT) this.#named.delete(this.#named.keys().next().value!);
  }

  /** Notes a created or searched chat. A missing chat may be recreated, but not by the end of an earlier answer. */
  looked(chat: string, found: Pick<Row, "incarnation"> | null): void {
    this.#seen.looked(chat, found);
  }

  /** True if the chat was deleted and recreated after this store had seen it, under the first known name. */
  #isAnother(names: readonly string[], { incarnation }: Row): boolean {
    const known = names.map((name) => this.#seen.incarnation(name)).find((one) => one !== undefined);
    return known !== undefined && incarnation !== undefined && known !== incarnation;
  }

  /** Removes and returns the cached state of a chat. */
  #take(chat: string): Known | undefined {
    const found = this.#kept.get(chat);
    const version = found?.kept.version;
    this.forget(chat);
    return found && version && { row: found.row, version };
  }

  #keep(chat: string, row: Row, version: Version): void {
    this.forget(chat);
    this.#kept.set(chat, { row, kept: new KeptVersion(version) });
    if (this.#kept.size > KEPT) this.forget(this.#kept.keys().next().value!);
  }

  forget(chat: string): void {
    this.#kept.get(chat)?.kept.release();
    this.#kept.delete(chat);
  }

  async #read(engine: Engine, chat: string): Promise<Known> {
    const found = await readChat(engine, chat, undefined);
    if (found === null) return { row: undefined, version: EMPTY };
    return { row: found.row, version: found };
  }
}

/** A chat with the messages of a version. */
export interface FoundChat extends Version {
  row: Row;
}

/** Reads a chat with the messages of a version (undefined: the newest). Null: there is no such chat. */
export async function readChat(engine: Engine, chat: string, version: number | undefined): Promise<FoundChat | null> {
  const found = await chatCalls.find(engine.native, "read", { chat, version }, ({ row, ...rest }, part) => ({
    row: openRow(row, part),
    number: rest.version,
    parts: rest.records.map(part),
  }));
  if (found === null) return null;
  const { row, number, parts } = found;
  const records = await readRecords<object>(parts, engine.format, `a message of chat ${quote(chat)}`);
  const size = parts.reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
  return { row: closeRow(row, engine), number, size, ...joinRecords(records) };
}

export async function readRow(engine: Engine, chat: string): Promise<Row | null> {
  const found = await chatCalls.find(engine.native, "row", { chat }, openRow);
  return found && closeRow(found, engine);
}

/** A row and its part. */
export type OpenRow = Omit<FoundRow, "metadata"> & { part: Part | undefined };

export const openRow = (
  { metadata: [packed], ...row }: FoundRow,
  part: (packed: FoundRow["metadata"][0]) => Part,
): OpenRow => ({
  ...row,
  part: packed && part(packed),
});

export function closeRow(row: OpenRow, { format }: Engine): Row {
  const { chat, part, index, version, stream, answer, revision, incarnation } = row;
  // Copy the bytes, so that the row does not keep a large response in memory.
  const stored: Stored | undefined = part && { tag: part.tag, bytes: Uint8Array.prototype.slice.call(part.bytes) };
  return {
    chat,
    version,
    stream,
    answer: answer ?? undefined,
    revision,
    incarnation,
    metadata: readMetadata(stored, index, format),
  };
}

/** The fields and the buffers of a row to store. */
export function rowFields(
  { chat, version, stream, answer, revision, metadata: { stored, index } }: Row,
  seen: Revision | undefined,
): { fields: NewRow; buffers: Uint8Array[] } {
  const metadata = stored && { name: "metadata", tag: stored.tag };
  const fields = { chat, revision, seen, head: { version, stream, answer }, index, metadata, savedAt: Date.now() };
  return { fields, buffers: stored ? [stored.bytes] : [] };
}

/** The chat's last answer after a change. A stream that is named for the first time begins one. */
function answerOf(
  row: Row | undefined,
  { version, stream }: Pick<Head, "version" | "stream">,
  messages: Version["messages"],
): BegunAnswer | undefined {
  if (stream === null || stream === row?.answer?.stream) return row?.answer ?? undefined;
  const { id, role, parts } = (messages.at(-1) ?? {}) as { id?: unknown; role?: unknown; parts?: unknown };
  const isOpen = role === "assistant" && typeof id === "string" && id.isWellFormed() && isArray(parts);
  return { stream, from: version, last: isOpen ? { id, parts: parts.length } : undefined, settled: false };
}

/** The name of an answer that has begun in a chat. */
const streamName = (chat: string, stream: string): string => `${chat}\0${stream}`;

/** Returns a new revision. Its time never goes back. */
export const revisionAfter = (before: Revision | undefined): Revision => ({
  updatedAt: Math.max(Date.now(), before?.updatedAt ?? 0),
  number: newVersion(),
});

const sameRevision = (one: Revision | undefined, other: Revision): boolean =>
  one !== undefined && one.updatedAt === other.updatedAt && one.number === other.number;

function isEqual({ stored }: StoredMetadata, { metadata }: Row): boolean {
  if (stored === undefined || metadata.stored === undefined) return stored === metadata.stored;
  return stored.tag === metadata.stored.tag && Buffer.compare(stored.bytes, metadata.stored.bytes) === 0;
}

/** Returns a unique id. */
export const newId = (): string => crypto().randomUUID();
