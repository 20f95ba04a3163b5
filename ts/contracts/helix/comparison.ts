/** Compares the messages of a state with those of its session. */

import { crypto } from "../../bridge/crypto.js";
import { isDeepStrictEqual } from "node:util";
import { rangeOfBytes, whole } from "../../bridge/bytes.js";
import type { NativeStore } from "../../bridge/native.js";
import type { Exact } from "../../bridge/wire.js";
import { type PackedMessages, type Place, placeOf } from "./kept-messages.js";
import { helix } from "./wire.js";

/** The result of comparing the messages of a session with given messages. */
export interface Compared {
  savedAt: number;
  version: number;
  total: number;
  /** True if the session's messages begin with the given messages. */
  same: boolean;
  incarnation: Exact | null;
}

/**
 * The first messages of a session at its last comparison, valid for this version of the session and this checkpoint.
 * Messages with kept bytes are identified by the place of their bytes, and others by a digest.
 */
interface Known {
  version: number;
  /**
   * The checkpoint that was saved with the messages. It no longer exists if the database was restored to an earlier
   * state.
   */
  since: { id: string; savedAt: number };
  count: number;
  place: Place | undefined;
  digest: string | undefined;
}

/** The number of sessions whose last comparison is remembered. */
const REMEMBERED = 1_000;

const none: PackedMessages = { tags: [], lengths: [], bytes: new Uint8Array() };

/**
 * Compares messages with those of a session. A state usually repeats all messages of its last checkpoint. The store
 * remembers this checkpoint for each session, and reads and compares only later messages. If the session's version is
 * unchanged, its messages are too, unless the database was restored to an earlier state: then the checkpoint no longer
 * exists.
 */
export class Comparison {
  readonly #known = new Map<string, Known>();

  /** Returns null if there is no such session. */
  async compare(native: NativeStore, sessionId: string, given: PackedMessages | null): Promise<Compared | null> {
    const messages = given ?? none;
    const known = this.#known.get(sessionId);
    if (known !== undefined && repeats(messages, known)) {
      const rest = await ask(native, sessionId, messages, known.count, known.since);
      if (rest?.version === known.version && rest.since) return rest;
    }
    return ask(native, sessionId, messages, 0);
  }

  /** Remembers the messages of a saved checkpoint, if they are the session's. */
  remember(sessionId: string, given: PackedMessages | null, compared: Compared | null, since: Known["since"]): void {
    const messages = given ?? none;
    const count = messages.tags.length;
    if (compared === null || !compared.same || count === 0) return;
    this.#known.delete(sessionId);
    const place = placeOf(messages.bytes, messages.bytes.byteLength);
    const digest = place === undefined ? digestOf(messages, count) : undefined;
    this.#known.set(sessionId, { version: compared.version, since, count, place, digest });
    if (this.#known.size > REMEMBERED) this.#known.delete(this.#known.keys().next().value!);
  }
}

function repeats(messages: PackedMessages, { count, place, digest }: Known): boolean {
  if (messages.tags.length < count) return false;
  if (place === undefined) return digestOf(messages, count) === digest;
  return isDeepStrictEqual(placeOf(messages.bytes, sum(messages.lengths.slice(0, count))), place);
}

function digestOf(messages: PackedMessages, count: number): string {
  const { tags, lengths, bytes } = rangeOf(messages, 0, count);
  return crypto()
    .createHash("sha256")
    .update(JSON.stringify([tags, lengths]))
    .update(whole(bytes))
    .digest("base64");
}

function rangeOf({ tags, lengths, bytes }: PackedMessages, from: number, to: number): PackedMessages {
  const start = sum(lengths.slice(0, from));
  const range = lengths.slice(from, to);
  return { tags: tags.slice(from, to), lengths: range, bytes: rangeOfBytes(bytes, start, start + sum(range)) };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}

function ask(
  native: NativeStore,
  sessionId: string,
  messages: PackedMessages,
  offset: number,
  since?: Known["since"],
): Promise<(Compared & { since: boolean }) | null> {
  const { bytes, ...packed } = offset === 0 ? messages : rangeOf(messages, offset, messages.tags.length);
  return helix.call(native, "compare", { sessionId, offset, ...(since && { since }), messages: packed }, [bytes]);
}
