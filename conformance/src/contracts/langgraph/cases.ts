// What the expectations save, and how results are compared.
import { isDeepStrictEqual, inspect } from "node:util";
import { AssertionError } from "node:assert/strict";
import type { Checkpoint, Config, ListOptions, Metadata, Saver, Tuple, Versions, Write } from "./store.js";

/** Where the contract is described. */
export const types = "documented: types of @langchain/langgraph-checkpoint, ";
export const published = "documented: @langchain/langgraph-checkpoint-validation, ";

/** Returns the id of a step. Ids of later steps are greater. */
export const id = (step: number) => `1efcf4a1-0000-6000-8000-${step.toString(16).padStart(12, "0")}`;

/** Returns the config of a thread, of a namespace or of a checkpoint. */
export function at(thread_id = "thread", checkpoint_ns?: string, checkpoint_id?: string): Required<Config> {
  return {
    configurable: {
      thread_id,
      ...(checkpoint_ns !== undefined && { checkpoint_ns }),
      ...(checkpoint_id !== undefined && { checkpoint_id }),
    },
  };
}

/** Returns the config of a step's checkpoint. */
export const atStep = (step: number, thread_id = "thread", ns = "") => at(thread_id, ns, id(step));

/** Returns the same version for each channel of `values`. */
export const versionsOf = (values: object, version: number | string): Versions =>
  Object.fromEntries(Object.keys(values).map((channel) => [channel, version]));

/** Returns the checkpoint of a step, as a graph makes it. */
export function checkpoint(
  step: number,
  values: Record<string, unknown> = {},
  versions: Versions = versionsOf(values, step),
): Checkpoint {
  const ts = new Date(1_700_000_000_000 + step * 1_000).toISOString();
  return { v: 4, id: id(step), ts, channel_values: values, channel_versions: versions, versions_seen: {} };
}

export const metadata = (more: Metadata = {}): Metadata => ({ source: "loop", step: 0, parents: {}, ...more });

/** What `save` puts. */
export interface Step {
  /** Default: the root namespace of "thread", without a parent. */
  on?: Config;
  values?: Record<string, unknown>;
  /** Default: the number of the step, for each channel of `values`. */
  versions?: Versions;
  /** The channels that are new in this checkpoint. Default: all of `versions`. */
  fresh?: Versions;
  metadata?: Metadata;
}

/** Puts the checkpoint of a step. Returns its config. */
export function save(store: Saver, step: number, { on = at(), values = {}, metadata: more, ...rest }: Step = {}) {
  const { versions = versionsOf(values, step), fresh = versions } = rest;
  return store.put(on, checkpoint(step, values, versions), metadata({ step, ...more }), fresh);
}

export async function all(items: AsyncIterable<Tuple>): Promise<Tuple[]> {
  const found: Tuple[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** Returns the ids of the checkpoints that are listed. */
export async function idsOf(store: Saver, config: Config, options?: ListOptions): Promise<string[]> {
  return (await all(store.list(config, options))).map((tuple) => tuple.checkpoint.id);
}

/** Returns the values of a checkpoint's channels. */
export async function valuesAt(store: Saver, config: Config): Promise<Record<string, unknown> | undefined> {
  return (await store.getTuple(config))?.checkpoint.channel_values;
}

/** Returns the pending writes of a checkpoint, in the order in which the store returns them. */
export async function writesAt(store: Saver, config: Config) {
  const tuple = await store.getTuple(config);
  if (tuple === undefined) throw new AssertionError({ message: `no checkpoint was found at ${show(config)}` });
  return tuple.pendingWrites;
}

/** Returns writes of one value each. */
export const writes = (...each: Write[]): Write[] => each;

/** Returns pending writes as they are expected: each has its task, its channel and its value. */
export const pending = (...each: unknown[][]): unknown[][] => each;

/** Sorts rows whose order the contract leaves open. */
export const sorted = <T>(rows: readonly T[] | undefined): T[] =>
  (rows ?? []).toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));

/** Returns a value without differences that the contract leaves open: prototypes, the class of bytes, absent keys. */
export function normal(value: unknown): unknown {
  if (value instanceof Uint8Array) return new Uint8Array(value);
  if (Array.isArray(value)) return value.map(normal);
  if (value instanceof Map) return new Map([...value].map(([key, one]) => [normal(key), normal(one)]));
  if (value instanceof Set) return new Set([...value].map(normal));
  if (typeof value !== "object" || value === null) return value;
  if (![Object.prototype, null].includes(Object.getPrototypeOf(value))) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, one]) => (one === undefined ? [] : [[key, normal(one)]])),
  );
}

const show = (value: unknown) => {
  const options = { depth: 6, breakLength: Number.POSITIVE_INFINITY, maxArrayLength: 12, maxStringLength: 60 };
  const text = inspect(value, options).replaceAll(/\s+/g, " ");
  return text.length > 240 ? `${text.slice(0, 240)}…` : text;
};

/** Throws if the values differ. `what` names the value. */
export function same(actual: unknown, expected: unknown, what: string): void {
  const [found, wanted] = [normal(actual), normal(expected)];
  if (isDeepStrictEqual(found, wanted)) return;
  const message = `${what} must be ${show(wanted)}, and is ${show(found)}`;
  throw new AssertionError({ message, actual: found, expected: wanted });
}

/** Returns the error with which a call rejects, or undefined. */
export async function errorOf(call: () => unknown): Promise<unknown> {
  try {
    await call();
    return undefined;
  } catch (error) {
    return error ?? new Error("rejected with nothing");
  }
}
