/** `CheckpointStore`, the class that AgentOS uses, and `resumePlan`. */

import { find, openFound, put, restore, snapshot } from "./checkpoints.js";
import { fork } from "./fork.js";
import { Maker } from "./maker.js";
import { agentos, rowsOf } from "./wire.js";
import type { Engine } from "../../store/engine.js";
import { isArray, quote, readingArgument, show, typeError } from "../../bridge/errors.js";
import { StoreHandle } from "../../store/handle.js";
import { setHandle } from "../../store/handles.js";
import { idOrNull, requireId } from "../../store/ids.js";
import { holdersOf, type LeaseOptions, type Lease } from "../../store/lease.js";
import { type NativeStore, Tool } from "../../bridge/native.js";
import { pageOptions, programOption, readRecord, type StoreOptions } from "../../store/options.js";
import { detachBuffers } from "../shared/record.js";
import { parse, type VerifyReport } from "../../bridge/wire.js";
import type { Checkpoint, CheckpointMetadata, ICheckpointStore, StatePartitions } from "./contract.js";
import type { RunStatus } from "../shared/recovery.js";
import type { LeaseHolder } from "../../bridge/forkpoint-error.js";
import type { PruneOptions, StatsOptions } from "../../store/retention.js";
import type { LineageStats, RunPruneResult, StoreStats } from "../../store/results.js";
import type { Store } from "../../store/store.js";
import type { RunRef } from "../../store/run-ref.js";
import type { CheckOptions } from "../../store/check.js";

/** A run that has checkpoints in the store. */
export interface RunInfo {
  runId: string;
  /** The graph id of the run's newest checkpoint. */
  graphId: string;
  /** How many checkpoints the run has. */
  checkpoints: number;
  /**
   * The run's newest checkpoint. `get(latest.id)` returns the whole checkpoint. `graph.resume(runId)` continues from
   * this checkpoint.
   */
  latest: CheckpointMetadata;
  /** How far the run is, as its newest checkpoint tells it. Checkpoints of older versions of Forkpoint tell nothing. */
  status: RunStatus;
  /** If the run is a fork: the id of the checkpoint that it was forked from. Null if it is none. */
  forkedFrom: string | null;
  /** Who holds the run's lease. Null: nobody, or the lease has expired. */
  lease: LeaseHolder | null;
}

/** Statistics of the AgentOS checkpoints. */
export interface CheckpointStats extends Omit<StoreStats, "lineages" | "largest"> {
  /** How many runs have checkpoints. */
  runs: number;
  /**
   * The runs that use the most storage, the largest first. {@link StatsOptions.largest} limits the number of runs in
   * the list.
   */
  largest: Array<{ runId: string } & Omit<LineageStats, "lineage">>;
}

/** A page of runs. */
export interface RunsPage {
  /** The run that began last comes first. */
  runs: RunInfo[];
  /** Pass this cursor to the next call of `runs`. Null means that this was the last page. */
  cursor: string | null;
}

/** How a resume treats each node of a checkpoint. A node that is in none of the lists has not started and must run. */
export interface ResumePlan {
  /** Completed nodes. Do not run them again: the state contains their effects. */
  completed: string[];
  /** Nodes that routing skipped. Do not run them. */
  skipped: string[];
  /**
   * Nodes with a recorded `write`, `external` or `human` result. Use `nodeResults[id].output` instead of running them.
   */
  replay: string[];
  /** Nodes with a recorded `pure` or `read` result. Run them again. */
  reexecute: string[];
}

/** The options of {@link CheckpointStore}. */
export interface CheckpointStoreOptions extends StoreOptions {
  /**
   * The name of the program that uses this store. It is stored with each checkpoint, and `recover` takes only runs with this
   * name. Give it if several programs share a database. Default: the name of the graph, see docs/agentos.md#several-programs.
   */
  program?: string;
}

/**
 * An AgentOS checkpoint store that survives crashes.
 *
 * - `save` takes its snapshot before it returns its promise, and the promise resolves when the checkpoint is durable.
 * - Every read returns a fresh object. A read sees every `save` that was called before the read.
 * - The newest checkpoint is the one with the greatest timestamp. Of checkpoints with the same timestamp, the one that
 *   was saved last is the newest, even if several processes save.
 * - Any call can reject with `BUSY`, `CLOSED`, `UNAVAILABLE` or `UNSUPPORTED`. A read can also reject with `CORRUPT`,
 *   and a save with `FULL`. {@link ErrorCode} explains the codes.
 * - A wrong argument rejects with a TypeError or a RangeError.
 *
 * @example
 * ```ts
 * import { CheckpointStore } from "forkpoint";
 *
 * const store = new CheckpointStore("agent.db");
 * const graph = builder.compile({ checkpointStore: store });
 * ```
 */
export class CheckpointStore implements ICheckpointStore, AsyncDisposable {
  readonly #handle: StoreHandle;
  readonly #maker: Maker;

  /**
   * @param target a file path, `"sqlite:<path>"`, a `file:` URL, `"jsonl:<folder>"`, `"memory:"`, or a store from
   *   `openStore`. A file is opened in the background. If the file cannot be opened, the first call of a method rejects.
   * @param options `program`, and the options of `openStore`. If the target is an open store, only `program` is allowed, because
   *   an open store has its own options.
   * @throws TypeError or RangeError for a wrong target or option.
   */
  constructor(target: string | URL | Store, options?: CheckpointStoreOptions) {
    const { program, others } = readingArgument("options", () => programOption(options));
    this.#handle = StoreHandle.of(target, others, agentos);
    this.#maker = new Maker(this.#handle, program);
    setHandle(this, this.#handle);
  }

  /**
   * Stores the checkpoint. A stored checkpoint with the same id is replaced.
   * @throws TypeError if a field is missing or has a wrong type. ForkpointError `INVALID_ARGUMENT` if a value in the
   *   checkpoint cannot be stored (the message names the value's path), or if the checkpoint is larger than
   *   `maxPayloadBytes`. In all of these cases nothing was written.
   * @example await store.save(checkpoint); // when this resolves, the checkpoint is durable
   */
  save(checkpoint: Checkpoint): Promise<void> {
    let taken: ReturnType<typeof snapshot>;
    return this.#handle.save(
      (engine) => {
        taken = snapshot(checkpoint, engine);
        taken.fields.mark = this.#maker.markOf(taken.fields.graphId);
        return put(engine, taken.fields, taken.state, taken.rest);
      },
      undefined,
      () => detachBuffers(taken.state, taken.rest),
    );
  }

  /**
   * Returns the checkpoint with that id, or null if there is none.
   * @example const checkpoint = await store.get("checkpoint-1");
   */
  get(checkpointId: string): Promise<Checkpoint | null> {
    return this.#handle.run(async (engine) => {
      const found = await find(engine, checkpointId);
      return found && restore(engine, found);
    });
  }

  /**
   * Returns the newest checkpoint of the run or, if `nodeId` is given, of this node in the run. Returns null if there
   * is none.
   * @example const checkpoint = await store.load("run-1", "summarise");
   */
  load(runId: string, nodeId?: string): Promise<Checkpoint | null> {
    return this.#handle.run(async (engine) => {
      const run = idOrNull(runId, "runId");
      const node = nodeId === undefined || nodeId === null ? undefined : idOrNull(nodeId, "nodeId");
      if (run === null || node === null) return null;
      const found = await agentos.find(engine.native, "load", { runId: run, nodeId: node }, openFound);
      return found && restore(engine, found);
    });
  }

  /**
   * Returns the newest checkpoint of the run, or null if there is none.
   * @example const checkpoint = await store.latest("run-1");
   */
  latest(runId: string): Promise<Checkpoint | null> {
    return this.load(runId);
  }

  /**
   * Returns the checkpoints of a graph, newest first. If `limit` is 0 or missing, all checkpoints are returned. For an
   * unknown graph the list is empty.
   * @example const checkpoints = await store.list(graphId, { runId: "run-1", limit: 20 });
   */
  list(graphId: string, options?: { limit?: number; runId?: string }): Promise<CheckpointMetadata[]> {
    return this.#handle.run(async (engine) => {
      const { limit, runId } = listOptions(options);
      return list(engine, idOrNull(graphId, "graphId"), runId, limit);
    });
  }

  /**
   * Returns the checkpoints of a run from all graphs, newest first. If `limit` is 0 or missing, all checkpoints are
   * returned.
   * @example const checkpoints = await store.listByRun("run-1", { limit: 20 });
   */
  listByRun(runId: string, options?: { limit?: number }): Promise<CheckpointMetadata[]> {
    return this.#handle.run(async (engine) =>
      list(engine, undefined, idOrNull(runId, "runId"), listOptions(options).limit),
    );
  }

  /**
   * Removes the checkpoint. An unknown id causes no error.
   * @example await store.delete("checkpoint-1");
   */
  delete(checkpointId: string): Promise<void> {
    return this.#handle.run(async ({ native }) => {
      const id = idOrNull(checkpointId, "checkpointId");
      if (id !== null) await agentos.call(native, "delete", { checkpointId: id });
    });
  }

  /**
   * Removes all checkpoints of a run. An unknown run causes no error.
   * @example await store.clear("run-1");
   */
  clear(runId: string): Promise<void> {
    return this.#handle.run(async ({ native }) => {
      const run = idOrNull(runId, "runId");
      if (run !== null) await agentos.call(native, "clear", { runId: run });
    });
  }

  /**
   * Starts a new run from a checkpoint and returns the new run's id. The source run does not change. For each partition
   * in the patch, an object is merged over the source's partition, one level deep. A list or another special object
   * replaces `input`. A partition that is missing, undefined or null does not change.
   * @throws ForkpointError `NOT_FOUND` if there is no such checkpoint. `INVALID_ARGUMENT` if a value in the patch
   *   cannot be stored. TypeError if a partition in the patch is not an object, or if the patch has another key. In all of
   *   these cases nothing was written.
   * @example const runId = await store.fork("checkpoint-1", { scratch: { city: "Rome" } });
   */
  fork(checkpointId: string, patchState?: Partial<StatePartitions>): Promise<string> {
    return this.#handle.run((engine) => fork(engine, checkpointId, patchState));
  }

  /**
   * Returns the runs that have checkpoints in the store. The run that began last comes first. Use this method to find
   * the runs to resume after a restart.
   *
   * Graph ids change at every `compile()`. To find the runs of one graph, pass `graphIdPrefix: "graph-<name>-"`. Only
   * runs that began in a graph whose id starts with this prefix are then listed. A page contains at most `limit`
   * runs. Default: 100. At most 100,000. Pass the cursor of the previous page as `cursor`.
   * @example const { runs, cursor } = await store.runs({ graphIdPrefix: "graph-trip-", limit: 20 });
   */
  runs(options?: { graphIdPrefix?: string; limit?: number; cursor?: string | null | undefined }): Promise<RunsPage> {
    return this.#handle.run(({ native }) => runs(native, options));
  }

  /**
   * Takes the lease of a run, so that no other process works on it. It is renewed until it is
   * released, or this object is closed. The lease of a process that has ended on this machine is taken at once.
   * @throws TypeError or RangeError for a wrong run or option. ForkpointError `CONFLICT` if somebody else holds the lease:
   *   `error.lease` says who, and until when.
   * @example await using lease = await store.lease({ space: "agentos", run: "run-1" });
   */
  lease(run: RunRef, options?: LeaseOptions): Promise<Lease> {
    return this.#handle.lease(run, options);
  }

  /**
   * Returns the same store for the holder of a lease: each of its writes is refused with `CONFLICT`, and stores nothing,
   * if the lease was lost.
   * @throws TypeError if the lease is of another store.
   * @example const mine = store.withLease(lease);
   */
  withLease(lease: Lease): CheckpointStore {
    const { program } = this.#maker;
    return new CheckpointStore(this.#handle.withLease(lease).asStore, program === undefined ? undefined : { program });
  }

  /**
   * Removes checkpoints of AgentOS, at most 500 in each transaction. Saves can run between the transactions. Without
   * options, `prune` applies the limits that the store was opened with.
   * @throws TypeError or RangeError for a wrong option. ForkpointError `CLOSED` if the store is closed before `prune`
   *   ends.
   * @example const { removed, runs } = await store.prune({ keepLastN: 10, dryRun: true });
   */
  prune(options?: PruneOptions<RunPruneResult>): Promise<RunPruneResult> {
    return this.#handle.prune(options);
  }

  /**
   * Returns how many AgentOS checkpoints are stored and how much storage they use, in bytes.
   * @example const { runs, storedBytes, largest } = await store.stats({ largest: 5 });
   */
  stats(options?: StatsOptions): Promise<CheckpointStats> {
    return this.#handle.stats(options);
  }

  /**
   * Verifies the whole database, including the data of other contracts, and changes nothing. The same as
   * `Store.check()`.
   * @example const { ok, findings } = await store.check({ signal: AbortSignal.timeout(60_000) });
   */
  check(options?: CheckOptions): Promise<VerifyReport> {
    return this.#handle.check(options);
  }

  /**
   * Gives the space of removed checkpoints of all contracts back to the file system. Saves wait until `vacuum` ends.
   * The same as `Store.vacuum()`.
   * @example await store.vacuum();
   */
  vacuum(): Promise<void> {
    return this.#handle.vacuum();
  }

  /**
   * Waits for earlier calls to end, then closes this object. A second call is allowed. An open store that was given to
   * the constructor stays open.
   * @example await store.close();
   */
  close(): Promise<void> {
    return this.#handle.close();
  }

  /**
   * Calls `close()` at the end of an `await using` block.
   * @example await using store = new CheckpointStore("agent.db"); // closed at the end of the block
   */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

async function runs(native: NativeStore, options: unknown): Promise<RunsPage> {
  const read = readRecord(options, "options", runsOptions);
  const prefix = (read["graphIdPrefix"] as string | undefined) ?? "";
  const limit = (read["limit"] as number | undefined) ?? 100;
  const before = read["cursor"] as number | undefined;
  // Request one run more than the page holds. If the engine returns it, there is a next page.
  const found = await agentos.call(native, "runs", { graphIdPrefix: prefix, limit: limit + 1, before });
  const page = found.slice(0, limit);
  const leases = await holdersOf(
    native,
    agentos.name,
    page.map(({ latest }) => latest.runId),
  );
  return {
    runs: page.map(({ checkpoints, latest, status, forkedFrom }, at) => {
      const { runId, graphId } = latest;
      return { runId, graphId, checkpoints, latest, status: status ?? "unknown", forkedFrom, lease: leases[at]! };
    }),
    cursor: found.length > limit ? page[limit - 1]!.cursor : null,
  };
}

const planner = new Tool(agentos.name, JSON.stringify({ resumePlanner: {} }));

/**
 * Sorts a checkpoint's nodes by how a resume treats them. The effect class of a node decides how a resume treats it.
 * @throws ForkpointError `INVALID_ARGUMENT` for an unknown effect class. TypeError if the checkpoint lacks one of the
 *   fields that this function reads.
 * @example const { completed, skipped, replay, reexecute } = resumePlan(checkpoint);
 */
export function resumePlan(checkpoint: Pick<Checkpoint, "nodeResults" | "visitedNodes" | "skippedNodes">): ResumePlan {
  const recorded = readingArgument("checkpoint", () => recordedIn(checkpoint));
  return parse(planner.call(JSON.stringify(recorded))) as ResumePlan;
}

/** Returns the fields of a checkpoint that the resume planner needs. */
function recordedIn(checkpoint: Parameters<typeof resumePlan>[0]) {
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
  return { recorded, visited, skipped };
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
  const { limit, runId } = readingArgument("options", () => ({ limit: options.limit, runId: options.runId }));
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

function strings(value: unknown, what: string): string[] {
  if (!isArray(value)) throw typeError(`${what} must be an array of strings, and is ${show(value)}`);
  return value.map((item, index) => requireId(item, `${what}[${index}]`));
}
