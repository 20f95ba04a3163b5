/** Takes a snapshot of messages, and finds out what a save has to store of it. */

import { isArray, readingArgument, show, typeError } from "../../bridge/errors.js";
import { whole } from "../../bridge/bytes.js";
import { Holding } from "../../bridge/incremental/memory.js";
import { type Format, type Stored, deserializeValue } from "../../bridge/serializer.js";
import { packRecords } from "../shared/records.js";
import { isSame } from "./same.js";
import type { NewVersion } from "./wire.js";

/** The messages of a version, as a store has seen them. */
export interface Version {
  /** Its number. Null: the chat has no version. */
  readonly number: number | null;
  /** Each message as a read would return it. They are never changed. */
  readonly messages: readonly unknown[];
  /** How many of them are in the log. The last one may be in the version itself. */
  readonly inLog: number;
  /** About the number of bytes that the messages take. */
  readonly size: number;
}

/** Keeps a version in memory, until the memory is needed. */
export class KeptVersion {
  version: Version | undefined;
  readonly #holding = new Holding(this);

  constructor(version: Version) {
    this.version = version;
    this.#holding.set(version.size, []);
  }

  release(): void {
    this.version = undefined;
    this.#holding.set(0, []);
  }
}

/** Messages as they were when the caller passed them. */
export class Snapshot {
  /** Each message as a read would return it. A message that was known is the same object. */
  readonly messages: readonly unknown[];
  /** The bytes of the messages that were serialized. */
  readonly #bytes = new Map<unknown, Stored>();
  readonly #format: Format;

  /** `known` are messages that may be equal. Only others are serialized. */
  constructor(given: unknown, known: readonly unknown[], format: Format) {
    this.#format = format;
    if (!isArray(given)) throw typeError(`messages must be an array, but is ${show(given)}`);
    // Unlike map(), Array.from() also visits the holes of an array.
    const list = readingArgument("messages", () => Array.from(given as unknown[]));
    this.messages = list.map((message, at) => this.#take(message, known[at], `messages[${at}]`));
  }

  #take(message: unknown, known: unknown, path: string): unknown {
    if (typeof message !== "object" || message === null || isArray(message)) {
      throw typeError(`${path} must be an object, but is ${show(message)}`);
    }
    if (known !== undefined && isSame(message, known)) return known;
    const stored = this.#serialized(message, path);
    const value = deserializeValue(this.#format, stored.tag, stored.bytes, path);
    // The serializer may store another value, for example the text of a Date.
    if (known !== undefined && isSame(value, known)) return known;
    this.#bytes.set(value, stored);
    return value;
  }

  #serialized(message: unknown, path: string): Stored {
    const { tag, bytes } = this.#format.serialize(message, path);
    return { tag, bytes: whole(bytes) };
  }

  #stored(at: number): Stored {
    const message = this.messages[at];
    return this.#bytes.get(message) ?? this.#serialized(message, `messages[${at}]`);
  }

  /** The number of messages at the beginning that are equal to these. */
  sharedWith(others: readonly unknown[]): number {
    const most = Math.min(this.messages.length, others.length);
    let shared = 0;
    while (shared < most && isSame(this.messages[shared], others[shared])) shared += 1;
    return shared;
  }

  /** How to store the messages after a version. `shared` messages begin both. */
  plan(before: Version, shared: number, number: number): Plan {
    const { messages } = this;
    // An answer that grows is the last message, and becomes another one at each save. The version has it, as a delta.
    const replacesLast =
      messages.length > 0 && messages.length === before.messages.length && shared === messages.length - 1;
    const inLog = replacesLast ? messages.length - 1 : messages.length;
    const keep = Math.min(shared, before.inLog, inLog);
    const records: Stored[] = [];
    for (let at = keep; at < inLog; at++) records.push(this.#stored(at));
    const packed = records.length === 0 ? undefined : packRecords(records);
    const last = replacesLast ? this.#stored(inLog) : undefined;
    const buffers = [...(last ? [last.bytes] : []), ...(packed ? [packed.bytes] : [])];
    const part = last && { name: LAST, tag: last.tag };
    const size = before.size + buffers.reduce((sum, { byteLength }) => sum + byteLength, 0);
    const fields = { version: number, from: before.number ?? undefined, keep, messages: packed?.records, last: part };
    return { buffers, fields, version: { number, messages, inLog, size } };
  }
}

/** The part of a version that has the last message. */
const LAST = "message";

interface Plan {
  buffers: Uint8Array[];
  fields: NewVersion;
  version: Version;
}
