// Checkpoints as AgentOS makes them, and how they are compared.
import assert from "node:assert/strict";
import { inspect } from "node:util";
import type { Trial } from "../../suite/types.js";
import type { Checkpoint, CheckpointMetadata, Store } from "./store.js";

export type Agentos = Trial<Store>;

/** AgentOS makes UUIDs for checkpoints and runs. */
const uuid = (kind: string, n: number) => `${kind}0000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
export const id = (n: number): string => uuid("c", n);
export const run = (n: number): string => uuid("a", n);

/** AgentOS makes ids of this form for graphs. */
export const graph = "graph-trip-1700000000000";
export const time = 1_700_000_000_000;

/** Returns a checkpoint. Default: that of the first step of the first run. */
export function checkpoint(fields: Partial<Checkpoint> & Record<string, unknown> = {}): Checkpoint {
  return {
    id: id(1),
    graphId: graph,
    runId: run(1),
    nodeId: "search",
    timestamp: time,
    state: {
      input: { city: "Lisbon", nights: 3 },
      scratch: { notes: ["a", "b"], deep: { one: { two: [1, 2, { three: null }] } } },
      artifacts: { price: 180.5, isBooked: false },
      diagnostics: {
        totalTokensUsed: 7,
        totalDurationMs: 1.5,
        nodeTimings: {},
        discoveryResults: {},
        guardrailResults: {},
        checkpointsSaved: 1,
        memoryReads: 0,
        memoryWrites: 0,
      },
    },
    nodeResults: { search: { effectClass: "read", output: { hotel: "Grand Hotel" }, durationMs: 0.25 } },
    visitedNodes: ["search"],
    skippedNodes: [],
    pendingEdges: ["search->book"],
    ...fields,
  };
}

/** Returns a checkpoint with this scratch. */
export function holding(scratch: unknown, fields: Partial<Checkpoint> = {}): Checkpoint {
  const whole = checkpoint(fields);
  return { ...whole, state: { ...whole.state, scratch } };
}

const show = (value: unknown) => inspect(value, { depth: 6, maxStringLength: 200, maxArrayLength: 20 });

/** Returns true if both are objects or arrays, of the same kind. */
const areAlike = (one: unknown, other: unknown) =>
  typeof one === "object" &&
  typeof other === "object" &&
  one !== null &&
  other !== null &&
  Array.isArray(one) === Array.isArray(other) &&
  Object.keys(one).length === Object.keys(other).length;

/** Returns where and how a value differs from what was expected, or undefined if it doesn't. */
function difference(found: unknown, expected: unknown, at: string): string | undefined {
  try {
    assert.deepEqual(found, expected);
    return undefined;
  } catch {
    if (areAlike(found, expected) && at.length < 500)
      for (const [key, value] of Object.entries(expected as object)) {
        const within = difference((found as Record<string, unknown>)[key], value, `${at}.${key}`);
        if (within !== undefined) return within;
      }
    return `${at} is ${show(found)}, and was saved as ${show(expected)}`;
  }
}

/** Expects a checkpoint with these fields. Fields that a store adds are fine. */
export function same(found: Checkpoint | null, expected: Checkpoint, what: string): asserts found is Checkpoint {
  assert.ok(found !== null && found !== undefined, `${what} is ${found}, and must be the checkpoint ${expected.id}`);
  for (const [key, value] of Object.entries(expected)) {
    const message = difference((found as unknown as Record<string, unknown>)[key], value, key);
    if (message !== undefined) assert.fail(`${what}: ${message}`);
  }
}

/** Expects that nothing was found. */
export function none(found: unknown, what: string): void {
  assert.equal(found, null, `${what} must be null, and is ${show(found)}`);
}

export const ids = (listed: ReadonlyArray<CheckpointMetadata>): string[] => listed.map((one) => one.id);

/** Returns the error of a promise, or undefined if it does not reject. What is thrown must be an `Error`. */
export async function rejection(promise: Promise<unknown>, what: string): Promise<Error | undefined> {
  try {
    await promise;
    return undefined;
  } catch (error) {
    assert.ok(error instanceof Error, `${what} must reject with an Error, and rejects with ${show(error)}`);
    return error;
  }
}

/** Saves the checkpoints one after the other. */
export async function saveAll(store: Store, ...all: readonly Checkpoint[]): Promise<void> {
  for (const one of all) await store.save(one);
}

/** Saves a checkpoint that must be returned as it was saved, or rejected without a trace. */
export async function keepsOrRejects(store: Store, saved: Checkpoint, what: string): Promise<void> {
  const error = await rejection(store.save(saved), `save() of ${what}`);
  if (error === undefined) same(await store.get(saved.id), saved, `a checkpoint with ${what}`);
  else none(await store.get(saved.id).catch(() => null), `a checkpoint with ${what} whose save() was rejected`);
}
