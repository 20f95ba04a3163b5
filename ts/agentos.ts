import { randomUUID } from "node:crypto";
import type {
  CheckOptions,
  Checkpoint,
  CheckpointMetadata,
  CheckpointStats,
  CheckpointStore as Contract,
  PruneOptions,
  ResumePlan,
  RunPruneResult,
  RunsPage,
  StatePartitions,
  StatsOptions,
  StoreOptions,
  VerifyReport,
  resumePlan as resumePlanContract,
} from "../index.js";
import { agentos, rowsOf } from "./agentos/wire.js";
import type { Engine } from "./engine.js";
import { ForkpointError, quote, rangeError, reading, show, typeError } from "./errors.js";
import { StoreHandle } from "./handle.js";
import { idOrNull, requireId } from "./ids.js";
import { type NativeStore, Tool } from "./native.js";
import { pageOptions, readRecord } from "./options.js";
import { decodeCheckpoint, detachBuffers, encodeCheckpoint, stateAndRest } from "./record.js";
import { type Serialized, deserialize } from "./serializer.js";
import { type Open, type PackedPart, type Part, parse } from "./wire.js";

/** The fields of a checkpoint that are stored separately from its serialised parts. */
interface Fields extends Omit<CheckpointMetadata, "stateSize"> {
  parent: string | undefined;
}

/** A checkpoint as the engine returns it: its fields, and its parts as bytes. */
interface Found {
  metadata: CheckpointMetadata;
  parts: Part[];
}

const openFound: Open<CheckpointMetadata & { parts: PackedPart[] }, Found> = (found, part) => ({
  metadata: found,
  parts: found.parts.map(part),
});

const partitions = ["input", "scratch", "artifacts", "diagnostics"] as const;

export class CheckpointStore implements Contract {
  readonly #handle: StoreHandle;

  constructor(target: string | URL | Contract | object, options?: StoreOptions) {
    this.#handle = new StoreHandle(target, options, agentos);
  }

  save(checkpoint: Checkpoint): Promise<void> {
    return this.#handle.run(async (engine) => {
      const { fields, state, rest } = snapshot(checkpoint, engine);
      await put(engine, fields, state, rest);
      detachBuffers(state, rest);
    });
  }

  get(checkpointId: string): Promise<Checkpoint | null> {
    return this.#handle.run(async (engine) => {
      const found = await find(engine, checkpointId);
      return found && restore(engine, found);
    });
  }

  load(runId: string, nodeId?: string): Promise<Checkpoint | null> {
    return this.#handle.run(async (engine) => {
      const run = idOrNull(runId, "runId");
      const node = nodeId === undefined || nodeId === null ? undefined : idOrNull(nodeId, "nodeId");
      if (run === null || node === null) return null;
      const found = await agentos.find(engine.native, "load", { runId: run, nodeId: node }, openFound);
      return found && restore(engine, found);
    });
  }

  latest(runId: string): Promise<Checkpoint | null> {
    return this.load(runId);
  }

  list(graphId: string, options?: { limit?: number; runId?: string }): Promise<CheckpointMetadata[]> {
    return this.#handle.run(async (engine) => {
      const { limit, runId } = listOptions(options);
      return list(engine, idOrNull(graphId, "graphId"), runId, limit);
    });
  }

  listByRun(runId: string, options?: { limit?: number }): Promise<CheckpointMetadata[]> {
    return this.#handle.run(async (engine) =>
      list(engine, undefined, idOrNull(runId, "runId"), listOptions(options).limit),
    );
  }

  delete(checkpointId: string): Promise<void> {
    return this.#handle.run(async ({ native }) => {
      const id = idOrNull(checkpointId, "checkpointId");
      if (id !== null) await agentos.call(native, "delete", { checkpointId: id });
    });
  }

  fork(checkpointId: string, patchState?: Partial<StatePartitions>): Promise<string> {
    return this.#handle.run((engine) => fork(engine, checkpointId, patchState));
  }

  runs(options?: { graphIdPrefix?: string; limit?: number; cursor?: string | null }): Promise<RunsPage> {
    return this.#handle.run(({ native }) => runs(native, options));
  }

  prune(options?: PruneOptions<RunPruneResult>): Promise<RunPruneResult> {
    return this.#handle.prune(options);
  }

  stats(options?: StatsOptions): Promise<CheckpointStats> {
    return this.#handle.stats(options);
  }

  check(options?: CheckOptions): Promise<VerifyReport> {
    return this.#handle.check(options);
  }

  vacuum(): Promise<void> {
    return this.#handle.vacuum();
  }

  close(): Promise<void> {
    return this.#handle.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

async function fork(engine: Engine, checkpointId: string, patchState: unknown): Promise<string> {
  // Serialise the patch now, because the caller may change it while the source checkpoint is read.
  const patch = snapshotPatch(patchState, engine);
  const [id, runId] = [randomUUID(), randomUUID()];
  if (patch === undefined) {
    const source = idOrNull(checkpointId, "checkpointId");
    if (source === null) throw nothingToFork(checkpointId);
    const timestamp = Date.now();
    await agentos.call(engine.native, "fork", { checkpointId: source, id, runId, timestamp, savedAt: timestamp });
    return runId;
  }
  const found = await find(engine, checkpointId);
  if (found === null) throw nothingToFork(checkpointId);
  const { format } = engine;
  const { id: parent, graphId, nodeId, hasMemorySnapshot } = found.metadata;
  const [state, rest] = stateAndRest(found.parts, parent);
  const fields: Fields = { id, runId, graphId, nodeId, timestamp: Date.now(), hasMemorySnapshot, parent };
  const what = `checkpoint ${quote(parent)}`;
  const patched = merge(
    deserialize(format, state.tag, state.bytes, what),
    deserialize(format, patch.tag, patch.bytes, "the patch"),
  );
  await put(engine, fields, format.serialize(patched, "state"), rest);
  return runId;
}

function nothingToFork(checkpointId: string): ForkpointError {
  return new ForkpointError("NOT_FOUND", `checkpoint ${quote(checkpointId)} not found: nothing to fork from`);
}

async function runs(native: NativeStore, options: unknown): Promise<RunsPage> {
  const read = readRecord(options, "options", runsOptions);
  const prefix = (read["graphIdPrefix"] as string | undefined) ?? "";
  const limit = (read["limit"] as number | undefined) ?? 100;
  const before = read["cursor"] as number | undefined;
  // Request one run more than the page holds. If the engine returns it, there is a next page.
  const found = await agentos.call(native, "runs", { graphIdPrefix: prefix, limit: limit + 1, before });
  const page = found.slice(0, limit);
  return {
    runs: page.map(({ checkpoints, latest }) => {
      const { runId, graphId } = latest;
      return { runId, graphId, checkpoints, latest };
    }),
    cursor: found.length > limit ? page[limit - 1]!.cursor : null,
  };
}

const planner = new Tool(agentos.name, JSON.stringify({ resumePlanner: {} }));

export const resumePlan: typeof resumePlanContract = (checkpoint) => {
  if (typeof checkpoint !== "object" || checkpoint === null) {
    throw typeError(`checkpoint must be an object, and is ${show(checkpoint)}`);
  }
  const { nodeResults, visitedNodes, skippedNodes } = checkpoint;
  if (typeof nodeResults !== "object" || nodeResults === null) {
    throw typeError(`checkpoint.nodeResults must be an object, and is ${show(nodeResults)}`);
  }
  const nodes = Object.keys(nodeResults);
  const classes = nodes.map((node) => {
    requireId(node, "a key of checkpoint.nodeResults");
    return requireId(nodeResults[node]?.effectClass, `checkpoint.nodeResults[${quote(node)}].effectClass`);
  });
  const visited = strings(visitedNodes, "checkpoint.visitedNodes");
  const skipped = skippedNodes === undefined ? [] : strings(skippedNodes, "checkpoint.skippedNodes");
  const recorded = nodes.map((node, at) => [node, classes[at]]);
  return parse(planner.call(JSON.stringify({ recorded, visited, skipped }))) as ResumePlan;
};

/**
 * Serialises a checkpoint before `save` returns its promise. Does not change the argument and keeps no reference to it.
 */
function snapshot(checkpoint: Checkpoint, { format }: Engine) {
  return encodeCheckpoint(checkpoint, format, ["id", "runId", "timestamp"], (given): Fields => {
    const { timestamp } = given;
    if (typeof timestamp !== "number")
      throw typeError(`checkpoint.timestamp must be a number, and is ${show(timestamp)}`);
    if (!Number.isFinite(timestamp)) throw rangeError(`checkpoint.timestamp must be finite, and is ${timestamp}`);
    return {
      id: requireId(given["id"], "checkpoint.id"),
      runId: requireId(given["runId"], "checkpoint.runId"),
      graphId: requireId(given["graphId"], "checkpoint.graphId"),
      nodeId: requireId(given["nodeId"], "checkpoint.nodeId"),
      timestamp,
      hasMemorySnapshot: given["memorySnapshot"] !== undefined,
      parent: undefined,
    };
  });
}

/** Makes a fresh checkpoint from its record. */
function restore({ format }: Engine, { metadata, parts }: Found): Checkpoint {
  const { id, runId, timestamp } = metadata;
  const checkpoint = decodeCheckpoint<Checkpoint>(format, parts, { id, runId, timestamp });
  // The checkpoint does not share memory with the response's buffers, so the buffers can be freed.
  detachBuffers(...parts);
  return checkpoint;
}

function put({ native }: Engine, fields: Fields, state: Serialized, rest: Serialized): Promise<null> {
  const { id, runId, graphId, nodeId, timestamp, hasMemorySnapshot, parent } = fields;
  const call = {
    id,
    runId,
    graphId,
    nodeId,
    timestamp,
    hasMemorySnapshot,
    parent,
    savedAt: Date.now(),
    stateTag: state.tag,
    restTag: rest.tag,
  };
  return agentos.call(native, "save", call, [state.bytes, rest.bytes]);
}

async function find({ native }: Engine, checkpointId: string): Promise<Found | null> {
  const id = idOrNull(checkpointId, "checkpointId");
  return id === null ? null : agentos.find(native, "get", { checkpointId: id }, openFound);
}

/** Lists checkpoints. The list is empty for an id that no stored checkpoint can have. */
async function list(
  { native }: Engine,
  graphId: string | null | undefined,
  runId: string | null | undefined,
  limit: number | undefined,
): Promise<CheckpointMetadata[]> {
  if (graphId === null || runId === null || limit === 0) return [];
  return rowsOf(await agentos.call(native, "list", { graphId, runId, limit }));
}

/** Reads the contract's listing options. A `limit` that is not a number above 0 means no limit. */
function listOptions(options: { limit?: number | null; runId?: string } | undefined): {
  limit: number | undefined;
  runId: string | null | undefined;
} {
  if (options === undefined || options === null) return { limit: undefined, runId: undefined };
  if (typeof options !== "object") throw typeError(`options must be an object, and is ${show(options)}`);
  const { limit, runId } = options;
  if (limit !== undefined && limit !== null && typeof limit !== "number") {
    throw typeError(`options.limit must be a number, and is ${show(limit)}`);
  }
  return {
    limit: typeof limit === "number" && limit > 0 && limit < 0xffffffff ? Math.floor(limit) : undefined,
    runId: runId === undefined || runId === null ? undefined : idOrNull(runId, "options.runId"),
  };
}

const runsOptions = {
  graphIdPrefix: (value: unknown) => {
    if (typeof value !== "string") throw typeError(`option "graphIdPrefix" must be a string, and is ${show(value)}`);
    if (!value.isWellFormed()) {
      throw typeError(
        'option "graphIdPrefix" contains an unpaired surrogate (invalid Unicode), which no stored graphId contains',
      );
    }
    return value;
  },
  ...pageOptions,
};

/** Serialises the patch before `fork` returns its promise. Returns undefined if the patch changes nothing. */
function snapshotPatch(patch: unknown, { format }: Engine): Serialized | undefined {
  if (patch === undefined || patch === null) return undefined;
  if (typeof patch !== "object") throw typeError(`patchState must be an object, and is ${show(patch)}`);
  const given = reading("patchState", () =>
    partitions.map((partition) => [partition, (patch as Record<string, unknown>)[partition]] as const),
  ).filter(([, value]) => value !== undefined);
  return given.length === 0 ? undefined : format.serialize(Object.fromEntries(given), "patchState");
}

/**
 * Merges the patch's partitions over the state's partitions. The state and the patch are fresh objects, so this
 * function may change them.
 */
function merge(state: unknown, patch: unknown): unknown {
  const merged = state as Record<string, unknown>;
  for (const [partition, value] of Object.entries(patch as Record<string, unknown>)) {
    const old = merged[partition];
    // Spread syntax defines properties instead of assigning them, so a key "__proto__" of the patch is an ordinary key.
    merged[partition] = isRecord(old) && isRecord(value) ? { ...old, ...value } : value;
  }
  return merged;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

function strings(value: unknown, what: string): string[] {
  if (!Array.isArray(value)) throw typeError(`${what} must be an array of strings, and is ${show(value)}`);
  return value.map((item, index) => requireId(item, `${what}[${index}]`));
}
