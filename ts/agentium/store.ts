import type {
  CheckpointSummary,
  WorkflowCheckpoint,
  WorkflowCheckpointStore as Contract,
  WorkflowCheckpointStats,
  WorkflowRunsPage,
} from "../../agentium.js";
import type { PruneOptions, PruneResult, StoreOptions } from "../../index.js";
import { lookup } from "../ids.js";
import { type NativeStore, type Outcome, call, direct } from "../native.js";
import { type Fetch, type Named, fetchAllNamed, fetchNamed } from "../parcel.js";
import { pageOptions, readRecord } from "../options.js";
import { discard, putTogether, takeApart } from "../record.js";
import type { Serialized } from "../serializer.js";
import type { Engine } from "../store.js";
import { View } from "../view.js";
import { type Place, filled, readPlace } from "./checkpoint.js";

/** Whose checkpoints these are, among those of all contracts. */
const space = direct((binding) => binding.AGENTIUM_SPACE);

type SaveOptions = { parent?: string } | undefined;

let views: (store: WorkflowCheckpointStore<unknown>) => View;

export class WorkflowCheckpointStore<TState> implements Contract<TState> {
  readonly #view: View;

  constructor(target: string | URL | object, options?: StoreOptions) {
    this.#view = new View(target, options, space);
  }

  static {
    views = (store) => store.#view;
  }

  save(checkpoint: WorkflowCheckpoint<TState>, options?: SaveOptions): Promise<void> {
    return this.#save(checkpoint, options, false);
  }

  rewind(checkpoint: WorkflowCheckpoint<TState>, options?: SaveOptions): Promise<void> {
    return this.#save(checkpoint, options, true);
  }

  load(checkpointId: string): Promise<WorkflowCheckpoint<TState> | null> {
    return this.#view.run(async (engine) => unpack(engine, await find(engine, checkpointId)));
  }

  latest(runId: string): Promise<WorkflowCheckpoint<TState> | null> {
    return this.#view.run(async (engine) => unpack(engine, await findLatest(engine, runId)));
  }

  list(runId: string): Promise<Array<WorkflowCheckpoint<TState>>> {
    return this.#view.run(async (engine) => {
      const found = await ask(engine, runId, "runId", submitList, fetchAllNamed);
      const checkpoints: Array<WorkflowCheckpoint<TState>> = [];
      for (const named of found ?? []) {
        checkpoints.push(unpack<TState>(engine, named)!);
        // A long run takes a while to read: timers get their turn.
        if (checkpoints.length % 64 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      return checkpoints;
    });
  }

  listForRun(runId: string): Promise<Array<WorkflowCheckpoint<TState>>> {
    return this.list(runId);
  }

  timeline(runId: string): Promise<CheckpointSummary[]> {
    return this.#view.run(async (engine) => {
      const found = await ask<string>(engine, runId, "runId", (native, ticket, id) => native.agentiumTimeline(ticket, id));
      return found === null ? [] : (JSON.parse(found) as SummaryFields[]).map(summary).toReversed();
    });
  }

  runs(options?: { limit?: number; cursor?: string | null }): Promise<WorkflowRunsPage> {
    return this.#view.run(({ native }) => runs(native, options));
  }

  clear(runId: string): Promise<void> {
    return this.#remove(runId, "runId", (native, ticket, id) => native.agentiumClear(ticket, id));
  }

  delete(checkpointId: string): Promise<void> {
    return this.#remove(checkpointId, "checkpointId", (native, ticket, id) => native.agentiumDelete(ticket, id));
  }

  prune(options?: PruneOptions): Promise<PruneResult> {
    return this.#view.prune(options);
  }

  stats(): Promise<WorkflowCheckpointStats> {
    return this.#view.stats();
  }

  vacuum(): Promise<void> {
    return this.#view.vacuum();
  }

  close(): Promise<void> {
    return this.#view.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #save(checkpoint: unknown, options: SaveOptions, rewind: boolean): Promise<void> {
    return this.#view.run(async (engine) => {
      const { parent } = readRecord(options, "options", saveOptions) as { parent?: string };
      const { fields, state, rest } = takeApart(checkpoint, engine.format, ["id", "runId"], readPlace);
      await put(engine, { place: fields, state, rest, parent, rewind });
      discard(state, rest);
    });
  }

  #remove(id: unknown, what: string, submit: Submit): Promise<void> {
    return this.#view.run(async (engine) => {
      await ask(engine, id, what, submit);
    });
  }
}

const saveOptions = { parent: filled };

/** What the workflow uses of a store of ours: it hands over bytes. */
export function viewOf(store: object): View | undefined {
  return store instanceof WorkflowCheckpointStore ? views(store) : undefined;
}

/** A checkpoint in bytes. */
export interface Packed {
  place: Place;
  state: Serialized;
  rest: Serialized;
  /** The checkpoint that its run was forked from. */
  parent: string | undefined;
  /** What the run has from this step on, this one aside, goes. */
  rewind: boolean;
}

export async function put({ native }: Engine, { place, state, rest, parent, rewind }: Packed): Promise<void> {
  const { id, runId, stepIndex, stepName, age } = place;
  await call<null>(native, (ticket) =>
    native.agentiumSave(
      ticket,
      id,
      runId,
      stepIndex,
      stepName,
      age,
      parent,
      rewind,
      Date.now(),
      state.tag,
      state.bytes,
      rest.tag,
      rest.bytes,
    ),
  );
}

export function find(engine: Engine, checkpointId: unknown): Promise<Named | null> {
  return ask(engine, checkpointId, "checkpointId", (native, ticket, id) => native.agentiumLoad(ticket, id), fetchNamed);
}

export function findLatest(engine: Engine, runId: unknown): Promise<Named | null> {
  return ask(engine, runId, "runId", (native, ticket, id) => native.agentiumLatest(ticket, id), fetchNamed);
}

type Submit = (native: NativeStore, ticket: number, id: string) => Outcome;

const submitList: Submit = (native, ticket, id) => native.agentiumList(ticket, id);

/** Null for an id that no record can have. */
async function ask<T>(
  { native }: Engine,
  id: unknown,
  what: string,
  submit: Submit,
  settle: Fetch<T | null> = call,
): Promise<T | null> {
  const known = lookup(id, what);
  return known === null ? null : settle(native, (ticket) => submit(native, ticket, known));
}

function unpack<TState>({ format }: Engine, found: Named | null): WorkflowCheckpoint<TState> | null {
  if (found === null) return null;
  const [[id, runId], parts] = found as [[string, string], Named[1]];
  return putTogether<WorkflowCheckpoint<TState>>(format, parts, { id, runId });
}

type SummaryFields = [id: string, stepIndex: number, stepName: string, createdAt: number, stateSize: number];

function summary([id, stepIndex, stepName, createdAt, stateSize]: SummaryFields): CheckpointSummary {
  return { id, stepIndex, stepName, createdAt, stateSize };
}

async function runs(native: NativeStore, options: unknown): Promise<WorkflowRunsPage> {
  const read = readRecord(options, "options", pageOptions);
  const limit = (read["limit"] as number | undefined) ?? 100;
  const before = read["cursor"] as number | undefined;
  // One more than the page: whether there is a next page is then known.
  const listed = await call<string>(native, (ticket) => native.agentiumRuns(ticket, limit + 1, before));
  const found = JSON.parse(listed) as Array<[cursor: string, runId: string, checkpoints: number, latest: SummaryFields]>;
  const page = found.slice(0, limit);
  return {
    runs: page.map(([, runId, checkpoints, latest]) => ({ runId, checkpoints, latest: summary(latest) })),
    cursor: found.length > limit ? page[limit - 1]![0] : null,
  };
}
