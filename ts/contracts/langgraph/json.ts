/** Writes values as LangGraph's serializer does, and keeps the bytes of growing lists. */

import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import type { Bytes } from "../../bridge/bytes.js";
import { JsonWriter } from "../../bridge/incremental/json.js";
import { dataProperty } from "../../bridge/incremental/leaves.js";
import type { ForkpointError } from "../../bridge/forkpoint-error.js";
import { unwritable } from "./unwritable.js";

/** LangGraph's serializer. Some versions have no synchronous method. */
type JsonPlus = SerializerProtocol & { _dumps?(value: unknown): Uint8Array };

const decoder = new TextDecoder();

const writers = new WeakMap<JsonPlus, JsonWriter>();

/**
 * Returns the bytes that LangGraph's serializer would write. Returns undefined if only the serializer can write them. A
 * growing list, such as the messages of a chat, is put together from the bytes of its items.
 */
export function toJson(value: unknown, serde: JsonPlus): Bytes | undefined {
  return writerOf(serde).serialize(value) ?? (isPlain(value, []) ? Buffer.from(JSON.stringify(value)) : undefined);
}

function writerOf(serde: JsonPlus): JsonWriter {
  const known = writers.get(serde);
  if (known !== undefined) return known;
  const render = (item: object) => itemToJson(item, serde);
  const plainOf = (value: object) => plainSend(value, serde);
  const writer = new JsonWriter({ render, accepts: isPlainOrMessage, isSlow, plainOf }, (value) => isPlain(value, []));
  writers.set(serde, writer);
  return writer;
}

function isSlow(item: object): boolean {
  return !isPlain(item, []);
}

function isPlainOrMessage(item: object): boolean {
  return isPlainObject(item) || isMessage(item);
}

const [BRACE, BRACKET] = [0x7b, 0x5b];

function itemToJson(item: object, serde: JsonPlus): Uint8Array | undefined {
  if (isPlain(item, [])) return Buffer.from(JSON.stringify(item));
  const bytes = serde._dumps?.(item);
  // If the serializer cannot write an object, it writes a string instead.
  const isObject = bytes !== undefined && (bytes[0] === BRACE || bytes[0] === BRACKET);
  return isObject && lostIn(item, bytes, "it") === undefined ? bytes : undefined;
}

/**
 * LangGraph's serializer writes the first text for a circular object, the second for a typed array such as a
 * Float32Array. Searching for these texts takes a fraction of the time of another walk through the value.
 */
const SIGNS = ["[Circular]", '{"0":'].map((sign) => Buffer.from(sign));

/** Returns the error for a value that the serializer has written as something else. `what` names `value`. */
export function lostIn(value: unknown, bytes: Uint8Array, what: string): ForkpointError | undefined {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return SIGNS.some((sign) => text.includes(sign)) ? unwritable(value, what) : undefined;
}

/**
 * Returns the plain object that the serializer writes for a `Send`, whose arguments often contain all messages. The
 * serializer itself writes the other fields. Returns undefined for other values.
 */
function plainSend(value: object, serde: JsonPlus): object | undefined {
  if ((value as { lg_name?: unknown }).lg_name !== "Send") return undefined;
  const prototype = Object.getPrototypeOf(value) as object;
  // The toJSON of a subclass may change the arguments.
  if (Object.getPrototypeOf(prototype) !== Object.prototype || Object.hasOwn(value, "toJSON")) return undefined;
  const args: unknown = dataProperty(value, "args")?.value;
  const properties = { ...Object.getOwnPropertyDescriptors(value), args: { value: null, enumerable: true } };
  const bytes = serde._dumps?.(Object.create(prototype, properties));
  if (args === undefined || bytes?.[0] !== BRACE) return undefined;
  const written = JSON.parse(decoder.decode(bytes)) as Record<string, unknown>;
  return written["args"] === null ? { ...written, args } : undefined;
}

type Prototype = { constructor?: { lc_name?: () => unknown } };

const MESSAGES = ["AIMessage", "ChatMessage", "FunctionMessage", "HumanMessage", "SystemMessage", "ToolMessage"];
const CLASSES = new Set<unknown>(MESSAGES.flatMap((name) => [name, `${name}Chunk`]));
/** The getters of these classes. They only read fields. */
const GETTERS = new Set(["lc_aliases", "contentBlocks", "_printableFields"]);

/**
 * Returns true for an instance of one of LangChain's own classes with LangChain's own `toJSON`. Its JSON depends only
 * on its fields. The JSON of a subclass may depend on private data.
 */
function isMessage(value: object): boolean {
  const { lc_serializable: serializable, lc_namespace: namespace } = value as Record<string, unknown>;
  if (serializable !== true || !Array.isArray(namespace)) return false;
  if (namespace[0] !== "langchain_core" || namespace[1] !== "messages") return false;
  const own = Object.getPrototypeOf(value) as Prototype;
  const parent = Object.getPrototypeOf(own) as Prototype;
  if (!CLASSES.has(own.constructor?.lc_name?.()) || parent.constructor?.lc_name?.() !== "BaseMessage") return false;
  const properties = Object.entries(Object.getOwnPropertyDescriptors(own));
  if (properties.some(([name, { get }]) => get !== undefined && !GETTERS.has(name))) return false;
  if (Object.getOwnPropertyNames(value).length !== Object.keys(value).length) return false;
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
 * Returns true if JSON represents the value and the serializer leaves it unchanged. `above` lists the objects that
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
    // Loop by index, because `isPlain` must also see holes in the array.
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
