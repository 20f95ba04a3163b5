import type { IWorkflowCheckpointStore, WorkflowCheckpoint } from "../../agentium.js";
import { ForkpointError, quote, show, typeError } from "../errors.js";
import type { StoreHandle } from "../handle.js";
import { stateAndRest } from "../record.js";
import { type Format, deserialize, formatOf } from "../serializer.js";
import { readPlace } from "./checkpoint.js";
import { Snapshot } from "./state.js";
import { type Found, type OwnStore, find, findLatest, ownStore, put } from "./store.js";

/** A checkpoint as a run goes on from it. */
export interface Recorded {
  id: string;
  runId: string;
  stepIndex: number;
  stepName: string;
  state: Snapshot;
}

/** A checkpoint to store. */
export interface Recording extends Recorded {
  /** What the run has from this step on, this one aside, goes. */
  rewind: boolean;
  /** The checkpoint that the run was forked from, where this is its first. */
  parent: string | undefined;
  /** The checkpoint of the run that it follows; null: it is the first. */
  previous: string | null;
}

/** What a run uses of a store. */
export interface Recorder {
  /** What the same checkpoints are behind: a run is under way only once there. */
  readonly identity: unknown;
  /** How states become bytes. */
  readonly format: Format;
  load(checkpointId: string): Promise<Recorded | null>;
  latest(runId: string): Promise<Recorded | null>;
  /** Resolves to the state as it is stored. */
  store(recording: Recording): Promise<Snapshot>;
}

/** The recorder over a store of the user's. */
export function recorderOf(store: IWorkflowCheckpointStore<any>): Recorder {
  const own = ownStore(store);
  return own === undefined ? new ForeignRecorder(store) : new OwnRecorder(own);
}

/** Checks that it is a store, of the documented interface or of the framework's. */
export function readStore(store: unknown): IWorkflowCheckpointStore<any> | undefined {
  if (store === undefined || store === null) return undefined;
  const { save, load, list, listForRun } = (typeof store === "object" ? store : {}) as Record<string, unknown>;
  if ([save, load, list ?? listForRun].every((method) => typeof method === "function")) {
    return store as IWorkflowCheckpointStore<any>;
  }
  throw typeError(`checkpointStore must have the methods save(), load() and list(), and is ${show(store)}`);
}

/** Bytes go to our own store as they are. */
class OwnRecorder implements Recorder {
  readonly #handle: StoreHandle;
  readonly #expectsParent: boolean;
  readonly identity: unknown;
  readonly format: Format;

  constructor({ handle, expectsParent }: OwnStore) {
    this.#handle = handle;
    this.#expectsParent = expectsParent;
    this.identity = handle.identity;
    this.format = handle.format;
  }

  load(checkpointId: string): Promise<Recorded | null> {
    return this.#handle.run(async (engine) => this.#recorded(await find(engine, checkpointId)));
  }

  latest(runId: string): Promise<Recorded | null> {
    return this.#handle.run(async (engine) => this.#recorded(await findLatest(engine, runId)));
  }

  async store({ id, runId, stepIndex, stepName, state, rewind, parent, previous }: Recording): Promise<Snapshot> {
    const stored = state.in(this.format);
    const createdAt = Date.now();
    const rest = { id: null, runId: null, stepIndex, stepName, state: null, createdAt };
    const encoded = {
      place: { id, runId, stepIndex, stepName, age: createdAt },
      state: stored,
      rest: this.format.serialize(rest, "checkpoint"),
      parent,
      // A rewind replaces what the run has, whatever that is.
      expectedParent: this.#expectsParent && !rewind ? previous : undefined,
      rewind,
    };
    await this.#handle.run((engine) => put(engine, encoded));
    return new Snapshot(this.format, stored);
  }

  #recorded(found: Found | null): Recorded | null {
    if (found === null) return null;
    const { id, runId, parts } = found;
    const [state, rest] = stateAndRest(parts, id);
    const fields = deserialize(this.format, rest.tag, rest.bytes, `checkpoint ${quote(id)}`);
    return recorded({ ...fields, id, runId }, new Snapshot(this.format, state));
  }
}

/** What a foreign store hands out may be its own object, and what it keeps may be ours: only copies pass. */
class ForeignRecorder implements Recorder {
  readonly #store: IWorkflowCheckpointStore<any> & { listForRun?: IWorkflowCheckpointStore<any>["list"] };
  readonly identity: unknown;
  readonly format = formatOf("v8");

  constructor(store: IWorkflowCheckpointStore<any>) {
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
    // As it would come back after a crash: JSON, for one, has no Date.
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
      // From the end: what is there is the beginning of a run at every moment.
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
    return [...found].filter((checkpoint) => checkpoint.runId === runId).toSorted((a, b) => a.stepIndex - b.stepIndex);
  }

  #recorded(found: WorkflowCheckpoint<any> | null | undefined): Recorded | null {
    return found === null || found === undefined ? null : recorded(found, Snapshot.of(found.state, this.format));
  }
}

function recorded(checkpoint: object, state: Snapshot): Recorded {
  const { id, runId, stepIndex, stepName } = readPlace(checkpoint as Record<string, unknown>);
  if (Number.isSafeInteger(stepIndex)) return { id, runId, stepIndex, stepName, state };
  throw new ForkpointError("CONFLICT", `checkpoint ${quote(id)} is of no step: its stepIndex is ${stepIndex}`);
}
