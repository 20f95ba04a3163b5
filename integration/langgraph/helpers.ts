/** What the tests share: savers that are closed, and folders that are removed, when the running test ends. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Annotation } from "@langchain/langgraph";
import {
  type Checkpoint,
  type CheckpointMetadata,
  emptyCheckpoint,
  uuid6,
} from "@langchain/langgraph-checkpoint";
import { ForkpointSaver, type SaverOptions } from "forkpoint/langgraph";
import { onTestFinished } from "vitest";

/** A folder that nobody else has, to be removed by who asked for it. */
export function temporary(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), "forkpoint-langgraph-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }) };
}

/** A folder of the running test's own. */
export function folder(): string {
  const { path, remove } = temporary();
  onTestFinished(remove);
  return path;
}

/** Every kind of store that the same tests run over. */
export const kinds = ["memory", "sqlite"] as const;

export type Kind = (typeof kinds)[number];

/** A new place for a store. */
export function place(kind: Kind): string {
  return kind === "memory" ? "memory:" : join(folder(), "graph.db");
}

/** A saver that is closed when the running test ends, before its folder is removed. */
export function open(target: string, options?: SaverOptions): ForkpointSaver {
  const made = new ForkpointSaver(target, options);
  onTestFinished(() => made.close());
  return made;
}

/** A saver in a new place. */
export function saver(kind: Kind, options?: SaverOptions): ForkpointSaver {
  return open(place(kind), options);
}

/** The config of a thread, or of a checkpoint in it. */
export function thread(thread_id = "thread", rest: { checkpoint_ns?: string; checkpoint_id?: string } = {}) {
  return { configurable: { thread_id, ...rest } };
}

let made = 0;

/** A checkpoint as a graph makes them, newer than all before it. */
export function checkpoint(fields: Partial<Checkpoint> = {}): Checkpoint {
  made += 1;
  return { ...emptyCheckpoint(), id: uuid6(made % 0x3fff), ...fields };
}

/** What goes with a checkpoint, further keys of one's own included. */
export function metadata<Fields extends object>(fields: Fields = {} as Fields): CheckpointMetadata<Fields> {
  return { source: "loop", step: 0, parents: {}, ...fields };
}

/** Everything that an iteration yields. */
export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** The state of most graphs here: what was said, in order. */
export const Log = Annotation.Root({
  log: Annotation<string[]>({ reducer: (before, said) => [...before, ...said], default: () => [] }),
});

/** A node that says something. */
export const says = (word: string) => () => ({ log: [word] });

/** Waits until it is so, letting everything else go on. */
export async function until(so: () => Promise<boolean>): Promise<void> {
  while (!(await so())) await new Promise((resolve) => setImmediate(resolve));
}

/** What comes of waiting for a promise that must be rejected. */
export async function rejection(promise: Promise<unknown>): Promise<Error & { code?: unknown }> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof Error) return error;
    throw new TypeError(`rejected with what is no error: ${String(error)}`, { cause: error });
  }
  throw new Error("the promise was not rejected");
}
