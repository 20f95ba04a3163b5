/** Connects a run with the user's store, which may have one of two interfaces. */

import { crypto } from "../../bridge/crypto.js";
import { ForkpointError, quote, show, typeError } from "../../bridge/errors.js";
import type { StoreHandle } from "../../store/handle.js";
import { type ProgramShape, shapeHash } from "../../store/compare-programs.js";
import { describeProgram } from "../../store/stored-programs.js";
import { type Written, misfit, otherMaker } from "../shared/fit.js";
import { stateAndRest } from "../shared/record.js";
import { RunLease } from "../shared/run-lease.js";
import { type Format, deserialize, formatOf } from "../../bridge/serializer.js";
import type { Exact } from "../../bridge/wire.js";
import { type StepRef, readStepRef, sorted } from "./checkpoint.js";
import { Snapshot } from "./state.js";
import { type OwnStore, find, findLatest, ownStore, put, type WorkflowCheckpointStore } from "./store.js";
import { positionAfter } from "./shape.js";
import { type Found, type SaveRef, agentium } from "./wire.js";
import type { WorkflowCheckpoint } from "./contract.js";

export interface Recorded extends Omit<StepRef, "createdAt"> {
  state: Snapshot;
  /** The hash of the shape of the workflow that stored the checkpoint. Undefined: unknown. */
  shape?: string | undefined;
}

export interface Recording extends Recorded {
  steps: number;
  rewind: boolean;
  /** The id of the checkpoint that the run was forked from. Set for the run's first checkpoint only. */
  parent: string | undefined;
}

export interface Recorder {
  /** Identifies the stored data. A run can only be in progress once per identity. */
  readonly identity: unknown;
  readonly format: Format;
  /** The handle of the store. Null if the store is not of this package. */
  readonly handle: StoreHandle | null;
  /** The lease of the run. Undefined if the workflow takes no leases. */
  readonly lease?: RunLease | undefined;
  /** The last read or stored incarnation of the run. Undefined: unknown. */
  readonly incarnation?: Exact | undefined;
  load(checkpointId: string): Promise<Recorded | null>;
  latest(runId: string): Promise<Recorded | null>;
  /** Stores a checkpoint. Resolves to the state that the store will return. */
  store(recording: Recording): Promise<Snapshot>;
  /**
   * Returns the error for a checkpoint that does not fit the workflow. Undefined: it fits, or its version is unknown.
   */
  misfit?(recorded: Recorded): Promise<ForkpointError | undefined>;
  /** Returns the error for a run that a workflow with another name has made. */
  otherMaker?(recorded: Pick<Recorded, "runId" | "shape">): Promise<ForkpointError | undefined>;
  /** Throws if a run with this id exists and a workflow with another name has made it. */
  requireOwn?(runId: string): Promise<void>;
}

/** Makes the recorder of a run for a store of the user. With `leaseMs`, the run takes a lease. */
export function recorderOf(
  store: WorkflowCheckpointStore<any>,
  shape: ProgramShape,
  leaseMs: number | undefined,
): Recorder {
  const own = ownStore(store);
  return own === undefined ? new ForeignRecorder(store) : new OwnRecorder(own, shape, leaseMs);
}

/** Checks that the value has the documented store interface or the framework's store interface. */
export function readStore(store: unknown): WorkflowCheckpointStore<any> | undefined {
  if (store === undefined || store === null) return undefined;
  const { save, load, list, listForRun } = (typeof store === "object" ? store : {}) as Record<string, unknown>;
  if ([save, load, list ?? listForRun].every((method) => typeof method === "function")) {
    return store as WorkflowCheckpointStore<any>;
  }
  throw typeError(`checkpointStore must have the methods save(), load() and list(), but is ${show(store)}`);
}

/** The recorder for a store of this package. It passes bytes to the store, so that each state is serialized once. */
class OwnRecorder implements Recorder {
  readonly handle: StoreHandle;
  readonly #expectsParent: boolean;
  readonly #shape: ProgramShape;
  readonly identity: unknown;
  readonly format: Format;
  readonly lease: RunLease | undefined;
  incarnation: Exact | undefined;
  /** The last save that the run has read or stored. Null: the run had no checkpoint. Undefined: nothing yet. */
  #last: (SaveRef & { runId: string }) | null | undefined;

  constructor({ handle, expectsParent }: OwnStore, shape: ProgramShape, leaseMs: number | undefined) {
    this.#shape = shape;
    this.lease = leaseMs === undefined ? undefined : new RunLease(handle, leaseMs);
    this.handle = handle;
    this.#expectsParent = expectsParent;
    this.identity = handle.identity;
    this.format = handle.format;
  }

  load(checkpointId: string): Promise<Recorded | null> {
    return this.handle.run(async (engine) => this.#recorded(await find(engine, checkpointId), undefined));
  }

  latest(runId: string): Promise<Recorded | null> {
    return this.handle.run(async (engine) => this.#recorded(await findLatest(engine, runId), null));
  }

  async store({ id, runId, stepIndex, stepName, state, steps, rewind, parent }: Recording): Promise<Snapshot> {
    await describeProgram(this.handle, agentium.name, this.#shape, this.#shape.program);
    const stored = state.in(this.format);
    const createdAt = Date.now();
    const rest = { id: null, runId: null, stepIndex, stepName, state: null, createdAt };
    const encoded = {
      step: { id, runId, stepIndex, stepName, createdAt },
      state: stored,
      rest: this.format.serialize(rest, "checkpoint"),
      steps,
      shape: shapeHash(this.#shape),
      parent,
      stamp: stampOf(stepIndex),
      after: this.#after(runId, rewind),
      rewind,
    };
    await this.handle.save((engine, held) => {
      held.add(stored.bytes.byteLength);
      held.take(encoded.rest.bytes);
      // A rewind may restart the run.
      const learn = (incarnation: Exact | null) => {
        this.incarnation = incarnation ?? undefined;
        this.handle.seen.note(runId, incarnation);
      };
      const unknown = rewind || this.incarnation === undefined || this.#last?.runId !== runId;
      return put(engine, encoded, unknown ? learn : undefined);
    }, this.lease?.held);
    this.#last = { runId, stepIndex, createdAt, stamp: encoded.stamp };
    return new Snapshot(this.format, stored);
  }

  misfit(recorded: Recorded): Promise<ForkpointError | undefined> {
    const program = `workflow ${quote(this.#shape.program!)}`;
    const position = (old: ProgramShape) => positionAfter(recorded.stepIndex, old);
    return misfit({ ...this.#written(recorded), program, position });
  }

  otherMaker(recorded: Pick<Recorded, "runId" | "shape">): Promise<ForkpointError | undefined> {
    return otherMaker(this.#written(recorded));
  }

  async requireOwn(runId: string): Promise<void> {
    const found = await this.handle.run((engine) => findLatest(engine, runId));
    const error = found && (await this.otherMaker({ runId, shape: found.shape ?? undefined }));
    if (error) throw error;
  }

  #written({ runId, shape: from }: Pick<Recorded, "runId" | "shape">): Written {
    return { handle: this.handle, space: agentium.name, run: `run ${quote(runId)}`, from, to: this.#shape };
  }

  /** Returns the save that must be the run's latest one. A rewind that the caller asked for replaces any save. */
  #after(runId: string, rewind: boolean): SaveRef | null | undefined {
    if (!this.#expectsParent || (rewind && this.#last !== null)) return undefined;
    return this.#last?.runId === runId ? this.#last : null;
  }

  /** `none` becomes the last save if nothing was found. */
  #recorded(found: Found | null, none: null | undefined): Recorded | null {
    this.#last = found === null ? none : { runId: found.runId, ...found.saved };
    this.incarnation = found?.incarnation;
    if (found === null) return null;
    if (this.incarnation !== undefined) this.handle.seen.note(found.runId, this.incarnation);
    const { id, runId, shape, parts } = found;
    const [state, rest] = stateAndRest(parts, id);
    const fields = deserialize(this.format, rest.tag, rest.bytes, `checkpoint ${quote(id)}`);
    const read = recorded({ ...fields, id, runId }, new Snapshot(this.format, state));
    return { ...read, shape: shape ?? undefined };
  }
}

/** Records to a store of the user. It may return its own objects and keep given ones, so this class copies both. */
class ForeignRecorder implements Recorder {
  readonly #store: WorkflowCheckpointStore<any> & { listForRun?: WorkflowCheckpointStore<any>["list"] };
  readonly handle = null;
  readonly identity: unknown;
  readonly format = formatOf("v8");

  constructor(store: WorkflowCheckpointStore<any>) {
    this.#store = store;
    this.identity = store;
  }

  async load(checkpointId: string): Promise<Recorded | null> {
    return this.#recorded(await this.#store.load(checkpointId));
  }

  async latest(runId: string): Promise<Recorded | null> {
    if (typeof this.#store.latest === "function") return this.#recorded(await this.#store.latest(runId));
    return this.#recorded((await this.#list(runId)).at(-1) ?? null);
  }

  async store({ id, runId, stepIndex, stepName, state, rewind }: Recording): Promise<Snapshot> {
    const checkpoint = { id, runId, stepIndex, stepName, state: state.draft(), createdAt: Date.now() };
    if (!rewind) await this.#store.save(checkpoint);
    else if (typeof this.#store.rewind === "function") await this.#store.rewind(checkpoint);
    else await this.#rewind(checkpoint);
    // Read the state back, because the run must continue with the state of a resume. JSON, for example, has no Date.
    const stored = await this.#store.load(id);
    return stored === null || stored === undefined ? state : Snapshot.of(stored.state, this.format);
  }

  async #rewind(checkpoint: WorkflowCheckpoint<any>): Promise<void> {
    const { id, runId, stepIndex } = checkpoint;
    const remove = this.#store.delete?.bind(this.#store);
    if (stepIndex < 0 && typeof this.#store.clear === "function") {
      await this.#store.clear(runId);
      return this.#store.save(checkpoint);
    }
    const all = await this.#list(runId);
    const later = all.filter((other) => other.stepIndex >= stepIndex && other.id !== id);
    if (later.length > 0 && remove !== undefined) {
      // Remove the last checkpoint first. If the process crashes between two removals, the run's earlier checkpoints
      // remain.
      for (const other of later.toReversed()) await remove(other.id);
    } else if (later.length > 0) {
      const before = structuredClone(all.filter((other) => other.stepIndex < stepIndex));
      await this.#store.clear(runId);
      for (const other of before) await this.#store.save(other);
    }
    await this.#store.save(checkpoint);
  }

  async #list(runId: string): Promise<Array<WorkflowCheckpoint<any>>> {
    const list = this.#store.list ?? this.#store.listForRun!;
    const found = await Reflect.apply(list, this.#store, [runId]);
    return sorted([...found].filter((checkpoint) => checkpoint.runId === runId));
  }

  #recorded(found: WorkflowCheckpoint<any> | null | undefined): Recorded | null {
    return found === null || found === undefined ? null : recorded(found, Snapshot.of(found.state, this.format));
  }
}

/**
 * Returns a random number that names a save. Within a millisecond, a later step has the greater number, because
 * retention by number uses this order.
 */
function stampOf(stepIndex: number): number {
  return Math.min(stepIndex + 2, 2 ** 20) * 2 ** 32 + crypto().randomInt(2 ** 32);
}

function recorded(checkpoint: object, state: Snapshot): Recorded {
  const { id, runId, stepIndex, stepName } = readStepRef(checkpoint as Record<string, unknown>);
  if (Number.isSafeInteger(stepIndex)) return { id, runId, stepIndex, stepName, state };
  throw new ForkpointError(
    "CONFLICT",
    `checkpoint ${quote(id)} does not belong to a step: its stepIndex must be a whole number, but is ${stepIndex}`,
  );
}
