import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";

/** LangGraph's serializer; not every version of it has a method that answers at once. */
type JsonPlus = SerializerProtocol & { _dumps?(value: unknown): Uint8Array };

/** What an item of a list was when it was serialised, and the bytes. */
interface Rendered {
  /** What is in it, and what those are in: see {@link Look}. */
  seen: unknown[];
  bytes: Uint8Array;
}

/** By the item itself, for as long as somebody has it. */
const rendered = new WeakMap<object, Rendered>();

/**
 * What LangGraph's serializer writes of a value; undefined where that takes the serializer itself. A list that grows (the
 * messages of a chat) is put together from what its items were the last time, after a look at every item: that reads its
 * fields, and compares a text that is the same one at once, where serialising it would copy it.
 */
export function toJson(value: unknown, serde: JsonPlus): Uint8Array | undefined {
  if (Array.isArray(value) && isPlainArray(value) && typeof value[0] === "object") return listToJson(value, serde);
  return isPlain(value, []) ? Buffer.from(JSON.stringify(value)) : undefined;
}

function listToJson(list: unknown[], serde: JsonPlus): Uint8Array | undefined {
  const pieces: Uint8Array[] = [OPEN];
  for (let at = 0; at < list.length; at++) {
    const item = list[at];
    if (typeof item !== "object" || item === null) return isPlain(list, []) ? Buffer.from(JSON.stringify(list)) : undefined;
    const bytes = itemToJson(item, list, serde);
    if (bytes === undefined) return undefined;
    if (at > 0) pieces.push(COMMA);
    pieces.push(bytes);
  }
  pieces.push(CLOSE);
  return Buffer.concat(pieces);
}

const [OPEN, COMMA, CLOSE] = ["[", ",", "]"].map((text) => Buffer.from(text)) as [Buffer, Buffer, Buffer];

const BRACE = 0x7b;

function itemToJson(item: object, list: unknown[], serde: JsonPlus): Uint8Array | undefined {
  const before = rendered.get(item);
  if (before !== undefined && new Look(before.seen).sees(item, list)) return before.bytes;
  const look = new Look();
  if (!look.sees(item, list)) return undefined;
  const bytes = isPlain(item, [list]) ? Buffer.from(JSON.stringify(item)) : serde._dumps?.(item);
  // A text instead of an object is what the serializer writes of what it cannot hold.
  if (bytes === undefined || (bytes[0] !== BRACE && bytes[0] !== OPEN[0])) return undefined;
  rendered.set(item, { seen: look.seen, bytes });
  return bytes;
}

/** Looks at all that a message or plain data is made of: notes it, or compares it with what was noted before. */
class Look {
  readonly seen: unknown[];
  readonly #comparing: boolean;
  #at = 0;

  constructor(seen?: unknown[]) {
    this.seen = seen ?? [];
    this.#comparing = seen !== undefined;
  }

  /** Whether nothing but that is in the item, and it is what it was. */
  sees(item: object, list: unknown[]): boolean {
    const whole = isMessage(item) ? this.#fields(item, [list, item]) : this.#value(item, [list]);
    return whole && (!this.#comparing || this.#at === this.seen.length);
  }

  #note(what: unknown): boolean {
    const at = this.#at++;
    if (this.#comparing) return Object.is(this.seen[at], what);
    this.seen.push(what);
    return true;
  }

  #value(value: unknown, above: unknown[]): boolean {
    if (typeof value === "function" || typeof value === "symbol" || typeof value === "bigint") return false;
    if (typeof value !== "object" || value === null) return this.#note(value);
    if (above.includes(value)) return false;
    above.push(value);
    const seen = Array.isArray(value) ? this.#items(value, above) : isPlainObject(value) && this.#fields(value, above);
    above.pop();
    return seen;
  }

  #items(items: unknown[], above: unknown[]): boolean {
    if (!isPlainArray(items) || !this.#note(LIST) || !this.#note(items.length)) return false;
    for (let at = 0; at < items.length; at++) if (!this.#value(items[at], above)) return false;
    return true;
  }

  #fields(object: object, above: unknown[]): boolean {
    if (!this.#note(Object.getPrototypeOf(object))) return false;
    const keys = Object.keys(object);
    for (let at = 0; at < keys.length; at++) {
      const key = keys[at]!;
      if (!this.#note(key) || !this.#value((object as Record<string, unknown>)[key], above)) return false;
    }
    return this.#note(END);
  }
}

const LIST = Symbol("a list");
const END = Symbol("the end of an object");

/** A message of LangChain with LangChain's own `toJSON`: what that writes is made of the message's fields. */
function isMessage(value: object): boolean {
  const { lc_serializable: serializable, lc_namespace: namespace } = value as Record<string, unknown>;
  if (serializable !== true || !Array.isArray(namespace)) return false;
  if (namespace[0] !== "langchain_core" || namespace[1] !== "messages") return false;
  let owner: object | null = value;
  while (owner !== null && !Object.hasOwn(owner, "toJSON")) owner = Object.getPrototypeOf(owner) as object | null;
  return owner !== null && Object.hasOwn(owner, "toJSONNotImplemented");
}

function isPlainArray(value: unknown[]): boolean {
  return Object.getPrototypeOf(value) === Array.prototype && !hasToJson(value);
}

function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return (prototype === Object.prototype || prototype === null) && !hasToJson(value);
}

function hasToJson(value: object): boolean {
  return typeof (value as { toJSON?: unknown }).toJSON === "function";
}

/** Whether a value is data that JSON has, and that the serializer does nothing to. `above` is what it is in. */
function isPlain(value: unknown, above: unknown[]): boolean {
  if (typeof value !== "object") return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
  if (value === null) return true;
  if (above.includes(value)) return false;
  above.push(value);
  let plain: boolean;
  if (Array.isArray(value)) {
    plain = isPlainArray(value);
    // By the index, for a hole is no data.
    for (let at = 0; plain && at < value.length; at++) plain = isPlain(value[at], above);
  } else {
    plain = isPlainObject(value) && (value as { lg_name?: unknown }).lg_name !== "Send";
    const keys = Object.keys(value);
    for (let at = 0; plain && at < keys.length; at++) plain = isPlain((value as Record<string, unknown>)[keys[at]!], above);
  }
  above.pop();
  return plain;
}
