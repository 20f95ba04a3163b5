/**
 * The only importer of the addon. A call is given a ticket; what comes of it is fetched from the addon's mailbox and
 * settles the call's promise.
 */

import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type { ErrorCode, ResumePlan } from "../index.js";
import { ForkpointError } from "./errors.js";
import type { Part } from "./parcel.js";

/** A checkpoint of another store. */
export type ImportedCheckpoint = [
  namespace: string,
  id: string,
  parent: string | null | undefined,
  whole: Part,
  metadata: Part,
];

/** A write of another store; its part is named by the channel. */
export type ImportedWrite = [task: string, index: number, part: Part];

/** A SqliteSaver's database. */
export interface NativeSqliteSaver {
  threads(): Promise<Read>; // string[]
  checkpoints(threadId: string, namespace: string, id: string, limit: number): Promise<Read>; // ImportedCheckpoint[]
  writes(threadId: string, namespace: string, id: string): Promise<Read>; // ImportedWrite[]
  orphans(threadId: string): Promise<Read>; // [namespace, id][]
}

type Read = [rows: unknown, error: Failure | null | undefined];

interface Failure {
  code: ErrorCode;
  message: string;
  retryable: boolean;
  outcomeUnknown: boolean;
  cause?: { message: string; code?: string | null; errno?: number | null } | null;
}

type Settled = [ticket: number, value: unknown, error: Failure | null | undefined];

/** A rule of retention: exactly one of these. Times in ms since the epoch. */
export type Rule = { savedBefore: number } | { keepLast: number } | { maxBytes: number };

/** Where a batch of pruning goes on: the engine's own. */
export interface Cursor {
  after: number;
  total?: number | null;
}

/** What a batch has removed; without a `next` the rule holds. */
export interface Pruned {
  removed: number;
  bytes: number;
  lineages: number;
  next?: Cursor | null;
}

/** What a store holds. */
export interface FoundStats {
  checkpoints: number;
  lineages: number;
  logicalBytes: number;
  storedBytes: number;
  fileBytes?: number | null;
  largest: Array<{ lineage: string; checkpoints: number; logicalBytes: number; storedBytes: number }>;
}

/** Null: the outcome comes by mail. */
export type Outcome = Settled | null;

/** A store's native handle. What each call resolves to stands behind it. */
export interface NativeStore {
  /** The absolute path of its file: two stores with the same one hold the same. Null for memory. */
  readonly place: string | null;
  ready(ticket: number): Outcome; // string | null
  close(ticket: number): Outcome; // null
  agentosSave(
    ticket: number,
    id: string,
    runId: string,
    graphId: string,
    nodeId: string,
    timestamp: number,
    hasMemorySnapshot: boolean,
    parent: string | undefined,
    savedAt: number,
    stateTag: string,
    state: Uint8Array,
    restTag: string,
    rest: Uint8Array,
  ): Outcome; // null
  /** Without a space, all of them. */
  prune(ticket: number, space: number | undefined, rule: Rule, cursor: Cursor | undefined, most: number): Outcome; // Pruned
  prunable(ticket: number, space: number | undefined, rules: Rule[]): Outcome; // Pruned
  stats(ticket: number, space: number | undefined, largest: number): Outcome; // FoundStats
  vacuum(ticket: number): Outcome; // null
  agentosDelete(ticket: number, checkpointId: string): Outcome; // null
  agentosGet(ticket: number, checkpointId: string): Outcome; // Parcel of Found | null
  agentosLoad(ticket: number, runId: string, nodeId: string | undefined): Outcome; // Parcel of Found | null
  agentosList(ticket: number, graphId?: string, runId?: string, limit?: number): Outcome; // string: Metadata[] in JSON
  agentosRuns(ticket: number, graphIdPrefix: string, limit: number, before: number | undefined): Outcome; // string: FoundRun[] in JSON
  agentiumSave(
    ticket: number,
    id: string,
    runId: string,
    stepIndex: number,
    stepName: string,
    createdAt: number,
    parent: string | undefined,
    rewind: boolean,
    savedAt: number,
    stateTag: string,
    state: Uint8Array,
    restTag: string,
    rest: Uint8Array,
  ): Outcome; // null
  agentiumDelete(ticket: number, checkpointId: string): Outcome; // null
  agentiumClear(ticket: number, runId: string): Outcome; // null
  /** The names of a checkpoint: its id, its run's. */
  agentiumLoad(ticket: number, checkpointId: string): Outcome; // Parcel of Named | null
  agentiumLatest(ticket: number, runId: string): Outcome; // Parcel of Named | null
  agentiumList(ticket: number, runId: string): Outcome; // Parcel of Named[]
  agentiumTimeline(ticket: number, runId: string): Outcome; // string: JSON
  agentiumRuns(ticket: number, limit: number, before: number | undefined): Outcome; // string: JSON
  storageSet(ticket: number, namespace: string, key: string, savedAt: number, tag: string, value: Uint8Array): Outcome; // null
  storageDelete(ticket: number, namespace: string, key: string): Outcome; // null
  langgraphPut(
    ticket: number,
    threadId: string,
    namespace: string,
    id: string,
    parent: string | undefined,
    names: string[],
    tags: string[],
    bytes: Uint8Array[],
    inherit: string[],
    given: number,
    metadataTag: string,
    metadata: Uint8Array,
    savedAt: number,
    difference: boolean,
    only: boolean,
  ): Outcome; // null
  langgraphPutWrites(
    ticket: number,
    threadId: string,
    namespace: string,
    id: string,
    task: string,
    indexes: number[],
    channels: string[],
    tags: string[],
    bytes: Uint8Array[],
    replace: boolean,
    owners?: string[],
  ): Outcome; // null
  langgraphGet(ticket: number, threadId: string, namespace: string, id?: string): Outcome; // Parcel of FoundTuple | null
  langgraphAncestors(
    ticket: number,
    threadId: string,
    namespace: string,
    id: string,
    channels: string[],
    limit: number,
  ): Outcome; // Parcel of FoundTuple[]
  langgraphList(
    ticket: number,
    threadId: string | undefined,
    namespace: string | undefined,
    before: string | undefined,
    limit: number,
  ): Outcome; // Parcel of ListedTuple[]
  langgraphThreads(ticket: number, before: number | undefined, limit: number): Outcome; // Parcel of FoundThread[]
  langgraphDeleteThread(ticket: number, threadId: string): Outcome; // null
  langgraphDelete(ticket: number, threadId: string, namespaces: string[], ids: string[], removed: number): Outcome; // null
  /** The name of a value: its key. */
  storageGet(ticket: number, namespace: string, key: string): Outcome; // Parcel of Named | null
  storageList(ticket: number, namespace: string, prefix: string): Outcome; // Parcel of Named[]
}

/** The steps of a workflow, for the engine. */
export interface NativeWorkflow {
  readonly opaque: unique symbol;
}

/** What a run is to do: see `ts/agentium/execution.ts`. */
export type Command = [
  what: string,
  a: number,
  b: number,
  c: number,
  text: string | null,
  more: string | null,
  slots: number[],
];

/** A run of a workflow, as the engine sees it. */
export interface NativeRun {
  on(event: string, step?: number, attempt?: number, yes?: boolean): string; // Command[] in JSON
  loaded(id: string, runId: string, stepIndex: number, stepName: string): string; // the same
}

interface Bridge {
  take(): [done: number[], others: Settled[], again: boolean] | null;
  drain(): void;
}

interface Binding {
  Bridge: new (wake: () => void) => Bridge;
  NativeStore: new (
    bridge: Bridge,
    target: string,
    options: {
      durability: string;
      busyTimeout: number;
      maxPayloadBytes: number;
      cacheBytes: number;
      keepLastN: number | undefined;
      ttl: number | undefined;
      maxBytes: number | undefined;
    },
  ) => NativeStore;
  NativeSqliteSaver: new (path: string) => NativeSqliteSaver;
  NativeWorkflow: new (
    names: string[],
    kinds: string[],
    parents: number[],
    maxRetries: number,
    backoffMs: number,
  ) => NativeWorkflow;
  NativeRun: new (
    workflow: NativeWorkflow,
    runId: string,
    mode: "plain" | "fresh" | "resume" | "replay" | "branch" | "mutate",
    from: string | undefined,
    force: boolean,
    onError: "fail" | "continue" | "ask",
  ) => NativeRun;
  AGENTOS_SPACE: number;
  AGENTIUM_SPACE: number;
  STORAGE_SPACE: number;
  LANGGRAPH_SPACE: number;
  release(buffer: ArrayBuffer): void;
  agentosResumePlan(nodes: string[], classes: string[], visited: string[], skipped: string[]): ResumePlan;
}

/** What the addon may be called for this platform; a Linux may have either C library. */
function candidates(): string[] {
  const { platform, arch } = process;
  if (platform === "linux") return [`linux-${arch}-gnu`, `linux-${arch}-musl`];
  if (platform === "win32") return [`win32-${arch}-msvc`];
  return [`${platform}-${arch}`];
}

function load(): Binding {
  const require = createRequire(import.meta.url);
  const tried: string[] = [];
  for (const platform of candidates()) {
    // Built here, or installed from the registry.
    for (const place of [fileURLToPath(new URL(`../forkpoint.${platform}.node`, import.meta.url)), `forkpoint-${platform}`]) {
      try {
        return require(place) as Binding;
      } catch (error) {
        tried.push(`  ${place}: ${error instanceof Error ? error.message.split("\n")[0] : String(error)}`);
      }
    }
  }
  throw new ForkpointError(
    "UNSUPPORTED",
    `forkpoint has no addon for ${process.platform}-${process.arch} here. Tried:\n${tried.join("\n")}\n` +
      "Install again without --omit=optional and on this platform (not with a node_modules copied from another), " +
      "or build it from the repository with `npm ci && npm run build` (needs Rust).",
  );
}

const binding = load();

/** Who waits for a ticket's outcome. `store` is held so that it is not collected while it works for somebody. */
interface Pending {
  store: NativeStore;
  resolve: (value: unknown) => void;
  reject: (error: Error) => void;
}

const pending = new Map<number, Pending>();
let lastTicket = 0;

/** The ticket of no call: what comes with it is a warning. */
const WARNING = 0;

/** Holds the process while a promise is pending, and only then; its time never comes. */
const hold = setInterval(() => {}, 0x7fffffff).unref();

const bridge = new binding.Bridge(look);
// The addon's own hook does not run on process.exit() and after an uncaught throw.
process.on("exit", () => bridge.drain());

/** Settles what has come. Where there is much, it looks again in the next turn: timers and I/O come in between. */
function look(): void {
  const batch = bridge.take();
  if (batch === null) return;
  const [done, others, again] = batch;
  for (const ticket of done) settle(ticket, null, null);
  for (const [ticket, value, error] of others) settle(ticket, value, error);
  if (pending.size === 0) hold.unref();
  if (again) setImmediate(look);
}

function settle(ticket: number, value: unknown, error: Failure | null | undefined): void {
  if (ticket === WARNING && error) return warn(error);
  const waiting = pending.get(ticket);
  if (waiting === undefined) return;
  pending.delete(ticket);
  if (error) waiting.reject(failure(error));
  else waiting.resolve(value);
}

function failure({ code, message, retryable, outcomeUnknown, cause }: Failure): ForkpointError {
  return new ForkpointError(code, message, {
    retryable,
    ...(outcomeUnknown && { outcome: "unknown" as const }),
    ...(cause && { cause: causeOf(cause) }),
  });
}

function causeOf({ message, code, errno }: NonNullable<Failure["cause"]>): Error {
  const cause = Object.assign(new Error(message), code != null && { code }, errno != null && { errno });
  // It comes from no place in JavaScript.
  cause.stack = String(cause);
  return cause;
}

/** Tells what failed in the background, where no call can reject. */
function warn({ message, cause }: Failure): void {
  const warning = new Error(message, cause ? { cause: causeOf(cause) } : undefined);
  process.emitWarning(Object.assign(warning, { name: "ForkpointWarning", code: "FORKPOINT_SWEEP_FAILS" }));
}

/** Runs a call on the store; the promise settles with what comes of it. */
export function call<T>(store: NativeStore, submit: (ticket: number) => Outcome): Promise<T> {
  do lastTicket = (lastTicket + 1) >>> 0;
  while (lastTicket === WARNING || pending.has(lastTicket));
  const ticket = lastTicket;
  const outcome = submit(ticket);
  if (outcome !== null) {
    const [, value, error] = outcome;
    return error ? Promise.reject(failure(error)) : Promise.resolve(value as T);
  }
  return new Promise<T>((resolve, reject) => {
    if (pending.size === 0) hold.ref();
    pending.set(ticket, { store, resolve: resolve as (value: unknown) => void, reject });
  });
}

/** Asks another store's database. */
export async function read<T>(ask: () => Promise<Read>): Promise<T> {
  const [rows, error] = await ask();
  if (error) throw failure(error);
  return rows as T;
}

/** Smaller ones are left to the collector. */
const WORTH_RELEASING = 4 << 10;

/**
 * Gives the memory of bytes back that nobody uses any more, and that share it with nobody. Until it is collected it counts, so that
 * V8 would collect garbage, and look through all of the program's objects, every few dozen megabytes.
 */
export function release(buffer: ArrayBufferLike): void {
  // Node goes on with its pool, also where two values fill it.
  if (!(buffer instanceof ArrayBuffer) || buffer.byteLength === Buffer.poolSize) return;
  if (buffer.byteLength >= WORTH_RELEASING) binding.release(buffer);
}

/** Runs what throws an error of the engine's from the call itself. */
export function direct<T>(run: (binding: Binding, bridge: Bridge) => T): T {
  try {
    return run(binding, bridge);
  } catch (error) {
    const thrown = error as { code: ErrorCode; message: string; failure?: Failure };
    throw thrown.failure ? failure(thrown.failure) : new ForkpointError(thrown.code, thrown.message);
  }
}
