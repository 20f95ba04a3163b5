/** The state of a run: snapshots of it, and the changes that steps make. */

import { isDeepStrictEqual } from "node:util";
import { ForkpointError, show, typeError } from "../../bridge/errors.js";
import { type Format, type Serialized, deserializeValue } from "../../bridge/serializer.js";
import { serializeState } from "../shared/record.js";

/**
 * A state between two steps, in its serialized form. Every step gets a deserialized copy, so it sees the same state as
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
    return new Snapshot(format, serializeState(state, format, "values"));
  }

  /** Returns a fresh copy, which the receiver may change. */
  draft(): unknown {
    const { tag, bytes } = this.#stored;
    return deserializeValue(this.format, tag, bytes, "the state");
  }

  in(format: Format): Serialized {
    return format.tags.includes(this.#stored.tag) ? this.#stored : serializeState(this.draft(), format, "values");
  }
}

/**
 * Returns the state after a step. If the step returned nothing, the draft is the state. If the draft and the result are
 * objects, the result is merged over the draft. Otherwise the result replaces the state.
 */
export function applyResult(draft: unknown, result: unknown, step: string): unknown {
  if (result === undefined || result === draft) return draft;
  if (!isRecord(draft)) return isObject(draft) && result === null ? draft : result;
  if (result === null) return draft;
  if (!isObject(result) || Array.isArray(result)) {
    throw typeError(`step "${step}" must return an object or nothing, but returned ${show(result)}`);
  }
  // Spread syntax defines properties instead of assigning them, so a key "__proto__" is an ordinary key.
  return isRecord(result) ? { ...draft, ...result } : result;
}

export function mutate(draft: unknown, mutator: (state: any) => unknown): unknown {
  const mutated = mutator(draft);
  if (isThenable(mutated)) {
    // No other code handles this promise. The empty handler prevents an unhandled rejection.
    mutated.then(undefined, () => {});
    throw typeError(
      "the mutator of fork() must return the new state itself, but returned a promise: it cannot be async",
    );
  }
  // If the state is an object, any other value is probably the result of an assignment or a call.
  if (mutated === undefined || (isObject(draft) && !isObject(mutated))) {
    throw typeError(`the mutator of fork() must return the new state, but returned ${show(mutated)}`);
  }
  return mutated;
}

export function mergeBranches(base: Snapshot, branches: Array<{ name: string; state: Snapshot }>): unknown {
  const from = base.draft();
  let merged = base.draft();
  let before = "";
  for (const { name, state } of branches) {
    merged = mergeValue(from, merged, state.draft(), { path: "state", ours: before, theirs: name });
    before = before === "" ? `"${name}"` : `${before} or "${name}"`;
  }
  return merged;
}

interface Where {
  path: string;
  ours: string;
  theirs: string;
}

const ABSENT = Symbol("absent");

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
      "let each branch write its own key, and combine the keys in a later step",
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

/** True for a plain object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return isObject(value) && Object.getPrototypeOf(value) === Object.prototype;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === "function";
}
