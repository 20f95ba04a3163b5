/** `CheckpointStore`, the class that AgentOS uses. */

import { crypto } from "../../bridge/crypto.js";
import { ForkpointError, isOwnError, quote, readingArgument, show, typeError } from "../../bridge/errors.js";
import type { LeaseHolder } from "../../bridge/forkpoint-error.js";
import { RunStore } from "../../store/contract-store.js";
import type { Engine } from "../../store/engine.js";
import { StoreHandle } from "../../store/handle.js";
import { idOrNull } from "../../store/ids.js";
import type { Lease } from "../../store/lease.js";
import { decodeMark, encodeMark } from "../../store/mark.js";
import type { ProgramVersion } from "../../store/compare-programs.js";
import type { RunStop } from "../../store/results.js";
import { versionsOf } from "../../store/stored-programs.js";
import { programOption, readRecord, splitOptions, text, type StoreOptions } from "../../store/options.js";
import { type OwnProgram, ownProgramOption } from "../../store/owner.js";
import { pageOf, pageOptions } from "../../store/page.js";
import { type DeleteOptions, deleteCheckpoint, forced, removing } from "../../store/removing.js";
import type { Store } from "../../store/store.js";
import { detachBuffers } from "../../bridge/detach.js";
import type { Exact } from "../../bridge/wire.js";
import { decodeCheckpoint, stateAndRest } from "../shared/record.js";
import type { RunStatus } from "../shared/recover-options.js";
import { Maker } from "./maker.js";
import { patched, snapshotPatch } from "./patch.js";
import { statusOf } from "./status.js";
import { find, put, restore, snapshot } from "./stored.js";
import { type Found, agentos, openFound, rowsOf } from "./wire.js";
import type { Checkpoint, CheckpointMetadata, ICheckpointStore, StatePartitions } from "./contract.js";

/** A run that has checkpoints in the store. */
export interface RunInfo {
  runId: string;
  /** The graph id of the run's newest checkpoint. */
  graphId: string;
  /** The number of the run's checkpoints. */
  checkpoints: number;
  /** The run's newest checkpoint, from which `graph.resume(runId)` continues. `get(latest.id)` returns all of it. */
  latest: CheckpointMetadata;
  /** The status of the run, read from its newest checkpoint. `"unknown"` if the checkpoint does not contain it. */
  status: RunStatus;
  /** Who has stopped the run, when, and why. Null if the status is not `"stopped"`. */
  stopped: RunStop | null;
  /** The id of the checkpoint that the run was forked from. Null: not a fork. */
  forkedFrom: string | null;
  /** The version of the program that saved the newest checkpoint. Null: unknown. */
  version: ProgramVersion | null;
  /** The holder of the run's lease. Null: there is no lease, or it has expired. */
  lease: LeaseHolder | null;
}

/** A page of runs. */
export interface RunsPage {
  /** The last begun run comes first. */
  runs: RunInfo[];
  /** Pass this cursor to the next call of `runs`. Null means that this was the last page. */
  cursor: string | null;
}

/** The options of {@link CheckpointStore}. */
export interface CheckpointStoreOptions extends StoreOptions {
  /**
   * The name of the program that uses this store. It is stored with each checkpoint, and `recover` only takes runs with
   * this name. A save to a run of a program with another name rejects with `CONFLICT`, unless `force` is true: the run
   * then belongs to this program. Set a name if several programs share a database. Default: the name of the graph, see
   * docs/agentos.md#several-programs.
   */
  program?: string | { name: string; force?: boolean };
  /**
   * The version of the program. `recover` reports it for runs that do not fit this version. Two versions with the same graph
   * are compatible. Default: none. See docs/changes.md.
   */
  version?: string;
}

/**
 * An AgentOS checkpoint store that survives crashes.
 *
 * - `save` takes its snapshot before it returns its promise, and the promise resolves when the checkpoint is durable.
 * - Every read returns a fresh object. A read sees every `save` that was called before the read.
 * - The newest checkpoint of a run is the last saved one, even if several processes save and their clocks differ. The
 *   checkpoints of several runs are listed by their timestamps.
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
export class CheckpointStore extends RunStore implements ICheckpointStore {
  readonly #handle: StoreHandle;
  readonly #program: OwnProgram | undefined;
  readonly #maker: Maker;

  /**
   * @param target a file path, `"sqlite:<path>"`, a `file:` URL, `"postgres://<user>@<host>/<database>"`,
   *   `"jsonl:<folder>"`, `"memory:"`, or a store from `openStore`. The target is opened in the background. If it cannot be
   *   opened, the first call of a method rejects.
   * @param options `program`, `version`, and the options of `openStore`. An open store has its own options, so only
   *   `program` and `version` are allowed with it.
   * @throws TypeError or RangeError for a wrong target or option.
   */
  constructor(target: string | URL | Store, options?: CheckpointStoreOptions) {
    const { own, others } = splitOptions(options, { program: ownProgramOption, version: programOption });
    const handle = StoreHandle.of(target, others, agentos);
    super(handle);
    this.#handle = handle;
    this.#program = own.program;
    this.#maker = new Maker(handle, own.program, own.version);
  }

  /**
   * Stores the checkpoint. A stored checkpoint with the same id is replaced.
   * @throws TypeError if a field is missing or has a wrong type. ForkpointError `INVALID_ARGUMENT` if a value in the
   *   checkpoint cannot be stored (the message names the value's path), or if the checkpoint is larger than
   *   `maxPayloadBytes`. `CONFLICT` if this object has saved the run, and it was deleted since, or if the run belongs to another
   *   program: see {@link CheckpointStoreOptions.program}. In all of these cases nothing was written.
   * @example await store.save(checkpoint); // when this resolves, the checkpoint is durable
   */
  save(checkpoint: Checkpoint): Promise<void> {
    let taken: ReturnType<typeof snapshot>;
    return this.#handle.save(
      (engine) => {
        taken = snapshot(checkpoint, engine);
        // The waiting save must not keep the caller's object in memory.
        checkpoint = undefined!;
        taken.fields.mark = this.#maker.markOf(taken.fields.graphId);
        const { runId } = taken.fields;
        const { seen } = this.#handle;
        taken.fields.known = seen.has(runId);
        taken.fields.incarnation = seen.incarnation(runId);
        const learn = (incarnation: Exact | null) => seen.note(runId, incarnation);
        const { fields, state, rest } = taken;
        const { owner } = this.#maker;
        if (owner === undefined) return put(engine, fields, state, rest, learn);
        return owner.save(engine, fields, (expectedNewest) => {
          fields.expectedNewest = expectedNewest;
          return put(engine, fields, state, rest, learn);
        });
      },
      undefined,
      () => {
        detachBuffers(taken.state, taken.rest);
      },
    );
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
      // A missing checkpoint of a node does not mean that the run has none.
      if (found !== null || node === undefined) this.#handle.seen.looked(run, found);
      return found && restore(engine, found);
    });
  }

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

  delete(checkpointId: string): Promise<void> {
    return deleteCheckpoint(this.#handle, checkpointId, (native, id) =>
      agentos.call(native, "delete", { checkpointId: id }),
    );
  }

  /**
   * Removes all checkpoints of a run. An unknown run causes no error.
   * Deleted bytes stay in a database file until `vacuum`, unless the store has `secureDelete`.
   * @throws ForkpointError `CONFLICT` if a process holds the lease of the run, unless `force` is true.
   * @example await store.clear("run-1");
   */
  clear(runId: string, options?: DeleteOptions): Promise<void> {
    return this.#handle.run(async ({ native }) => {
      const force = forced(options);
      const run = idOrNull(runId, "runId");
      if (run === null) return;
      await agentos.call(removing(native, { space: agentos.name, run, ns: "" }, force), "clear", { runId: run });
      this.#handle.seen.forget(run);
      this.#maker.owner?.forget(run);
    });
  }

  /**
   * Starts a new run from a checkpoint and returns the new run's id. The source run does not change. An object in the
   * patch is merged over the source's partition, one level deep. A list or another special object replaces `input`. A
   * partition that is missing, undefined or null stays as it is.
   * @throws ForkpointError `NOT_FOUND` if there is no such checkpoint. `INVALID_ARGUMENT` if a value in the patch
   *   cannot be stored. TypeError if a partition in the patch is not an object, or if the patch has another key. In all of
   *   these cases nothing was written.
   * @example const runId = await store.fork("checkpoint-1", { scratch: { city: "Rome" } });
   */
  fork(checkpointId: string, patchState?: Partial<StatePartitions>): Promise<string> {
    return this.#handle.run((engine) => fork(engine, checkpointId, patchState));
  }

  /**
   * Returns the runs that have checkpoints, the last begun first. Use it to find the runs to resume after a restart.
   *
   * Graph ids change at every `compile()`. To find the runs of one graph, pass `graphIdPrefix: "graph-<name>-"`: only
   * runs that began in a graph with this prefix are listed. A page contains at most `limit` runs. Default: 100. At most
   * 100,000. Pass the cursor of the previous page as `cursor`.
   * @example const { runs, cursor } = await store.runs({ graphIdPrefix: "graph-trip-", limit: 20 });
   */
  runs(options?: { graphIdPrefix?: string; limit?: number; cursor?: string | null | undefined }): Promise<RunsPage> {
    return this.#handle.run((engine) => runs(engine, options));
  }

  withLease(lease: Lease): CheckpointStore {
    const { version } = this.#maker;
    const program = this.#program;
    const own = { ...(program !== undefined && { program }), ...(version !== undefined && { version }) };
    return new CheckpointStore(this.#handle.withLease(lease).asStore, own);
  }
}

async function fork(engine: Engine, checkpointId: string, patchState: unknown): Promise<string> {
  // Serialize the patch now, because the caller may change it while the source checkpoint is read.
  const patch = snapshotPatch(patchState, engine);
  const [id, runId] = [crypto().randomUUID(), crypto().randomUUID()];
  const parent = idOrNull(checkpointId, "checkpointId");
  if (parent === null) throw nothingToFork(checkpointId);
  const found = await find(engine, parent);
  if (found === null && patch !== undefined) throw nothingToFork(checkpointId);
  const status = found === null ? "unknown" : statusInFork(engine, found, runId);
  // The engine refuses to fork a missing checkpoint.
  if (found === null || (patch === undefined && status === found.status)) {
    const timestamp = Date.now();
    await agentos.call(engine.native, "fork", { checkpointId: parent, id, runId, timestamp, savedAt: timestamp });
    return runId;
  }
  const { graphId, nodeId, hasMemorySnapshot, mark, parts } = found;
  const [state, rest] = stateAndRest(parts, parent);
  const ids = { id, runId, graphId, nodeId, parent };
  // The fork belongs to the same program, but no process works on it.
  const maker = { mark: encodeMark({ ...decodeMark(mark), by: undefined }) };
  const fields = { ...ids, ...maker, timestamp: Date.now(), hasMemorySnapshot, status, expectedNewest: undefined };
  await put(engine, fields, patch === undefined ? state : patched(engine.format, parent, state, patch), rest);
  return runId;
}

/** Returns the status of a fork. A fork asks again, because an answer belongs to the run that asked. */
export function statusInFork(
  { format }: Engine,
  { id, timestamp, status, parts }: Found,
  runId: string,
): Found["status"] {
  if (status !== "unfinished") return status;
  try {
    return statusOf({ ...decodeCheckpoint<Checkpoint>(format, parts, { id, runId, timestamp }) }) ?? status;
  } catch (error) {
    // A fork needs no serializer.
    if (isOwnError(error) && error.code === "UNSUPPORTED") return status;
    throw error;
  }
}

function nothingToFork(checkpointId: string): ForkpointError {
  return new ForkpointError("NOT_FOUND", `checkpoint ${quote(checkpointId)} not found: nothing to fork from`);
}

async function runs({ native }: Engine, options: unknown): Promise<RunsPage> {
  const { graphIdPrefix = "", ...range } = readRecord(options, "options", runsOptions);
  const { page, cursor } = await pageOf(native, range, {
    space: agentos.name,
    fetch: (before, limit) => agentos.call(native, "runs", { graphIdPrefix, limit, before }),
    runOf: ({ latest }) => latest.runId,
    newestOf: ({ latest, status }) => ({ newest: latest.id, status }),
    show: (run, lease, stopped) => ({ run, lease, stopped, shape: decodeMark(run.mark).shape }),
  });
  const shapes = page.map(({ shape }) => shape);
  const versions = await versionsOf(native, agentos.name, shapes);
  const runs = page.map(({ run: { latest, status: stored, checkpoints, forkedFrom }, lease, stopped }, at): RunInfo => {
    const { runId, graphId } = latest;
    const version = versions[at]!;
    const status = stopped === null ? stored : "stopped";
    return { runId, graphId, checkpoints, latest, status, stopped, forkedFrom, version, lease };
  });
  return { runs, cursor };
}

/** Lists checkpoints. The list is empty for an id that cannot be stored. */
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
  if (typeof options !== "object") throw typeError(`options must be an object, but is ${show(options)}`);
  const { limit, runId } = readingArgument("options", () => ({ limit: options.limit, runId: options.runId }));
  if (limit !== undefined && limit !== null && typeof limit !== "number") {
    throw typeError(`options.limit must be a number, but is ${show(limit)}`);
  }
  return {
    limit: typeof limit === "number" && limit > 0 && limit < 0xffffffff ? Math.floor(limit) : undefined,
    runId: runId === undefined || runId === null ? undefined : idOrNull(runId, "options.runId"),
  };
}

const runsOptions = {
  graphIdPrefix: (value: unknown, name: string) => {
    const prefix = text(value, name);
    if (prefix.isWellFormed()) return prefix;
    throw typeError(`${name} contains an unpaired surrogate (invalid Unicode), which no stored graphId contains`);
  },
  ...pageOptions,
};
