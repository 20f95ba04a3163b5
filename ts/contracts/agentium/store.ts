/** The checkpoint store of workflows. */

import type {
  CheckpointSummary,
  WorkflowCheckpoint,
  ForkpointWorkflowStore as Contract,
  WorkflowCheckpointStoreOptions,
  WorkflowCheckpointStats,
  WorkflowRunsPage,
} from "../../../agentium.js";
import type {
  CheckOptions,
  LeaseOptions,
  PruneOptions,
  RunPruneResult,
  RunRef,
  StatsOptions,
  VerifyReport,
} from "../../../index.js";
import type { Engine } from "../../store/engine.js";
import { StoreHandle } from "../../store/handle.js";
import { idOrNull } from "../../store/ids.js";
import { type Lease, holdersOf, leaseOption } from "../../store/lease.js";
import type { NativeStore } from "../../bridge/native.js";
import { pageOptions, readExpectedParent, readRecord, whole } from "../../store/options.js";
import { decodeCheckpoint, detachBuffers, encodeCheckpoint } from "../shared/record.js";
import type { Serialized } from "../../bridge/serializer.js";
import type { Open, PackedPart, Part } from "../../bridge/wire.js";
import { type StepRef, filled, readStepRef } from "./checkpoint.js";
import { agentium } from "./wire.js";

/** A checkpoint as the engine returns it, not yet deserialised. */
export interface Found {
  id: string;
  runId: string;
  parts: Part[];
}

const openFound: Open<Omit<Found, "parts"> & { parts: PackedPart[] }, Found> = ({ id, runId, parts }, part) => ({
  id,
  runId,
  parts: parts.map(part),
});

type SaveOptions = { parent?: string; expectedParent?: string | null; steps?: number; lease?: Lease } | undefined;

/** The parts of a store of this package that a workflow uses. */
export interface OwnStore {
  handle: StoreHandle;
  /** The value of the store's option `expectedParent`. */
  expectsParent: boolean;
}

let open: (store: ForkpointWorkflowStore<unknown>) => OwnStore;

export class ForkpointWorkflowStore<TState> implements Contract<TState> {
  readonly #handle: StoreHandle;
  readonly #expectsParent: boolean;

  constructor(target: string | URL | object, options?: WorkflowCheckpointStoreOptions) {
    const [expectsParent, others] = readExpectedParent(options);
    this.#expectsParent = expectsParent;
    this.#handle = StoreHandle.of(target, others, agentium);
  }

  static {
    open = (store) => ({ handle: store.#handle, expectsParent: store.#expectsParent });
  }

  save(checkpoint: WorkflowCheckpoint<TState>, options?: SaveOptions): Promise<void> {
    return this.#save(checkpoint, options, false);
  }

  rewind(checkpoint: WorkflowCheckpoint<TState>, options?: SaveOptions): Promise<void> {
    return this.#save(checkpoint, options, true);
  }

  load(checkpointId: string): Promise<WorkflowCheckpoint<TState> | null> {
    return this.#handle.run(async (engine) => restore(engine, await find(engine, checkpointId)));
  }

  latest(runId: string): Promise<WorkflowCheckpoint<TState> | null> {
    return this.#handle.run(async (engine) => restore(engine, await findLatest(engine, runId)));
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
        // Reading a long run takes a while, so let timers run after every 64 checkpoints.
        if (checkpoints.length % 64 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      return checkpoints;
    });
  }

  listForRun(runId: string): Promise<Array<WorkflowCheckpoint<TState>>> {
    return this.list(runId);
  }

  timeline(runId: string): Promise<CheckpointSummary[]> {
    return this.#handle.run(async ({ native }) => {
      const run = idOrNull(runId, "runId");
      return run === null ? [] : (await agentium.call(native, "timeline", { runId: run })).toReversed();
    });
  }

  runs(options?: { limit?: number; cursor?: string | null }): Promise<WorkflowRunsPage> {
    return this.#handle.run(({ native }) => runs(native, options));
  }

  clear(runId: string): Promise<void> {
    return this.#handle.run(async ({ native }) => {
      const run = idOrNull(runId, "runId");
      if (run !== null) await agentium.call(native, "clear", { runId: run });
    });
  }

  delete(checkpointId: string): Promise<void> {
    return this.#handle.run(async ({ native }) => {
      const id = idOrNull(checkpointId, "checkpointId");
      if (id !== null) await agentium.call(native, "delete", { checkpointId: id });
    });
  }

  lease(run: RunRef, options?: LeaseOptions): Promise<Lease> {
    return this.#handle.lease(run, options);
  }

  withLease(lease: Lease): ForkpointWorkflowStore<TState> {
    return new ForkpointWorkflowStore(this.#handle.withLease(lease), { expectedParent: this.#expectsParent });
  }

  prune(options?: PruneOptions<RunPruneResult>): Promise<RunPruneResult> {
    return this.#handle.prune(options);
  }

  stats(options?: StatsOptions): Promise<WorkflowCheckpointStats> {
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

  async #save(checkpoint: unknown, options: SaveOptions, rewind: boolean): Promise<void> {
    const read = readRecord(options, "options", saveOptions) as NonNullable<SaveOptions>;
    const { parent, expectedParent, steps, lease } = read;
    return this.#handle.save(async (engine) => {
      const ids = ["id", "runId"];
      const { fields, state, rest } = encodeCheckpoint(checkpoint, engine.format, ids, readStepRef, "values");
      await put(engine, { step: fields, state, rest, steps, parent, expectedParent, rewind });
      detachBuffers(state, rest);
    }, lease);
  }
}

const saveOptions = {
  parent: filled,
  expectedParent: (value: unknown, name: string) => (value === null ? null : filled(value, name)),
  steps: whole(0, 0xffffffff, "steps"),
  lease: leaseOption,
};

/**
 * Returns the handle of a store of this package, or undefined for any other store. A workflow passes serialised
 * checkpoints to this handle.
 */
export function ownStore(store: object): OwnStore | undefined {
  return store instanceof ForkpointWorkflowStore ? open(store) : undefined;
}

/** A serialised checkpoint. */
export interface Encoded {
  step: StepRef;
  state: Serialized;
  rest: Serialized;
  /** How many steps the workflow has. Undefined means that this is not known. */
  steps: number | undefined;
  /** The id of the checkpoint that the run was forked from. */
  parent: string | undefined;
  /**
   * The id of the run's latest checkpoint, as the caller knows it. Null means that the run must have no checkpoint.
   * Undefined means that the latest checkpoint is not checked.
   */
  expectedParent: string | null | undefined;
  /** True if the save also removes the run's other checkpoints of this step and of later steps. */
  rewind: boolean;
}

export async function put(
  { native }: Engine,
  { step, state, rest, steps, parent, expectedParent, rewind }: Encoded,
): Promise<void> {
  const call = {
    id: step.id,
    runId: step.runId,
    stepIndex: step.stepIndex,
    stepName: step.stepName,
    createdAt: step.age,
    steps,
    parent,
    rewind,
    expectsParent: expectedParent !== undefined,
    expectedParent: expectedParent ?? undefined,
    savedAt: Date.now(),
    stateTag: state.tag,
    restTag: rest.tag,
  };
  await agentium.call(native, "save", call, [state.bytes, rest.bytes]);
}

/**
 * Finds a checkpoint by its id. Returns null if there is no such checkpoint, or if no stored checkpoint can have this
 * id.
 */
export async function find({ native }: Engine, checkpointId: unknown): Promise<Found | null> {
  const id = idOrNull(checkpointId, "checkpointId");
  return id === null ? null : agentium.find(native, "load", { checkpointId: id }, openFound);
}

/** Finds the latest checkpoint of a run. Returns null if the run has none. */
export async function findLatest({ native }: Engine, runId: unknown): Promise<Found | null> {
  const run = idOrNull(runId, "runId");
  return run === null ? null : agentium.find(native, "latest", { runId: run }, openFound);
}

function restore<TState>({ format }: Engine, found: Found | null): WorkflowCheckpoint<TState> | null {
  if (found === null) return null;
  const { id, runId, parts } = found;
  return decodeCheckpoint<WorkflowCheckpoint<TState>>(format, parts, { id, runId }, "values");
}

async function runs(native: NativeStore, options: unknown): Promise<WorkflowRunsPage> {
  const read = readRecord(options, "options", pageOptions);
  const limit = (read["limit"] as number | undefined) ?? 100;
  const before = read["cursor"] as number | undefined;
  // Request one run more than the page holds. If the engine returns it, there is a next page.
  const found = await agentium.call(native, "runs", { limit: limit + 1, before });
  const page = found.slice(0, limit);
  const leases = await holdersOf(
    native,
    agentium.name,
    page.map(({ runId }) => runId),
  );
  return {
    runs: page.map(({ runId, checkpoints, latest, status }, at) => ({
      runId,
      checkpoints,
      latest,
      status,
      lease: leases[at]!,
    })),
    cursor: found.length > limit ? page[limit - 1]!.cursor : null,
  };
}
