import {
  type ForkpointWorkflowStore,
  InMemoryStorage,
  StorageBackedCheckpointStore,
  type StepDef,
  type StorageDriver,
  Workflow,
  type WorkflowCheckpoint,
  WorkflowCheckpointStore,
  type WorkflowConfig,
} from "forkpoint/agentium";
import { closing, durable, place } from "../helpers.js";

/** A driver as a user might write it. It stores values as JSON in a map, as a database would store text. */
export class JsonDriver implements StorageDriver {
  readonly rows = new Map<string, string>();
  initialized = 0;
  closed = 0;

  async initialize(): Promise<void> {
    this.initialized += 1;
  }

  #key(namespace: string, key: string): string {
    return JSON.stringify([namespace, key]);
  }

  async get<T>(namespace: string, key: string): Promise<T | null> {
    await later();
    const row = this.rows.get(this.#key(namespace, key));
    return row === undefined ? null : (JSON.parse(row) as T);
  }

  async set<T>(namespace: string, key: string, value: T): Promise<void> {
    await later();
    this.rows.set(this.#key(namespace, key), JSON.stringify(value));
  }

  async delete(namespace: string, key: string): Promise<void> {
    await later();
    this.rows.delete(this.#key(namespace, key));
  }

  async list<T>(namespace: string, prefix = ""): Promise<Array<{ key: string; value: T }>> {
    await later();
    return [...this.rows]
      .map(([row, value]) => ({ name: JSON.parse(row) as [string, string], value: JSON.parse(value) as T }))
      .filter(({ name: [of, key] }) => of === namespace && key.startsWith(prefix))
      .map(({ name: [, key], value }) => ({ key, value }));
  }

  async close(): Promise<void> {
    this.closed += 1;
  }
}

function later(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/**
 * A store as a user might write it, with only the documented methods. It keeps the objects that it is given and returns
 * the objects that it keeps, without copying.
 */
export class ForeignStore<TState> implements WorkflowCheckpointStore<TState> {
  readonly checkpoints = new Map<string, WorkflowCheckpoint<TState>>();

  async save(checkpoint: WorkflowCheckpoint<TState>): Promise<void> {
    this.checkpoints.set(checkpoint.id, checkpoint);
  }

  async load(checkpointId: string): Promise<WorkflowCheckpoint<TState> | null> {
    return this.checkpoints.get(checkpointId) ?? null;
  }

  async list(runId: string): Promise<Array<WorkflowCheckpoint<TState>>> {
    return [...this.checkpoints.values()]
      .filter((checkpoint) => checkpoint.runId === runId)
      .toSorted((a, b) => a.stepIndex - b.stepIndex);
  }

  async latest(runId: string): Promise<WorkflowCheckpoint<TState> | null> {
    return (await this.list(runId)).at(-1) ?? null;
  }

  async clear(runId: string): Promise<void> {
    for (const { id } of await this.list(runId)) this.checkpoints.delete(id);
  }
}

/** The stores on which every documented behaviour of workflows is tested. */
export const stores = {
  memory: <TState>(): WorkflowCheckpointStore<TState> => own("memory:"),
  sqlite: <TState>(): WorkflowCheckpointStore<TState> => own(place("sqlite")),
  "text files": <TState>(): WorkflowCheckpointStore<TState> => own(place("jsonl")),
  "a driver of the user's own": <TState>(): WorkflowCheckpointStore<TState> =>
    new StorageBackedCheckpointStore(new JsonDriver()),
  "a foreign store": <TState>(): WorkflowCheckpointStore<TState> => new ForeignStore(),
  postgres: <TState>(): WorkflowCheckpointStore<TState> => own(place("postgres")),
};

export const storeKinds = (Object.keys(stores) as Array<keyof typeof stores>).filter(
  (kind) => (kind === "postgres") === (durable === "postgres"),
);

/** Opens a store of this package that is closed when the running test ends. */
export function own<TState>(
  target: string,
  options?: ConstructorParameters<typeof WorkflowCheckpointStore>[1],
): ForkpointWorkflowStore<TState> {
  return closing(new WorkflowCheckpointStore<TState>(target, options));
}

export function inMemory<TState>(options?: { keepLastN?: number }): StorageBackedCheckpointStore<TState> {
  return new StorageBackedCheckpointStore<TState>(new InMemoryStorage(), options);
}

/** Makes a checkpoint. */
export function checkpoint<TState extends object>(
  fields: Partial<WorkflowCheckpoint<TState>> & Record<string, unknown> = {},
): WorkflowCheckpoint<TState> {
  const { runId = "run", stepIndex = 0 } = fields;
  return {
    id: stepIndex < 0 ? `${runId}:initial` : `${runId}:step-${stepIndex + 1}`,
    runId,
    stepIndex,
    stepName: stepIndex < 0 ? "initial" : `step-${stepIndex + 1}`,
    state: { at: stepIndex } as unknown as TState,
    createdAt: 1_700_000_000_000 + stepIndex,
    ...fields,
  };
}

export interface Counter {
  count: number;
  log: string[];
}

/** The example of Agentium's documentation. */
export function counter(
  checkpointStore: WorkflowCheckpointStore<Counter> | undefined,
  config: Partial<WorkflowConfig<Counter>> = {},
): Workflow<Counter> {
  return new Workflow<Counter>({
    name: "counter",
    initialState: { count: 0, log: [] },
    ...(checkpointStore && { checkpointStore }),
    steps: [
      {
        name: "increment-once",
        run: async (state) => ({ ...state, count: state.count + 1, log: [...state.log, "+1"] }),
      },
      {
        name: "increment-twice",
        run: async (state) => ({ ...state, count: state.count + 2, log: [...state.log, "+2"] }),
      },
      {
        name: "finalize",
        run: async (state) => ({ ...state, log: [...state.log, `total=${state.count}`] }),
      },
    ],
    ...config,
  });
}

/** Makes a workflow with this state at its beginning. */
export function flow<S>(
  checkpointStore: WorkflowCheckpointStore<S> | undefined,
  initialState: S,
  steps: StepDef<S>[],
  more: Partial<WorkflowConfig<S>> = {},
): Workflow<S> {
  return new Workflow<S>({ name: "w", initialState, steps, ...(checkpointStore && { checkpointStore }), ...more });
}

/** Returns the step indexes and names of a run's checkpoints: "-1 initial, 0 a". */
export async function chain(store: WorkflowCheckpointStore<any>, runId: string): Promise<string> {
  return (await store.list(runId)).map(({ stepIndex, stepName }) => `${stepIndex} ${stepName}`).join(", ");
}

/** Returns the names and statuses of results: "a done, b error". */
export const told = (results: Array<{ stepName: string; status: string }>): string =>
  results.map(({ stepName, status }) => `${stepName} ${status}`).join(", ");
