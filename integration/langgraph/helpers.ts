/** Helpers of the tests. Savers are closed and folders are removed when the running test ends. */

import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  Annotation,
  type AnnotationRoot,
  DeltaChannel,
  type LangGraphRunnableConfig,
  START,
  type StateDefinition,
  StateGraph,
  type StateType,
  type UpdateType,
} from "@langchain/langgraph";
import { type Checkpoint, type CheckpointMetadata, emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { type Store, type StoreOptions, isForkpointError, openStore } from "forkpoint";
import { openInspector } from "forkpoint/inspect";
import { ForkpointSaver, type SaverOptions } from "forkpoint/langgraph";
import { onTestFinished } from "vitest";

/** Makes a new folder. The caller must call `remove`. */
export function temporary(): { path: string; remove: () => void } {
  const path = realpathSync.native(mkdtempSync(join(tmpdir(), "forkpoint-langgraph-")));
  return { path, remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }) };
}

/** Makes a new folder for the running test. The folder is removed when the test ends. */
export function folder(): string {
  const { path, remove } = temporary();
  onTestFinished(remove);
  return path;
}

export type Kind = "memory" | "sqlite" | "jsonl" | "postgres";

/** Makes a database on a server. Only the project that runs these tests on Postgres has it: `../postgres/setup.ts`. */
const { makeDatabase } = globalThis as { makeDatabase?: () => string };

/** The kinds of store that each test runs on. */
export const kinds: readonly Kind[] = makeDatabase ? ["postgres"] : ["memory", "sqlite", "jsonl"];

/** True in `../langgraph-newest`, where the long tests of what a store does are shorter: a version of LangGraph changes no store. */
export const isShort = process.env["FORKPOINT_TEST_SHORT"] === "1";

/** The kinds of store for long tests of what a store does. */
export const mainKinds: readonly Kind[] = isShort ? ["memory"] : kinds;

/** The kinds of store that several processes can use at once. */
export const sharedKinds: readonly Kind[] = kinds.filter((kind) => kind !== "memory");

/** The kinds of store for tests that need two of them. */
export const everyKind: readonly Kind[] = makeDatabase ? ["memory", "sqlite", "jsonl", "postgres"] : kinds;

/** The kind of store for tests of what a process leaves behind. */
export const durable: Kind = makeDatabase ? "postgres" : "sqlite";

/** Returns the target for a new store in a folder, if it has files. */
export function placeIn(path: string, kind: Kind): string {
  if (kind === "memory") return "memory:";
  if (kind === "postgres") return makeDatabase!();
  return kind === "jsonl" ? `jsonl:${join(path, "graph")}` : join(path, "graph.db");
}

/** Returns the target for a new store of the running test. */
export const place = (kind: Kind): string => placeIn(kind === "memory" || kind === "postgres" ? "" : folder(), kind);

/** Opens a saver that is closed when the running test ends, before the saver's folder is removed. */
export function open(target: string, options?: SaverOptions): ForkpointSaver {
  const made = new ForkpointSaver(target, options);
  onTestFinished(async () => {
    try {
      // A test may have removed, closed or damaged its store.
      const ignored = (error: Error) => {
        if (!isForkpointError(error)) throw error;
      };
      const isFile = typeof target === "string" && !/^(memory|postgres):/.test(target);
      if (isFile) await compareStatuses(target, made).catch(ignored);
    } finally {
      await made.close();
    }
  });
  return made;
}

/** Opens a store for several objects. It is closed when the running test ends. */
export async function openShared(target: string, options?: StoreOptions): Promise<Store> {
  const store = await openStore(target, options);
  onTestFinished(() => store.close());
  return store;
}

/** Compares the statuses that the store keeps with those that follow from the values of the newest checkpoints. */
async function compareStatuses(target: string, on: ForkpointSaver): Promise<void> {
  await using inspector = await openInspector(target);
  const { items } = await inspector.runs({ space: "langgraph", limit: 200 });
  const wrong = [];
  for (const { run, status: kept } of items) {
    const derived = (await on.status(run))?.status;
    if (derived !== undefined && kept !== derived) wrong.push({ run, kept, derived });
  }
  if (wrong.length > 0) throw new Error(`the store keeps other statuses: ${JSON.stringify(wrong)}`);
}

/** Opens a saver on a new store. */
export function saver(kind: Kind, options?: SaverOptions): ForkpointSaver {
  return open(place(kind), options);
}

/** Makes the config of a thread, or of a checkpoint in it. */
export function thread(thread_id = "thread", rest: { checkpoint_ns?: string; checkpoint_id?: string } = {}) {
  return { configurable: { thread_id, ...rest } };
}

let made = 0;

/** Makes a checkpoint as a graph does. Its id is greater than all earlier ids. */
export function checkpoint(fields: Partial<Checkpoint> = {}): Checkpoint {
  made += 1;
  return { ...emptyCheckpoint(), id: uuid6(made % 0x3fff), ...fields };
}

/** Makes a checkpoint's metadata and adds the given keys. */
export function metadata<Fields extends object>(fields: Fields = {} as Fields): CheckpointMetadata<Fields> {
  return { source: "loop", step: 0, parents: {}, ...fields };
}

/** Returns everything that an iterator yields. */
export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** The state of most graphs in these tests: a list of words in order. */
export const Log = Annotation.Root({
  log: Annotation<string[]>({ reducer: (before, said) => [...before, ...said], default: () => [] }),
});

/** The nodes of a graph by their names: functions, or compiled graphs. */
type Nodes<D extends StateDefinition> = Record<
  string,
  ((state: StateType<D>, config: LangGraphRunnableConfig) => unknown) | { invoke: unknown }
>;

function graphOf<D extends StateDefinition>(state: AnnotationRoot<D>, nodes: Nodes<D>, before: (at: number) => string) {
  const graph = new StateGraph(state) as unknown as StateGraph<D, StateType<D>, UpdateType<D>, string>;
  for (const [name, node] of Object.entries(nodes)) graph.addNode(name, node as never);
  for (const [at, name] of Object.keys(nodes).entries()) graph.addEdge(before(at) as typeof START, name);
  return graph;
}

/** Makes a graph that runs these nodes one after the other. */
export const sequence = <D extends StateDefinition>(state: AnnotationRoot<D>, nodes: Nodes<D>) =>
  graphOf(state, nodes, (at) => Object.keys(nodes)[at - 1] ?? START);

/** Makes a graph that runs these nodes in one step. */
export const sideBySide = <D extends StateDefinition>(state: AnnotationRoot<D>, nodes: Nodes<D>) =>
  graphOf(state, nodes, () => START);

/**
 * Makes a graph of two nodes with delta channels. Every `snapshotFrequency` updates, the whole log is stored as a snapshot. The updates
 * between two snapshots are stored as writes. `rare` is written in the first round only, if at all: then each later checkpoint needs
 * the first one.
 */
export function deltas(checkpointer: ForkpointSaver, snapshotFrequency = 1_000, isRare = true) {
  const added = (before: string[], more: string[][]) => [...before, ...more.flat()];
  const channel = (() =>
    new DeltaChannel<string[], string[]>(added, { snapshotFrequency })) as never as typeof Annotation<string[]>;
  const rare = (isRare ? { rare: channel } : {}) as { rare: typeof channel };
  const State = Annotation.Root({ log: channel, ...rare, round: Annotation<number> });
  return sequence(State, {
    a: ({ round }) => ({ log: [`a${round}`], ...(isRare && round === 1 && { rare: ["once"] }) }),
    b: ({ round }) => ({ log: [`b${round}`] }),
  }).compile({ checkpointer });
}

/** Makes a node that appends a word. */
export const says = (word: string) => () => ({ log: [word] });

/** Waits until the condition is true. The event loop can turn while this function waits. */
export async function until(so: () => Promise<boolean>): Promise<void> {
  while (!(await so())) await new Promise((resolve) => setImmediate(resolve));
}

/** Returns the error of a promise that must reject. */
export async function rejection(promise: Promise<unknown>): Promise<Error & { code?: unknown }> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof Error) return error;
    throw new TypeError(`rejected with what is no error: ${String(error)}`, { cause: error });
  }
  throw new Error("the promise was not rejected");
}
