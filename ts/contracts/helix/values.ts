/**
 * Turns states and messages into parts and back. A session's document and the state of a checkpoint have the same
 * parts:
 *
 * - `state`: the state without `customState` and `messages`.
 * - `customState`: the state's `customState`.
 * - `layout`: which of these two fields the state has, and the place of its messages.
 * - `messages`: the messages, if the session's log does not hold them.
 */

import { ForkpointError, isArray, reading, readingArgument, show, typeError } from "../../bridge/errors.js";
import { whole } from "../../bridge/bytes.js";
import { idOrNull, optionalId } from "../../store/ids.js";
import { type Format, type Serialized, type Stored, deserialize, parseStored } from "../../bridge/serializer.js";
import type { NewPart, Part } from "../../bridge/wire.js";
import { viaToJSON } from "../shared/record.js";
import { type PackedMessages, keptMessages } from "./kept-messages.js";
import { count } from "./options.js";
import type { Packed } from "./wire.js";

/** Serializes messages. Each message must be an object. */
export function packMessages(messages: readonly unknown[], path: string, format: Format): PackedMessages {
  const kept = keptMessages(messages, format);
  if (kept !== undefined) return kept;
  // Unlike map(), Array.from() also visits the holes of an array.
  const serialized = Array.from(messages, (message, at) => serializeObject(message, `${path}[${at}]`, format));
  return pack(serialized);
}

function pack(messages: readonly Serialized[]): Packed & { bytes: Uint8Array } {
  return {
    tags: messages.map(({ tag }) => tag),
    lengths: messages.map(({ bytes }) => bytes.byteLength),
    bytes: Buffer.concat(messages.map(({ bytes }) => whole(bytes))),
  };
}

export function isMessage(value: unknown): boolean {
  return typeof value === "object" && value !== null && !isArray(value);
}

export function unpackMessages({ tags, lengths, bytes }: Packed & { bytes: Uint8Array }): Array<Stored> {
  let start = 0;
  return tags.map((tag, at) => {
    const from = start;
    start += lengths[at]!;
    return { tag, bytes: bytes.subarray(from, start) };
  });
}

/** Timers get a turn after this number of deserialized messages. */
const TURN = 512;

export async function readMessages(format: Format, messages: readonly Serialized[], what: string): Promise<object[]> {
  const read: object[] = [];
  for (const { tag, bytes } of messages) {
    read.push(deserialize(format, tag, bytes, what));
    if (read.length % TURN === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  return read;
}

/** Serializes a value. Throws if the value, or the result of its toJSON, is not an object. */
export function serializeObject(value: unknown, path: string, format: Format): Serialized {
  const [plain, fromToJSON] = plainOf(value, path);
  return format.serialize(plain, path, fromToJSON);
}

/** Returns an object, or the result of its toJSON. */
function plainOf(value: unknown, path: string): [plain: object, fromToJSON: boolean] {
  const [plain, fromToJSON] = viaToJSON(value, path);
  if (typeof plain !== "object" || plain === null) throw typeError(`${path} must be an object, but is ${show(plain)}`);
  return [plain, fromToJSON];
}

/** Reads every field of an object once, because a field may be a getter. */
export function fieldsOf(value: unknown, path: string): Record<string, unknown> {
  const [plain] = plainOf(value, path);
  if (isArray(plain)) throw typeError(`${path} must be an object, but is an array`);
  return reading(path, () => ({ ...(plain as Record<string, unknown>) }));
}

/**
 * The storage place of a state's messages. Null: the state has no field `messages`. `shared`: the first messages of the
 * session's log, or the checkpoint's. Otherwise the part `messages` holds them.
 */
type Place = null | { shared: number } | Packed;

/** The contents of the part `layout`. */
export interface Layout {
  customState: boolean;
  messages: Place;
}

/** The parts of a state, before the place of its messages is decided. */
export interface EncodedState {
  agentType: string | undefined;
  status: string | undefined;
  stepCount: number | undefined;
  /** The parts `state` and, if the state has the field, `customState`. */
  parts: NewPart[];
  customState: boolean;
  /** The messages. Null if the state has no list of messages. */
  messages: PackedMessages | null;
  /** The role of the last message, if it is a short text, for listings. */
  lastRole: string | undefined;
}

/** The maximum length of a role in listings, in characters. */
const ROLE = 40;

export function encodeState(state: unknown, path: string, format: Format): EncodedState {
  const fields = fieldsOf(state, path);
  const stepCount = fields["stepCount"];
  const encoded = {
    agentType: optionalId(fields["agentType"], `${path}.agentType`),
    status: optionalId(fields["status"], `${path}.status`),
    stepCount: stepCount === undefined || stepCount === null ? undefined : count(stepCount, `${path}.stepCount`),
  };
  const parts: NewPart[] = [];
  const customState = fields["customState"] !== undefined;
  if (customState) {
    parts.push({ name: "customState", ...serializeObject(fields["customState"], `${path}.customState`, format) });
    fields["customState"] = null;
  }
  let messages: PackedMessages | null = null;
  let lastRole: string | undefined;
  const given = fields["messages"];
  const name = `${path}.messages`;
  if (isArray(given) && readingArgument(name, () => given.every(isMessage))) {
    const list = readingArgument(name, () => [...given]);
    messages = packMessages(list, name, format);
    const role = readingArgument(name, () => (list.at(-1) as { role?: unknown } | undefined)?.role);
    if (typeof role === "string" && role !== "" && role.length <= ROLE && role.isWellFormed()) lastRole = role;
    fields["messages"] = null;
  }
  parts.unshift({ name: "state", ...format.serialize(fields, path) });
  return { ...encoded, parts, customState, messages, lastRole };
}

/** Returns all parts of a state. If `shared` is true, the session's log holds the messages. */
export function partsOf({ parts, customState, messages }: EncodedState, shared: boolean): NewPart[] {
  const place = messages && (shared ? { shared: messages.tags.length } : { ...messages, bytes: undefined });
  const own = messages !== null && !shared ? [{ name: "messages", tag: "", bytes: messages.bytes }] : [];
  return [...parts, layoutPart({ customState, messages: place }), ...own];
}

function layoutPart(layout: Layout): Part {
  return { name: "layout", tag: "json", bytes: Buffer.from(JSON.stringify(layout)) };
}

export class StoredState {
  readonly #parts: ReadonlyMap<string, Part>;
  readonly #layout: Layout;
  readonly #what: string;

  constructor(parts: readonly Part[], what: string) {
    this.#parts = new Map(parts.map((part) => [part.name, part]));
    this.#what = what;
    this.#layout = parseStored(Buffer.from(this.#part("layout").bytes).toString(), `the layout of ${what}`) as Layout;
  }

  #part(name: string): Part {
    const part = this.#parts.get(name);
    if (part === undefined)
      throw new ForkpointError("CORRUPT", `${this.#what} has no part "${name}": restore a backup`);
    return part;
  }

  /** The number of messages of the log that the state shares. Null if it shares none. */
  get shared(): number | null {
    const { messages } = this.#layout;
    return messages !== null && "shared" in messages ? messages.shared : null;
  }

  get hasMessages(): boolean {
    return this.#layout.messages !== null;
  }

  get parts(): Part[] {
    return ["state", "customState", "layout", "messages"].flatMap((name) => this.#parts.get(name) ?? []);
  }

  /** Returns the parts of this state for another session. A field `sessionId` then has that session's id. */
  partsFor(sessionId: string, format: Format): NewPart[] {
    const { tag, bytes } = this.#part("state");
    const fields = deserialize(format, tag, bytes, this.#what) as Record<string, unknown>;
    if (typeof fields["sessionId"] !== "string") return this.parts;
    const part = { name: "state", ...format.serialize({ ...fields, sessionId }, "state") };
    return this.parts.map((other) => (other.name === "state" ? part : other));
  }

  customState(format: Format): object | undefined {
    if (!this.#layout.customState) return undefined;
    const { tag, bytes } = this.#part("customState");
    return deserialize(format, tag, bytes, this.#what);
  }

  withCustomState(customState: unknown, format: Format): NewPart[] {
    const part = { name: "customState", ...serializeObject(customState, "customState", format) };
    return this.#layout.customState ? [part] : [part, layoutPart({ ...this.#layout, customState: true })];
  }

  /** Returns the parts of a state with its own copy of shared messages. */
  withMessages(messages: readonly Serialized[]): Part[] {
    const { bytes, ...packed } = pack(messages);
    return [layoutPart({ ...this.#layout, messages: packed }), { name: "messages", tag: "", bytes }];
  }

  /** Makes a fresh state. `shared` has the messages that the state shares with the log. */
  async restore(format: Format, shared: object[]): Promise<Record<string, unknown>> {
    const { tag, bytes } = this.#part("state");
    const state = deserialize(format, tag, bytes, this.#what) as Record<string, unknown>;
    const { customState, messages } = this.#layout;
    if (customState) state["customState"] = this.customState(format);
    if (messages !== null && "shared" in messages) state["messages"] = shared;
    else if (messages !== null) {
      const packed = unpackMessages({ ...messages, bytes: this.#part("messages").bytes });
      state["messages"] = await readMessages(format, packed, this.#what);
    }
    return state;
  }
}

/** Splits the arguments of a method whose first argument, a session id, is optional. */
export function splitSession(given: readonly unknown[]): [last: unknown, sessionId: unknown] {
  if (given.length <= 1) return [given[0], undefined];
  // An accidentally missing session id must not select the checkpoints of all sessions.
  idOrNull(given[0], "sessionId");
  return [given[1], given[0]];
}
