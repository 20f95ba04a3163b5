/**
 * Reads serialized values. Creates no objects of a user's classes. Describes
 * unreadable bytes instead of throwing.
 */

import { type Stored, builtInFormat } from "../bridge/serializer.js";
import type { Context } from "./context.js";
import type { Part } from "../bridge/wire.js";
import { readForm } from "../bridge/json-form/from-json-form.js";
import { opaque, shownForm } from "../bridge/json-form/to-json-form.js";
import type { PartInfo, WriteInfo } from "./views.js";
import { type FoundCheckpoint, type FoundWrite, type Row, inspect, openCheckpoint } from "./wire.js";

/** A value that was read. If it is unreadable, `value` is an `Opaque` with the tag, the size and the first bytes. */
export interface Read {
  value: unknown;
  readable: boolean;
}

/**
 * Reads a value. A framework's own serializer may write the tag `bytes` too. Its tag `json` is read as plain JSON, so
 * an instance of its classes appears in its stored form.
 */
export function readValue({ formats }: Pick<Context, "formats">, { tag, bytes }: Stored): Read {
  const format = builtInFormat(tag) ?? formats.get(tag);
  try {
    if (tag === "json-form")
      return { value: readForm(builtInFormat("json")!.deserialize(bytes), true), readable: true };
    if (format !== undefined) return { value: format.deserialize(bytes), readable: true };
    if (tag === "bytes") return { value: new Uint8Array(bytes), readable: true };
  } catch {
    // Another program or a newer version may have written the bytes. Show them as they are.
  }
  return { value: opaque(tag, bytes), readable: false };
}

/** The values of a checkpoint, before they are in the JSON form. */
export interface Values {
  state: unknown;
  /** All other fields of the checkpoint. Null if there are none. */
  rest: unknown;
  parts: PartInfo[];
}

/** Reads the values of a checkpoint, which are in its parts, its writes or its records. */
export type ReadValues = (parts: Parts, row: Row, found: FoundCheckpoint) => [state: unknown, rest: unknown];

/** Reads parts, and collects their names, sizes and serializers. */
export class Parts {
  readonly infos: PartInfo[] = [];
  readonly #context: Pick<Context, "formats">;

  constructor(context: Pick<Context, "formats">) {
    this.#context = context;
  }

  read(part: Part, name = part.name): Read {
    const read = readValue(this.#context, part);
    this.infos.push({ name, tag: part.tag, bytes: part.bytes.byteLength, readable: read.readable });
    return read;
  }
}

/** Every part is its own value. */
export const readNamed: ReadValues = (parts, _, found) => [
  Object.fromEntries(found.parts.map((part) => [part.name, parts.read(part).value])),
  null,
];

/** The first part is the value. */
export const readFirst: ReadValues = (parts, _, { parts: [part] }) => [part && parts.read(part).value, null];

/** The records are the values of a list under this key. */
export const readRecords =
  (key: string): ReadValues =>
  (parts, _, { records }) => [{ [key]: (records ?? []).map((part) => parts.read(part).value) }, null];

/**
 * The parts `state` and `rest`. `blanks` are the fields that the part `rest` stores empty, because another place stores
 * their values.
 */
export function withState(
  parts: Parts,
  { parts: [state, rest] }: FoundCheckpoint,
  blanks: readonly string[],
): [unknown, unknown] {
  const value = state && parts.read(state).value;
  return [value, rest ? withoutBlanks(parts.read(rest), blanks) : null];
}

export function withoutBlanks({ value, readable }: Read, blanks: readonly string[]): unknown {
  if (!readable || typeof value !== "object" || value === null) return value;
  const fields = value as Record<string, unknown>;
  for (const blank of blanks) if (fields[blank] === null) delete fields[blank];
  return fields;
}

/** Returns the reference of a checkpoint for calls of the engine. */
export function keyOf({ space, run, ns, id }: Row): { space: string; run: string; ns: string; id: string } {
  return { space, run, ns: ns ?? "", id };
}

/** Reads all stored data of a checkpoint. Null: it no longer exists. */
export function readFound({ engine }: Pick<Context, "engine">, row: Row): Promise<FoundCheckpoint | null> {
  return inspect.find(engine.native, "read", keyOf(row), openCheckpoint);
}

/** `item` is the index of the value in the stored list. Undefined: the value is not stored in a list. */
export function shownWrite(
  context: Pick<Context, "formats">,
  write: FoundWrite,
  channel: string,
  item?: number,
): WriteInfo {
  const { value, readable } = readValue(context, write.part);
  const shown = readable && item !== undefined && Array.isArray(value) ? value[item] : value;
  const { task, index, claimedBy, part } = write;
  return { task, index, channel, value: shownForm(shown), owner: claimedBy, tag: part.tag };
}
