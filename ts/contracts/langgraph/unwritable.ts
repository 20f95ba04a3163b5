/** Finds values that LangGraph's serializer cannot write, or silently writes as something else. */

import { types } from "node:util";
import { quote, refusal, textOf } from "../../bridge/errors.js";
import type { ForkpointError } from "../../bridge/forkpoint-error.js";

/** The deepest nesting that is searched. LangGraph's serializer fails at a few thousand levels. */
const MAX_DEPTH = 1_000;

/** A value that cannot be stored. */
interface Found {
  path: Array<string | number>;
  why: string;
  cause?: unknown;
}

/**
 * Returns the error for the first value inside `value` that cannot be stored, or undefined. `what` names `value`. Reads
 * the value as LangGraph's serializer does, so getters and `toJSON` are called again.
 */
export function unwritable(value: unknown, what: string): ForkpointError | undefined {
  const found = new Search().look(value, "", 0);
  if (found === undefined) return undefined;
  const path = found.path.toReversed();
  return refusal(path.length === 0 ? what : `${pathText(path)} in ${what}`, found.why, found.cause);
}

class Search {
  /** The objects that contain the current value. */
  readonly #above = new Set<object>();
  /** The searched objects without such a value. A shared object is searched once. */
  readonly #fine = new Set<object>();

  look(given: unknown, key: string, depth: number): Found | undefined {
    if (typeof given === "bigint") return at("a BigInt is not JSON data");
    if (typeof given !== "object" || given === null || this.#fine.has(given)) return undefined;
    if (this.#above.has(given)) return at("it contains itself");
    if (depth > MAX_DEPTH) return at(`it is nested deeper than ${MAX_DEPTH} levels`);
    this.#above.add(given);
    const found = this.#inside(given, key, depth + 1);
    this.#above.delete(given);
    if (found === undefined) this.#fine.add(given);
    return found;
  }

  #inside(given: object, key: string, depth: number): Found | undefined {
    let value: unknown;
    try {
      const { toJSON } = given as { toJSON?: unknown };
      value = typeof toJSON === "function" ? toJSON.call(given, key) : given;
    } catch (error) {
      return { ...at(`its toJSON threw ${textOf(error)}`), cause: error };
    }
    if (isMessageRecord(value)) return this.#properties(fieldsOf(given, value.kwargs), depth);
    if (value !== given && (typeof value !== "object" || this.#above.has(value as object)))
      return this.look(value, key, depth);
    if (typeof value !== "object" || value === null || isKept(value)) return undefined;
    if (types.isMap(value)) {
      return this.#items([...Map.prototype.entries.call(value)].flat(), depth, (index) => index >> 1);
    }
    if (types.isSet(value)) return this.#items([...Set.prototype.values.call(value)], depth, (index) => index);
    if (Array.isArray(value)) return this.#items(value, depth, (index) => index);
    if (types.isTypedArray(value) && value.length > 0) return at(`a ${nameOf(value)} is not JSON data`);
    return this.#properties(value, depth);
  }

  #items(items: readonly unknown[], depth: number, step: (index: number) => number): Found | undefined {
    for (let index = 0; index < items.length; index++) {
      const found = this.look(items[index], String(index), depth);
      if (found !== undefined) return under(found, step(index));
    }
    return undefined;
  }

  #properties(value: object, depth: number): Found | undefined {
    for (const key of Object.keys(value)) {
      let item: unknown;
      try {
        item = (value as Record<string, unknown>)[key];
      } catch (error) {
        return under({ ...at(`reading it threw ${textOf(error)}`), cause: error }, key);
      }
      const found = this.look(item, key, depth);
      if (found !== undefined) return under(found, key);
    }
    return undefined;
  }
}

const NAME = /^[A-Za-z_$][\w$]{0,99}$/;

function pathText(path: ReadonlyArray<string | number>): string {
  let text = "";
  for (const step of path) {
    if (typeof step === "number") text += `[${step}]`;
    else if (NAME.test(step)) text += text === "" ? step : `.${step}`;
    else text += `[${quote(step)}]`;
  }
  return text.length > 400 ? `${text.slice(0, 200)} ... ${text.slice(-200)}` : text;
}

const at = (why: string): Found => ({ path: [], why });

/** Adds an outer step to the path of a found value. */
function under(found: Found, step: string | number): Found {
  found.path.push(step);
  return found;
}

function isMessageRecord(value: unknown): value is { kwargs: object } {
  const record = value as { lc?: unknown; kwargs?: unknown } | null;
  if (typeof record !== "object" || record?.lc !== 1) return false;
  return typeof record.kwargs === "object" && record.kwargs !== null;
}

/** LangChain's toJSON copies the fields of a message. Returns the fields themselves. */
function fieldsOf(message: object, kwargs: object): object {
  const own = message as Record<string, unknown>;
  return Object.fromEntries(Object.entries(kwargs).map(([key, value]) => [key, key in own ? own[key] : value]));
}

/** Returns true if the serializer has a format for the object, so that its properties do not matter. */
function isKept(value: object): boolean {
  return types.isUint8Array(value) || types.isNativeError(value) || types.isRegExp(value);
}

const nameOf = (value: object): string => Object.prototype.toString.call(value).slice(8, -1);
