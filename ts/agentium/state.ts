import { isDeepStrictEqual } from "node:util";
import { ForkpointError, show, typeError } from "../errors.js";
import { type Format, type Serialized, deserialize } from "../serializer.js";
import { serializeState } from "../record.js";

/**
 * A state between two steps, in its serialised form. Every step gets a deserialised copy, so it sees the same state as
 * after a resume.
 */
export class Snapshot {
  readonly format: Format;
  readonly #stored: Serialized;

  constructor(format: Format, stored: Serialized) {
    this.format = format;
    this.#stored = stored;
  }

  static of(state: unknown, format: Format): Snapshot {
    return new Snapshot(format, serializeState(state, format));
  }

  /** Returns a fresh copy, which the receiver may change. */
  draft(): object {
    const { tag, bytes } = this.#stored;
    return deserialize(this.format, tag, bytes, "the state");
  }

  /** Returns the bytes of the state in this format. */
  in(format: Format): Serialized {
    return format.tags.includes(this.#stored.tag) ? this.#stored : serializeState(this.draft(), format);
  }
}

/**
 * Returns the state after a step: the step's result merged over its draft, or the draft if the step returned nothing.
 */
export function applyResult(draft: object, result: unknown, step: string): object {
  if (result === undefined || result === null || result === draft) return draft;
  if (typeof result !== "object" || (Array.isArray(result) && !Array.isArray(draft))) {
    throw typeError(`step "${step}" must return an object or nothing, and returned ${show(result)}`);
  }
  if (!isRecord(draft) || !isRecord(result)) return result;
  // Spread syntax defines properties instead of assigning them, so a key "__proto__" is an ordinary key.
  return { ...draft, ...result };
}

/** Merges the changes that parallel branches made to a state. */
export function mergeBranches(base: Snapshot, branches: Array<{ name: string; state: Snapshot }>): object {
  const from = base.draft();
  let merged = base.draft() as unknown;
  let before = "";
  for (const { name, state } of branches) {
    merged = mergeValue(from, merged, state.draft(), { path: "state", ours: before, theirs: name });
    before = before === "" ? `"${name}"` : `${before} or "${name}"`;
  }
  return merged as object;
}

interface Where {
  path: string;
  ours: string;
  theirs: string;
}

const ABSENT = Symbol("absent");

/** Merges two changed versions of the same value. */
function mergeValue(base: unknown, ours: unknown, theirs: unknown, where: Where): unknown {
  if (isDeepStrictEqual(base, theirs) || isDeepStrictEqual(ours, theirs)) return ours;
  if (isDeepStrictEqual(base, ours)) return theirs;
  if (isRecord(base) && isRecord(ours) && isRecord(theirs)) return mergeRecord(base, ours, theirs, where);
  if (Array.isArray(base) && Array.isArray(ours) && Array.isArray(theirs)) {
    const begins = (list: unknown[]) => isDeepStrictEqual(list.slice(0, base.length), base);
    if (begins(ours) && begins(theirs)) return [...ours, ...theirs.slice(base.length)];
  }
  throw new ForkpointError(
    "CONFLICT",
    `parallel branches ${where.ours} and "${where.theirs}" have both changed ${where.path}: ` +
      "let each branch write a key of its own, and combine the keys in a later step",
  );
}

function mergeRecord(
  base: Record<string, unknown>,
  ours: Record<string, unknown>,
  theirs: Record<string, unknown>,
  where: Where,
): Record<string, unknown> {
  const merged: Array<[string, unknown]> = [];
  for (const key of new Set([...Object.keys(ours), ...Object.keys(theirs)])) {
    const value = mergeValue(of(base, key), of(ours, key), of(theirs, key), { ...where, path: `${where.path}.${key}` });
    if (value !== ABSENT) merged.push([key, value]);
  }
  return Object.fromEntries(merged);
}

function of(record: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(record, key) ? record[key] : ABSENT;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
