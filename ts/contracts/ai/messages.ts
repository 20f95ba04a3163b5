/**
 * Takes snapshots of messages, and plans what a save stores.
 *
 * A record of the log is a message. A record that is a list has more parts of the message before it. A growing answer
 * is therefore stored once, and not again at each save.
 */

import { isArray, readingArgument, show, typeError } from "../../bridge/errors.js";
import { whole } from "../../bridge/bytes.js";
import { Holding, evict } from "../../bridge/incremental/memory.js";
import { type Format, type Stored, deserializeValue } from "../../bridge/serializer.js";
import { packRecords } from "../shared/records.js";
import { asks } from "./questions.js";
import { isSame } from "./same.js";
import type { NewVersion } from "./wire.js";

/** A message as a read returns it. It is never changed. */
interface Message {
  parts?: unknown;
}

/** The messages of a version, in memory. */
export interface Version {
  /** Its number. Null: the chat has no version. */
  readonly number: number | null;
  readonly messages: readonly Message[];
  /** For each record of each message: the number of the message's parts at the end of the record. */
  readonly ends: ReadonlyArray<readonly number[]>;
  /** The approximate size of the messages, in bytes. */
  readonly size: number;
}

/** Keeps a version in memory, until the memory is needed. */
export class KeptVersion {
  version: Version | undefined;
  readonly #holding = new Holding(this);

  constructor(version: Version) {
    this.version = version;
    this.#holding.set(version.size, []);
    evict();
  }

  release(): void {
    this.version = undefined;
    this.#holding.set(0, []);
  }
}

const partsOf = ({ parts }: Message): readonly unknown[] => (isArray(parts) ? parts : []);

/** Joins the records of a version to its messages. */
export function joinRecords(records: readonly unknown[]): Pick<Version, "messages" | "ends"> {
  const messages: Message[] = [];
  const ends: number[][] = [];
  for (const record of records) {
    if (!isArray(record)) {
      messages.push(record as Message);
      ends.push([partsOf(record as Message).length]);
      continue;
    }
    const message = messages.at(-1);
    if (message === undefined || !isArray(message.parts)) continue;
    for (const part of record) message.parts.push(part);
    ends.at(-1)!.push(message.parts.length);
  }
  return { messages, ends };
}

/** The messages at the time of the call. */
export class Snapshot {
  /** The messages, as a read would return them. A known message is the same object. */
  readonly messages: readonly Message[];
  /** The bytes of serialized messages. */
  readonly #bytes = new Map<Message, Stored>();
  readonly #format: Format;

  /** `known` are messages that may be equal. Only other messages are serialized. */
  constructor(given: unknown, known: readonly Message[], format: Format) {
    this.#format = format;
    if (!isArray(given)) throw typeError(`messages must be an array, but is ${show(given)}`);
    // Unlike map(), Array.from() also visits the holes of an array.
    const list = readingArgument("messages", () => Array.from(given as unknown[]));
    this.messages = list.map((message, at) => this.#take(message, known[at], `messages[${at}]`));
  }

  #take(message: unknown, known: Message | undefined, path: string): Message {
    if (typeof message !== "object" || message === null || isArray(message)) {
      throw typeError(`${path} must be an object, but is ${show(message)}`);
    }
    if (known !== undefined && isSame(message, known)) return known;
    const stored = this.#serialized(message, path);
    const value = deserializeValue(this.#format, stored.tag, stored.bytes, path) as Message;
    if (typeof value !== "object" || value === null || isArray(value)) {
      throw typeError(
        `${path} must be stored as an object, but its toJSON or the serializer makes ${show(value)} of it`,
      );
    }
    // The serializer may store another value, for example the text of a Date.
    if (known !== undefined && isSame(value, known)) return known;
    this.#bytes.set(value, stored);
    return value;
  }

  #serialized(value: unknown, path: string): Stored {
    const { tag, bytes } = this.#format.serialize(value, path);
    return { tag, bytes: whole(bytes) };
  }

  /** Returns the same messages, with another last one. `change` returns null to leave it out. */
  ending(change: (message: Message) => Message | null): Snapshot {
    const last = this.messages.at(-1);
    const changed = last && change(last);
    if (last === changed) return this;
    const others = this.messages.slice(0, -1);
    return new Snapshot(changed ? [...others, changed] : others, this.messages, this.#format);
  }

  /** Returns the number of equal messages at the beginning. */
  sharedWith(others: readonly Message[]): number {
    const most = Math.min(this.messages.length, others.length);
    let shared = 0;
    while (shared < most && isSame(this.messages[shared], others[shared])) shared += 1;
    return shared;
  }

  /** Plans how to store the messages as the version `number`. The first `shared` messages equal those of `before`. */
  plan(before: Version, shared: number, number: number): Plan {
    const { messages } = this;
    const ends = before.ends.slice(0, shared);
    const records: Stored[] = [];
    let [keep, at] = [ends.reduce((sum, { length }) => sum + length, 0), shared];
    const grows = growth(before, messages[shared], shared);
    if (grows !== undefined) {
      const parts = partsOf(messages[at]!);
      keep += grows.length;
      ends.push(parts.length > grows.at(-1)! ? [...grows, parts.length] : grows);
      if (parts.length > grows.at(-1)!)
        records.push(this.#serialized(parts.slice(grows.at(-1)), `messages[${at}].parts`));
      at += 1;
    }
    for (; at < messages.length; at++) {
      const message = messages[at]!;
      records.push(this.#bytes.get(message) ?? this.#serialized(message, `messages[${at}]`));
      ends.push([partsOf(message).length]);
    }
    const packed = records.length === 0 ? undefined : packRecords(records);
    const fields = {
      version: number,
      from: before.number ?? undefined,
      keep,
      records: packed?.records,
      messages: messages.length,
      asks: asks(messages),
    };
    const left = before.messages.length === 0 ? 0 : (before.size * ends.length) / before.messages.length;
    const size = Math.min(left, before.size) + (packed?.bytes.byteLength ?? 0);
    return { buffers: packed ? [packed.bytes] : [], fields, version: { number, messages, ends, size } };
  }
}

/**
 * Returns the ends of a stored message's records that are also the beginning of another message. Undefined: there are
 * none, or the messages differ in more than their parts.
 */
function growth({ messages, ends }: Version, message: Message | undefined, at: number): readonly number[] | undefined {
  const before = messages[at];
  if (before === undefined || message === undefined || !isArray(before.parts) || !isArray(message.parts))
    return undefined;
  const [parts, others] = [message.parts, before.parts];
  if (!isSame({ ...before, parts: null }, { ...message, parts: null })) return undefined;
  let shared = 0;
  while (shared < others.length && shared < parts.length && isSame(others[shared], parts[shared])) shared += 1;
  const kept = ends[at]!.filter((end) => end <= shared);
  return kept.length === 0 ? undefined : kept;
}

interface Plan {
  buffers: Uint8Array[];
  fields: NewVersion;
  version: Version;
}
