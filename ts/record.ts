/**
 * A checkpoint as a record: its state, and the rest of it with the ids left out, so that a fork shares every byte with its
 * source. The contracts' stores have this in common.
 */

import { ForkpointError, quote, reading, show, typeError } from "./errors.js";
import { detach } from "./native.js";
import { type Format, type Serialized, deserialize } from "./serializer.js";
import type { Part } from "./wire.js";

/**
 * A checkpoint in bytes. Every field is read once, whatever a getter may do; `read` checks the fields. Those in `blanks` keep
 * their places, so that the keys come back in order, and are filled in from the record.
 */
export function encodeCheckpoint<T>(
  checkpoint: unknown,
  format: Format,
  blanks: readonly string[],
  read: (fields: Record<string, unknown>) => T,
): { fields: T; state: Serialized; rest: Serialized } {
  if (typeof checkpoint !== "object" || checkpoint === null) {
    throw typeError(`checkpoint must be an object, and is ${show(checkpoint)}`);
  }
  const rest: Record<string, unknown> = reading("checkpoint", () => ({ ...checkpoint }));
  const state = serializeState(rest["state"], format);
  const fields = read(rest);
  for (const key of blanks) rest[key] = null;
  rest["state"] = null;
  return { fields, state, rest: format.serialize(rest, "checkpoint") };
}

/** A state in bytes: sure to be an object, also where its toJSON answers in its place. */
export function serializeState(state: unknown, format: Format): Serialized {
  const [plain, fromToJSON] = reading("state", () => {
    const { toJSON } = (state ?? {}) as { toJSON?: unknown };
    return typeof toJSON === "function" ? [Reflect.apply(toJSON, state, ["state"]), true] : [state, false];
  });
  if (typeof plain !== "object" || plain === null) {
    throw typeError(`checkpoint.state must be an object, and is ${show(plain)}`);
  }
  return format.serialize(plain, "state", fromToJSON);
}

/** Lets go of parts that have been stored, or read, and are not used again. */
export function detachBuffers(...parts: Serialized[]): void {
  const used = new Map<ArrayBufferLike, number>();
  for (const { bytes } of parts) used.set(bytes.buffer, (used.get(bytes.buffer) ?? 0) + bytes.byteLength);
  // Others may have the rest of the memory.
  for (const [buffer, length] of used) if (length === buffer.byteLength) detach(buffer);
}

/** A fresh checkpoint from a record; `fields` are those that were left out. */
export function decodeCheckpoint<T extends object>(
  format: Format,
  parts: Part[],
  fields: Partial<T> & { id: string },
): T {
  const [state, rest] = stateAndRest(parts, fields.id);
  const what = `checkpoint ${quote(fields.id)}`;
  const checkpoint = deserialize(format, rest.tag, rest.bytes, what) as T;
  return Object.assign(checkpoint, fields, { state: deserialize(format, state.tag, state.bytes, what) });
}

/** The two parts of a record. */
export function stateAndRest([state, rest]: Part[], id: string): [state: Serialized, rest: Serialized] {
  if (state?.name !== "state" || rest?.name !== "rest") {
    throw new ForkpointError("CORRUPT", `checkpoint ${quote(id)} has other parts than a checkpoint`);
  }
  return [state, rest];
}
