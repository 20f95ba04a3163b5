/** The checkpoint store of workflows. */

import type { LeaseHolder } from "../../bridge/forkpoint-error.js";
import type { Serialized } from "../../bridge/serializer.js";
import { RunStore } from "../../store/contract-store.js";
import type { Engine } from "../../store/engine.js";
import { StoreHandle } from "../../store/handle.js";
import { idOrNull } from "../../store/ids.js";
import { leaseOption, type Lease } from "../../store/lease.js";
import { flag, readRecord, splitOptions, whole, type StoreOptions } from "../../store/options.js";
import { pageOf, pageOptions } from "../../store/page.js";
import { type DeleteOptions, deleteCheckpoint, forced, removing } from "../../store/removing.js";
import type { Store } from "../../store/store.js";
import { detachBuffers } from "../../bridge/detach.js";
import type { Exact } from "../../bridge/wire.js";
import { decodeCheckpoint, encodeCheckpoint } from "../shared/record.js";
import type { ProgramVersion } from "../../store/compare-programs.js";
import type { RunStop } from "../../store/results.js";
import { versionsOf } from "../../store/stored-programs.js";
import type { RunStatus } from "../shared/recover-options.js";
import { type StepRef, filled, readStepRef } from "./checkpoint.js";
import { type Found, type SaveRef, agentium, openFound } from "./wire.js";
import type { CheckpointSummary, WorkflowCheckpoint } from "./contract.js";

/**
 * The documented store interface. Implement it over any backend, such as Redis or S3, and pass the store to a {@link
 * Workflow}. `new WorkflowCheckpointStore(target)` makes the store of this package, which has more methods: see {@link
 * ForkpointWorkflowStore}.
 */
export interface WorkflowCheckpointStore<TState> {
  /**
   * Stores the checkpoint. A stored checkpoint with the same id is replaced.
   * @example await store.save(checkpoint);
   */
  save(checkpoint: WorkflowCheckpoint<TState>): Promise<void>;
  /**
   * Returns the checkpoint with that id, or null if there is none.
   * @example const checkpoint = await store.load("run-1:step-2");
   */
  load(checkpointId: string): Promise<WorkflowCheckpoint<TState> | null>;
  /**
   * Returns the run's checkpoints, ascending by `stepIndex`, then by `createdAt`. The list is empty for an unknown run.
   * @example const checkpoints = await store.list("run-1");
   */
  list(runId: string): Promise<Array<WorkflowCheckpoint<TState>>>;
  /**
   * Returns the run's last checkpoint in the order of `list`, or null if the run has none.
   * @example const checkpoint = await store.latest("run-1");
   */
  latest(runId: string): Promise<WorkflowCheckpoint<TState> | null>;
  /**
   * Removes the run's checkpoints. An unknown run causes no error.
   * Deleted bytes stay in a database file until `vacuum`, unless the store has `secureDelete`.
   * @example await store.clear("run-1");
   */
  clear(runId: string): Promise<void>;
  /**
   * Optional: removes a checkpoint. With this method, a replay removes the checkpoints after its starting point one by
   * one, the last one first. Without it, a replay clears the run and saves the remaining checkpoints again. An unknown
   * id causes no error.
   * @example await store.delete?.("run-1:step-2");
   */
  delete?(checkpointId: string): Promise<void>;
  /**
   * Optional: saves the checkpoint and removes the run's other checkpoints with the same or a greater `stepIndex`,
   * ideally in one transaction.
   */
  rewind?(checkpoint: WorkflowCheckpoint<TState>): Promise<void>;
}

/** A run in a list of runs. */
export interface WorkflowRunInfo {
  runId: string;
  /** The number of the run's checkpoints. */
  checkpoints: number;
  /** The run's latest checkpoint. */
  latest: CheckpointSummary;
  /**
   * `"finished"` if all steps of the run are stored, otherwise `"unfinished"`. A failed step stores nothing.
   * `"stopped"` if somebody has stopped the run.
   * `"unknown"` if the framework's own `Workflow`, or a `save` without the option `steps`, stored the latest
   * checkpoint.
   */
  status: RunStatus;
  /** Who has stopped the run, when, and why. Null if the status is not `"stopped"`. */
  stopped: RunStop | null;
  /** The version of the workflow that stored the latest checkpoint. Null: unknown. */
  version: ProgramVersion | null;
  /** The holder of the run's lease. Null: there is no lease, or it has expired. */
  lease: LeaseHolder | null;
}

/** A page of runs. */
export interface WorkflowRunsPage {
  /** The last begun run comes first. */
  runs: WorkflowRunInfo[];
  /** Pass this cursor to the next call of `runs`. Null means that this was the last page. */
  cursor: string | null;
}

/** Options of a {@link WorkflowCheckpointStore}. */
export interface WorkflowCheckpointStoreOptions extends StoreOptions {
  /**
   * If true, each checkpoint of a {@link Workflow} over this store must follow the last one that the workflow read or
   * stored. The run rejects with `CONFLICT` if another process has continued, restarted or deleted it. If false, the
   * processes overwrite each other's checkpoints. Default: true.
   */
  expectedParent?: boolean;
}

/** Options of a single save. */
export interface WorkflowSaveOptions {
  /** The id of the checkpoint that a new run was forked from. Only the differences to it are stored. */
  parent?: string;
  /**
   * The id of the run's latest checkpoint that the caller expects. Null: no checkpoint. If another writer has continued
   * the run, the save rejects with `CONFLICT` and stores nothing. Default: not checked.
   */
  expectedParent?: string | null;
  /** The number of the workflow's steps, by which `runs()` recognizes a finished run. Default: unknown. */
  steps?: number;
  /** The lease for the save. If it was lost, the save rejects with `CONFLICT` and stores nothing. */
  lease?: Lease;
}

export interface OwnStore {
  handle: StoreHandle;
  expectsParent: boolean;
}

let open: (store: ForkpointWorkflowStore<unknown>) => OwnStore;

/**
 * Workflow checkpoints that survive crashes.
 *
 * - `save` takes its snapshot before it returns its promise, and the promise resolves when the checkpoint is durable.
 * - Every read returns a fresh object. A read sees every `save` that was called before the read.
 * - With `keepLastN`, one transaction saves a checkpoint and removes the run's oldest checkpoints in save order.
 * - Any call can reject with `BUSY`, `CLOSED`, `UNAVAILABLE` or `UNSUPPORTED`. A read can also reject with `CORRUPT`,
 *   and a save with `FULL`. {@link ErrorCode} explains the codes.
 * - A wrong argument rejects with a TypeError or a RangeError.
 *
 * @example
 * ```ts
 * import { Workflow, WorkflowCheckpointStore } from "forkpoint/agentium";
 *
 * const store = new WorkflowCheckpointStore<State>("wf.db", { keepLastN: 50 });
 * const workflow = new Workflow<State>({ name, initialState, steps, checkpointStore: store });
 * ```
 */
export class ForkpointWorkflowStore<TState> extends RunStore implements WorkflowCheckpointStore<TState> {
  readonly #handle: StoreHandle;
  readonly #expectsParent: boolean;

  /**
   * @param target a file path, `"sqlite:<path>"`, a `file:` URL, `"postgres://<user>@<host>/<database>"`,
   *   `"jsonl:<folder>"`, `"memory:"`, or a store from `openStore`. The target is opened in the background. If it cannot be
   *   opened, the first call of a method rejects.
   * @param options `expectedParent`, and the options of `openStore`. If the target is an open store, only
   *   `expectedParent` is allowed, because an open store has its own options.
   * @throws TypeError or RangeError for a wrong target or option.
   */
  constructor(target: string | URL | Store, options?: WorkflowCheckpointStoreOptions) {
    const { own, others } = splitOptions(options, { expectedParent: flag });
    const handle = StoreHandle.of(target, others, agentium);
    super(handle);
    this.#handle = handle;
    this.#expectsParent = own.expectedParent ?? true;
  }

  static {
    open = (store) => ({ handle: store.#handle, expectsParent: store.#expectsParent });
  }

  /**
   * Stores the checkpoint. A checkpoint with the same id is replaced, even in another run.
   * @throws TypeError if a field is missing or has a wrong type. ForkpointError `INVALID_ARGUMENT` if a value in the
   *   checkpoint cannot be stored (the message names the value's path), or if the checkpoint is larger than
   *   `maxPayloadBytes`. `CONFLICT` if the run's latest checkpoint is not `expectedParent`, or if this object has saved or
   *   read the run, and it was deleted since. In all of these cases nothing was written.
   * @example await store.save(checkpoint, { expectedParent: "run-1:step-2" });
   */
  save(checkpoint: WorkflowCheckpoint<TState>, options?: WorkflowSaveOptions): Promise<void> {
    return this.#save(checkpoint, options, false);
  }

  /**
   * Saves the checkpoint and removes the run's other checkpoints with the same or a greater `stepIndex`, in one
   * transaction.
   * @throws the errors of `save`.
   * @example await store.rewind(checkpoint); // now the last checkpoint of its run
   */
  rewind(checkpoint: WorkflowCheckpoint<TState>, options?: WorkflowSaveOptions): Promise<void> {
    return this.#save(checkpoint, options, true);
  }

  load(checkpointId: string): Promise<WorkflowCheckpoint<TState> | null> {
    return this.#handle.run(async (engine) => restore(engine, await find(engine, checkpointId)));
  }

  latest(runId: string): Promise<WorkflowCheckpoint<TState> | null> {
    return this.#handle.run(async (engine) => {
      const found = await findLatest(engine, runId);
      this.#handle.seen.looked(runId, found);
      return restore(engine, found);
    });
  }

  list(runId: string): Promise<Array<WorkflowCheckpoint<TState>>> {
    return this.#handle.run(async (engine) => {
      const run = idOrNull(runId, "runId");
      if (run === null) return [];
      const all = await agentium.find(engine.native, "list", { runId: run }, (list, part) =>
        list.map((found) => openFound(found, part)),
      );
      const checkpoints: Array<WorkflowCheckpoint<TState>> = [];
      for (const found of all) {
        checkpoints.push(restore<TState>(engine, found)!);
        // Reading a long run takes a while, so timers run after every 64 checkpoints.
        if (checkpoints.length % 64 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      return checkpoints;
    });
  }

  /**
   * The same as `list`. The framework calls this method `listForRun`.
   * @example const checkpoints = await store.listForRun("run-1");
   */
  listForRun(runId: string): Promise<Array<WorkflowCheckpoint<TState>>> {
    return this.list(runId);
  }

  /**
   * Returns the run's checkpoints in the order of `list`, without their states. This method does not read the states.
   * @example for (const { stepName, stateSize } of await store.timeline("run-1")) console.log(stepName, stateSize);
   */
  timeline(runId: string): Promise<CheckpointSummary[]> {
    return this.#handle.run(async ({ native }) => {
      const run = idOrNull(runId, "runId");
      return run === null ? [] : (await agentium.call(native, "timeline", { runId: run })).toReversed();
    });
  }

  /**
   * Returns the runs that have checkpoints, each with its status, the last begun first. Use it to find the runs to
   * resume after a restart. A page contains at most `limit` runs. Default: 100. At most 100,000. Pass the cursor of the
   * previous page as `cursor`.
   * @example const { runs, cursor } = await store.runs({ limit: 20 });
   */
  runs(options?: { limit?: number; cursor?: string | null | undefined }): Promise<WorkflowRunsPage> {
    return this.#handle.run((engine) => runs(engine, options));
  }

  /**
   * Removes the run's checkpoints: see {@link WorkflowCheckpointStore.clear}.
   * @throws ForkpointError `CONFLICT` if a process holds the lease of the run, unless `force` is true.
   * @example await store.clear("run-1", { force: true });
   */
  clear(runId: string, options?: DeleteOptions): Promise<void> {
    return this.#handle.run(async ({ native }) => {
      const [run, force] = [idOrNull(runId, "runId"), forced(options)];
      if (run === null) return;
      await agentium.call(removing(native, { space: agentium.name, run, ns: "" }, force), "clear", { runId: run });
      this.#handle.seen.forget(run);
    });
  }

  delete(checkpointId: string): Promise<void> {
    return deleteCheckpoint(this.#handle, checkpointId, (native, id) =>
      agentium.call(native, "delete", { checkpointId: id }),
    );
  }

  withLease(lease: Lease): ForkpointWorkflowStore<TState> {
    return new ForkpointWorkflowStore(this.#handle.withLease(lease).asStore, { expectedParent: this.#expectsParent });
  }

  async #save(checkpoint: unknown, options: WorkflowSaveOptions | undefined, rewind: boolean): Promise<void> {
    const { parent, expectedParent, steps, lease } = readRecord(options, "options", saveOptions);
    return this.#handle.save(async (engine) => {
      const ids = ["id", "runId"];
      const { fields, state, rest } = encodeCheckpoint(checkpoint, engine.format, ids, readStepRef, "values");
      // The waiting save must not keep the caller's object in memory.
      checkpoint = undefined;
      const { runId, stepIndex } = fields;
      const { seen } = this.#handle;
      // Such a save begins or restarts the run.
      const begins = expectedParent === null || (rewind && stepIndex < 0);
      const incarnation = begins || !this.#expectsParent ? undefined : seen.incarnation(runId);
      const learn = (begun: Exact | null) => seen.note(runId, begun);
      const encoded = { step: fields, state, rest, steps, parent, expectedParent, incarnation, rewind };
      await put(engine, encoded, incarnation === undefined || rewind ? learn : undefined);
      detachBuffers(state, rest);
    }, lease);
  }
}

/**
 * The class {@link ForkpointWorkflowStore} under its name in Agentium's documentation. The type of this name is the
 * documented interface.
 */
export const WorkflowCheckpointStore: typeof ForkpointWorkflowStore = ForkpointWorkflowStore;

const saveOptions = {
  parent: filled,
  expectedParent: (value: unknown, name: string) => (value === null ? null : filled(value, name)),
  steps: whole(0, 0xffffffff, "steps"),
  lease: leaseOption,
};

/** Undefined: the store is not of this package. */
export function ownStore(store: object): OwnStore | undefined {
  return store instanceof ForkpointWorkflowStore ? open(store) : undefined;
}

export interface Encoded {
  step: StepRef;
  state: Serialized;
  rest: Serialized;
  steps: number | undefined;
  /** The hash of the workflow's shape. */
  shape?: string | undefined;
  parent: string | undefined;
  expectedParent?: string | null | undefined;
  /** The incarnation that the run must have. Undefined: not checked. */
  incarnation?: Exact | undefined;
  /** A random number that names the save. */
  stamp?: number;
  /** The save that must be the run's latest. Null: the run must have no checkpoint. Undefined: not checked. */
  after?: SaveRef | null | undefined;
  /** True if the save also removes the run's other checkpoints of this step and of later steps. */
  rewind: boolean;
}

export async function put(
  { native }: Engine,
  { step, state, rest, steps, shape, parent, expectedParent, incarnation, stamp, after, rewind }: Encoded,
  learn?: (incarnation: Exact | null) => void,
): Promise<void> {
  const { id, runId, stepIndex, stepName, createdAt } = step;
  // Use a literal: V8 makes and lists an object with `...step` far more slowly.
  const call = {
    id,
    runId,
    stepIndex,
    stepName,
    createdAt,
    steps,
    shape,
    parent,
    rewind,
    expectsParent: expectedParent !== undefined,
    expectedParent: expectedParent ?? undefined,
    incarnation,
    stamp,
    follows: after !== undefined,
    afterStep: after?.stepIndex,
    afterCreatedAt: after?.createdAt,
    afterStamp: after?.stamp ?? undefined,
    savedAt: Date.now(),
    stateTag: state.tag,
    restTag: rest.tag,
  };
  await agentium.call(native, "save", call, [state.bytes, rest.bytes], learn);
}

export async function find({ native }: Engine, checkpointId: unknown): Promise<Found | null> {
  const id = idOrNull(checkpointId, "checkpointId");
  return id === null ? null : agentium.find(native, "load", { checkpointId: id }, openFound);
}

export async function findLatest({ native }: Engine, runId: unknown): Promise<Found | null> {
  const run = idOrNull(runId, "runId");
  return run === null ? null : agentium.find(native, "latest", { runId: run }, openFound);
}

function restore<TState>({ format }: Engine, found: Found | null): WorkflowCheckpoint<TState> | null {
  if (found === null) return null;
  const { id, runId, parts } = found;
  return decodeCheckpoint<WorkflowCheckpoint<TState>>(format, parts, { id, runId }, "values");
}

async function runs({ native }: Engine, options: unknown): Promise<WorkflowRunsPage> {
  const { page, cursor } = await pageOf(native, readRecord(options, "options", pageOptions), {
    space: agentium.name,
    fetch: (before, limit) => agentium.call(native, "runs", { limit, before }),
    runOf: ({ runId }) => runId,
    newestOf: ({ latest, status }) => ({ newest: latest.id, status }),
    show: ({ runId, checkpoints, latest, status: stored, shape }, lease, stopped) => {
      const status = stopped === null ? stored : "stopped";
      const run: WorkflowRunInfo = { runId, checkpoints, latest, status, stopped, version: null, lease };
      return { shape, run };
    },
  });
  const shapes = page.map(({ shape }) => shape);
  const versions = await versionsOf(native, agentium.name, shapes);
  for (const [at, { run }] of page.entries()) run.version = versions[at]!;
  return { runs: page.map(({ run }) => run), cursor };
}
