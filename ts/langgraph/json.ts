import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";

/** LangGraph's serializer. Some versions have no synchronous method. */
type JsonPlus = SerializerProtocol & { _dumps?(value: unknown): Uint8Array };

/** A list item at the time when it was serialised, and its bytes. */
interface Rendered {
  /** The item's contents, in the order in which {@link Look} visits them. */
  seen: unknown[];
  bytes: Uint8Array;
}

/** The last serialised form of each list item. An entry is kept only while its item is in use. */
const rendered = new WeakMap<object, Rendered>();

/**
 * Returns the bytes that LangGraph's serializer would write, or undefined if only the serializer itself can produce
 * them. A growing list, such as the messages of a chat, is joined from the bytes of its items. Each item is first
 * compared with its last serialised contents. The comparison only reads fields. Comparing an unchanged string takes
 * almost no time, but serialising would copy the string.
 */
export function toJson(value: unknown, serde: JsonPlus): Uint8Array | undefined {
  if (Array.isArray(value) && isPlainArray(value) && typeof value[0] === "object") return listToJson(value, serde);
  return isPlain(value, []) ? Buffer.from(JSON.stringify(value)) : undefined;
}

function listToJson(list: unknown[], serde: JsonPlus): Uint8Array | undefined {
  const pieces: Uint8Array[] = [OPEN];
  for (let at = 0; at < list.length; at++) {
    const item = list[at];
    if (typeof item !== "object" || item === null)
      return isPlain(list, []) ? Buffer.from(JSON.stringify(list)) : undefined;
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
  // If the serializer cannot write an object, it writes a string instead.
  if (bytes === undefined || (bytes[0] !== BRACE && bytes[0] !== OPEN[0])) return undefined;
  rendered.set(item, { seen: look.seen, bytes });
  return bytes;
}

/**
 * Visits everything inside a message or plain data. It either records the values or compares them with an earlier
 * record.
 */
class Look {
  readonly seen: unknown[];
  readonly #comparing: boolean;
  #at = 0;

  constructor(seen?: unknown[]) {
    this.seen = seen ?? [];
    this.#comparing = seen !== undefined;
  }

  /**
   * Returns true if the item can be recorded or, when comparing, if it is unchanged. Returns false for data that only
   * the serializer can write.
   */
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

/**
 * Returns true if the value is a LangChain message with LangChain's own `toJSON`. The JSON of such a message is made
 * from its fields only.
 */
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

/**
 * Returns true if JSON can represent the value and the serializer does not change it. `above` lists the objects that
 * contain the value.
 */
function isPlain(value: unknown, above: unknown[]): boolean {
  if (typeof value !== "object")
    return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
  if (value === null) return true;
  if (above.includes(value)) return false;
  above.push(value);
  let plain: boolean;
  if (Array.isArray(value)) {
    plain = isPlainArray(value);
    // Loop by index, because `isPlain` must see a hole in the array too.
    for (let at = 0; plain && at < value.length; at++) plain = isPlain(value[at], above);
  } else {
    plain = isPlainObject(value) && (value as { lg_name?: unknown }).lg_name !== "Send";
    const keys = Object.keys(value);
    for (let at = 0; plain && at < keys.length; at++)
      plain = isPlain((value as Record<string, unknown>)[keys[at]!], above);
  }
  above.pop();
  return plain;
}
