/** Turns the values of items into bytes, and back. */

import { ForkpointError, isArray, quote, show, typeError } from "../../../bridge/errors.js";
import { lostInJson } from "../../../bridge/exact-json.js";
import { type Serialized, deserialize, isCustom } from "../../../bridge/serializer.js";
import { isSmallJson, plainCopy } from "../../../bridge/snapshot.js";
import type { Engine } from "../../../store/engine.js";
import type { FoundItem } from "./wire.js";

/** The maximum size of a value in its checkpoint's header, in bytes. A search reads it there without the payload. */
const IN_META = 4_096;

/** An item, in LangGraph's form. */
export interface Item {
  value: Record<string, any>;
  key: string;
  namespace: string[];
  createdAt: Date;
  updatedAt: Date;
}

export interface EncodedValue extends Serialized {
  inMeta: boolean;
}

export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null || isArray(value)) return false;
  if (Object.prototype.toString.call(value) !== "[object Object]") return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Serializes a value. Prefers JSON if it is exact, because the engine can read it. */
export function encodeValue({ format }: Engine, value: unknown): EncodedValue {
  if (!isPlainObject(value)) throw typeError(`value must be a plain object, but is ${show(value)}`);
  const text = isCustom(format) ? undefined : jsonOf(format.name, value);
  if (text === undefined) return { ...format.serialize(value, "value"), inMeta: false };
  const bytes = Buffer.from(text);
  format.counter?.take(bytes);
  return { tag: "json", bytes, inMeta: bytes.byteLength <= IN_META };
}

/** Returns the JSON of a value, or undefined if JSON is not exact. */
function jsonOf(format: string, value: object): string | undefined {
  if (format === "json") return objectText(value);
  if (isSmall(value)) return JSON.stringify(value);
  const copy = plainCopy(value, "value");
  return lostInJson(copy, "value") === undefined ? objectText(copy) : undefined;
}

/** A toJSON may turn an object into something else. */
function objectText(value: unknown): string | undefined {
  const text = JSON.stringify(value) as string | undefined;
  return text?.startsWith("{") ? text : undefined;
}

function isSmall(value: object): boolean {
  try {
    return isSmallJson(value);
  } catch {
    // A proxy, or a deeply nested value.
    return false;
  }
}

export function itemOf(engine: Engine, found: FoundItem): Item {
  const { namespace, key, position, updatedAt } = found;
  const value = valueOf(engine, found);
  return { value, key, namespace, createdAt: new Date(position.createdAt), updatedAt: new Date(updatedAt) };
}

function valueOf({ format }: Engine, { key, value, parts: [part] }: FoundItem): Record<string, any> {
  if (value !== null) return value;
  if (part !== undefined) return deserialize(format, part.tag, part.bytes, `item ${quote(key)}`);
  throw new ForkpointError("CORRUPT", `the value of item ${quote(key)} is missing: restore a backup`);
}
