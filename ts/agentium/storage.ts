import type { StorageBackedCheckpointStore as Contract, StorageDriver, WorkflowCheckpoint } from "../../agentium.js";
import { show, typeError } from "../errors.js";
import { idOrNull } from "../ids.js";
import { atMost, readRecord } from "../options.js";
import { copyOf } from "../serializer.js";
import { type Place, inOrder, oldestFirst, readPlace } from "./checkpoint.js";

/** Where the framework's own store keeps them: what it has written can be read. */
const NAMESPACE = "workflow:checkpoints";
/** Where the ids of a run are noted that do not begin with it; the others are found by their beginning. */
const STRAYS = "workflow:checkpoints:strays";

const methods = ["get", "set", "delete", "list"] as const;

export class StorageBackedCheckpointStore<TState> implements Contract<TState> {
  /** So many of each run are kept; 0: all. */
  readonly keepLastN: number;
  readonly #driver: StorageDriver;
  #ready: Promise<void> | undefined;
  /** The last of each run's changes under way: they happen one after the other. */
  readonly #changes = new Map<string, Promise<unknown>>();

  constructor(driver: StorageDriver, options?: { keepLastN?: number | null }) {
    if (typeof driver !== "object" || driver === null) throw typeError(`driver must be a StorageDriver, and is ${show(driver)}`);
    for (const method of methods) {
      if (typeof driver[method] !== "function") throw typeError(`driver must be a StorageDriver: it has no method ${method}()`);
    }
    this.#driver = driver;
    this.keepLastN = (readRecord(options, "options", { keepLastN: atMost("checkpoints") })["keepLastN"] as number | null) ?? 0;
  }

  save(checkpoint: WorkflowCheckpoint<TState>): Promise<void> {
    return this.#store(checkpoint, false);
  }

  rewind(checkpoint: WorkflowCheckpoint<TState>): Promise<void> {
    return this.#store(checkpoint, true);
  }

  async load(checkpointId: string): Promise<WorkflowCheckpoint<TState> | null> {
    const id = idOrNull(checkpointId, "checkpointId");
    if (id === null) return null;
    await this.#open();
    return (await this.#driver.get<WorkflowCheckpoint<TState>>(NAMESPACE, id)) ?? null;
  }

  async list(runId: string): Promise<Array<WorkflowCheckpoint<TState>>> {
    return (await this.#entries(runId)).map(({ checkpoint }) => checkpoint);
  }

  listForRun(runId: string): Promise<Array<WorkflowCheckpoint<TState>>> {
    return this.list(runId);
  }

  async latest(runId: string): Promise<WorkflowCheckpoint<TState> | null> {
    return (await this.list(runId)).at(-1) ?? null;
  }

  async clear(runId: string): Promise<void> {
    const run = idOrNull(runId, "runId");
    if (run === null) return;
    await this.#inTurn(run, async () => {
      const entries = await this.#entries(run);
      await this.#removeAll(entries.toReversed());
    });
  }

  async delete(checkpointId: string): Promise<void> {
    const id = idOrNull(checkpointId, "checkpointId");
    if (id === null) return;
    const found = await this.load(id);
    if (found !== null) await this.#inTurn(String(found.runId), () => this.#remove({ id, runId: found.runId }));
  }

  /** Waits for what was called before. The driver stays open: whoever opened it closes it. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#changes.values());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #store(checkpoint: WorkflowCheckpoint<TState>, rewind: boolean): Promise<void> {
    if (typeof checkpoint !== "object" || checkpoint === null) {
      throw typeError(`checkpoint must be an object, and is ${show(checkpoint)}`);
    }
    // As it is now: the caller may change it while it waits its turn.
    const given = copyOf(checkpoint, "checkpoint");
    const place = readPlace(given as unknown as Record<string, unknown>);
    if (typeof given.state !== "object" || given.state === null) {
      throw typeError(`checkpoint.state must be an object, and is ${show(given.state)}`);
    }
    await this.#inTurn(place.runId, async () => {
      if (rewind) {
        const from = ({ place: { stepIndex, id } }: Entry<TState>) => stepIndex >= place.stepIndex && id !== place.id;
        // From the end, and before the new one: what is there is the beginning of a run at every moment.
        await this.#removeAll((await this.#entries(place.runId)).filter(from).toReversed());
      }
      if (isStray(place)) await this.#driver.set(STRAYS, strayKey(place), place.id);
      await this.#driver.set(NAMESPACE, place.id, given);
      await this.#prune(place);
    });
  }

  async #prune(saved: Place): Promise<void> {
    if (this.keepLastN === 0) return;
    const entries = await this.#entries(saved.runId);
    const excess = entries.length - this.keepLastN;
    if (excess <= 0) return;
    const others = entries.filter((entry) => entry.place.id !== saved.id);
    await this.#removeAll(others.toSorted((a, b) => oldestFirst(a.place, b.place)).slice(0, excess));
  }

  /** The run's checkpoints, in its order. */
  async #entries(runId: string): Promise<Array<Entry<TState>>> {
    const run = idOrNull(runId, "runId");
    if (run === null) return [];
    await this.#open();
    const [listed, strays] = await Promise.all([
      this.#driver.list<WorkflowCheckpoint<TState>>(NAMESPACE, `${run}:`),
      this.#driver.list<string>(STRAYS, strayPrefix(run)),
    ]);
    const others = await Promise.all(
      strays.map(({ value }) => this.#driver.get<WorkflowCheckpoint<TState>>(NAMESPACE, value)),
    );
    return [...listed.map(({ value }) => value), ...others]
      .filter((checkpoint) => checkpoint !== null && checkpoint !== undefined && checkpoint.runId === run)
      .map((checkpoint) => ({ checkpoint: checkpoint!, place: placeOf(checkpoint!) }))
      .toSorted((a, b) => inOrder(a.place, b.place));
  }

  async #removeAll(entries: Array<Entry<TState>>): Promise<void> {
    for (const { place } of entries) await this.#remove(place);
  }

  async #remove(place: Pick<Place, "id" | "runId">): Promise<void> {
    await this.#driver.delete(NAMESPACE, place.id);
    if (isStray(place)) await this.#driver.delete(STRAYS, strayKey(place));
  }

  #open(): Promise<void> {
    this.#ready ??= this.#initialize();
    return this.#ready;
  }

  async #initialize(): Promise<void> {
    try {
      await this.#driver.initialize?.();
    } catch (error) {
      // The next call tries again.
      this.#ready = undefined;
      throw error;
    }
  }

  /** Changes of a run wait for each other: a save's clearing up must not meet another save half-way. */
  async #inTurn(runId: string, change: () => Promise<void>): Promise<void> {
    const before = this.#changes.get(runId);
    const mine = (async () => {
      // Whoever made that change has heard of its failure.
      await before?.catch(() => {});
      await this.#open();
      await change();
    })();
    this.#changes.set(runId, mine);
    try {
      await mine;
    } finally {
      if (this.#changes.get(runId) === mine) this.#changes.delete(runId);
    }
  }
}

interface Entry<TState> {
  place: Place;
  checkpoint: WorkflowCheckpoint<TState>;
}

/** Where a stored checkpoint belongs, whatever its driver has made of a time. */
function placeOf(checkpoint: WorkflowCheckpoint<unknown>): Place {
  const { id, runId, stepIndex, stepName } = checkpoint;
  const { createdAt, timestamp } = checkpoint as { createdAt?: number; timestamp?: unknown };
  return { id, runId, stepIndex, stepName, age: new Date((createdAt ?? timestamp ?? 0) as number).getTime() };
}

function isStray({ id, runId }: Pick<Place, "id" | "runId">): boolean {
  return !id.startsWith(`${runId}:`);
}

/** No other run's begins so. */
function strayPrefix(runId: string): string {
  return `${runId.length}:${runId}:`;
}

function strayKey({ id, runId }: Pick<Place, "id" | "runId">): string {
  return strayPrefix(runId) + id;
}
