/**
 * Turns a checkpoint into a record and back. A record has two parts: the state, and the other fields without the ids.
 * Without the ids, the record of a fork has the same bytes as the record of its source.
 */

import { ForkpointError, quote, reading, readingArgument, show, typeError } from "../../bridge/errors.js";
import { type Format, type Serialized, deserialize, deserializeValue } from "../../bridge/serializer.js";
import type { Part } from "../../bridge/wire.js";

/**
 * Serializes a checkpoint. Reads every field only once, because a field may be a getter. `read` checks the fields. The
 * fields in `blanks` are stored empty, to keep the order of the keys. `decodeCheckpoint` fills them in.
 */
export function encodeCheckpoint<T>(
  checkpoint: unknown,
  format: Format,
  blanks: readonly string[],
  read: (fields: Record<string, unknown>) => T,
  states: States = "objects",
): { fields: T; state: Serialized; rest: Serialized } {
  if (typeof checkpoint !== "object" || checkpoint === null) {
    throw typeError(`checkpoint must be an object, but is ${show(checkpoint)}`);
  }
  const rest: Record<string, unknown> = reading("checkpoint", () => ({ ...checkpoint }));
  const state = serializeState(rest["state"], format, states);
  const fields = readingArgument("checkpoint", () => read(rest));
  for (const key of blanks) rest[key] = null;
  rest["state"] = null;
  return { fields, state, rest: format.serialize(rest, "checkpoint") };
}

export type States = "objects" | "values";

/** Serializes a state. Throws if the contract does not accept the state, or the result of its toJSON. */
export function serializeState(state: unknown, format: Format, states: States = "objects"): Serialized {
  const [plain, fromToJSON] = viaToJSON(state, "state");
  if (states === "values" ? plain === undefined : typeof plain !== "object" || plain === null) {
    const wanted = states === "values" ? "a value" : "an object";
    throw typeError(`checkpoint.state must be ${wanted}, but is ${show(plain)}`);
  }
  return format.serialize(plain, "state", fromToJSON);
}

/** Returns the value, or the result of its toJSON. */
export function viaToJSON(value: unknown, path: string): [plain: unknown, fromToJSON: boolean] {
  return reading(path, () => {
    const { toJSON } = (value ?? {}) as { toJSON?: unknown };
    return typeof toJSON === "function" ? [Reflect.apply(toJSON, value, [path]), true] : [value, false];
  });
}

/** Makes a fresh checkpoint from its record. `fields` holds the fields that the record leaves out. */
export function decodeCheckpoint<T extends object>(
  format: Format,
  parts: Part[],
  fields: Partial<T> & { id: string },
  states: States = "objects",
): T {
  const [state, rest] = stateAndRest(parts, fields.id);
  const what = `checkpoint ${quote(fields.id)}`;
  const checkpoint = deserialize(format, rest.tag, rest.bytes, what) as T;
  const read = states === "values" ? deserializeValue : deserialize;
  return Object.assign(checkpoint, fields, { state: read(format, state.tag, state.bytes, what) });
}

export function stateAndRest([state, rest]: Part[], id: string): [state: Serialized, rest: Serialized] {
  if (state?.name !== "state" || rest?.name !== "rest") {
    throw new ForkpointError(
      "CORRUPT",
      `checkpoint ${quote(id)} does not consist of the parts "state" and "rest": restore a backup`,
    );
  }
  return [state, rest];
}
