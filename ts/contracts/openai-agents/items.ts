/** The items of a session: checks and copies them, replaces calls, and finds where a trim may cut. */

import type { AgentInputItem, SessionHistoryRewriteArgs } from "@openai/agents";
import { isArray, rangeError, readingArgument, show, typeError } from "../../bridge/errors.js";
import { copyOf } from "../../bridge/serializer.js";
import type { Engine } from "../../store/engine.js";
import { packRecords } from "../shared/records.js";

/** Items in one buffer. */
export type Packed = ReturnType<typeof packRecords>;

/** The fields of an item that calls use. */
type Item = AgentInputItem & { type?: string; callId?: string };

/** Checks and copies mutations. Returns a function that applies them. Unchanged items stay the same objects. */
export function applyMutations(args: SessionHistoryRewriteArgs): (items: AgentInputItem[]) => AgentInputItem[] {
  const mutations = readingArgument("args", () => {
    const list: unknown = args.mutations;
    if (!isArray(list)) throw typeError(`mutations must be an array, but is ${show(list)}`);
    return Array.from(list, readMutation);
  });
  return (items) => mutations.reduce((before, { callId, replacement }) => replaced(before, callId, replacement), items);
}

function readMutation(mutation: unknown, at: number): { callId: string; replacement: AgentInputItem } {
  const { type, callId, replacement } = (mutation ?? {}) as Record<string, unknown>;
  const path = `mutations[${at}]`;
  if (type !== "replace_function_call") throw typeError(`${path}.type must be "replace_function_call"`);
  if (typeof callId !== "string") throw typeError(`${path}.callId must be a string, but is ${show(callId)}`);
  if (typeof replacement !== "object" || replacement === null) {
    throw typeError(`${path}.replacement must be an object, but is ${show(replacement)}`);
  }
  return { callId, replacement: copyOf(replacement, `${path}.replacement`) as AgentInputItem };
}

function replaced(items: Item[], callId: string, replacement: AgentInputItem): AgentInputItem[] {
  const isCall = (item: Item) => item.type === "function_call" && item.callId === callId;
  const first = items.findIndex(isCall);
  return items.flatMap((item, at) => (at === first ? [replacement] : isCall(item) ? [] : [item]));
}

/**
 * Returns the index of the first call without a result at the end of the items. A run may wait for its approval, and
 * adds the result when it is resumed. Undefined: there is none.
 */
export function waitingCall(items: readonly Item[]): number | undefined {
  const results = new Set(items.filter(({ type }) => isResult(type)).map(({ callId }) => callId));
  // A later message means that the call was given up.
  const from = items.findLastIndex(({ type = "message" }) => type === "message") + 1;
  const waits = ({ type = "", callId }: Item) => type.endsWith("_call") && callId !== undefined && !results.has(callId);
  const at = items.slice(from).findIndex(waits);
  return at < 0 ? undefined : from + at;
}

/**
 * Returns how many of the oldest items may be removed to keep this many. A call stays with its result, even a future
 * one, and a reasoning item with the item after it.
 */
export function cutOf(items: Item[], keep: number): number {
  for (let cut = Math.min(Math.max(items.length - keep, 0), waitingCall(items) ?? items.length); cut > 0; cut--) {
    const before = items.slice(0, cut);
    const calls = new Set(before.filter(({ type }) => !isResult(type)).map(({ callId }) => callId));
    const splits = items
      .slice(cut)
      .some(({ type, callId }) => isResult(type) && callId !== undefined && calls.has(callId));
    if (!splits && before.at(-1)?.type !== "reasoning") return cut;
  }
  return 0;
}

const isResult = (type = ""): boolean => /_(?:result|output)$/.test(type);

/** The number of items to read. Undefined: all. */
export function limitOf(limit: unknown): number | undefined {
  if (limit === undefined || limit === Number.POSITIVE_INFINITY) return undefined;
  if (typeof limit !== "number") throw typeError(`limit must be a number of items, but is ${show(limit)}`);
  if (limit <= 0) return 0;
  if (!Number.isInteger(limit)) throw rangeError(`limit must be a whole number of items, but is ${limit}`);
  return Math.min(limit, Number.MAX_SAFE_INTEGER);
}

export function listOf(items: unknown, what: string): unknown[] {
  if (!isArray(items)) throw typeError(`${what} must be an array of items, but is ${show(items)}`);
  // Unlike map(), Array.from() also visits the holes of an array.
  return readingArgument(what, () => Array.from(items));
}

/** Copies items into one buffer. Undefined: there are none. */
export function pack(items: readonly unknown[], { format }: Engine): Packed | undefined {
  if (items.length === 0) return undefined;
  const serialized = items.map((item, at) => {
    if (typeof item !== "object" || item === null || isArray(item)) {
      throw typeError(`items[${at}] must be an object, but is ${show(item)}`);
    }
    return format.serialize(item, `items[${at}]`);
  });
  return packRecords(serialized);
}
