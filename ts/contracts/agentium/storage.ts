/** A checkpoint store on top of any storage driver. */

import { readingArgument, show, typeError } from "../../bridge/errors.js";
import { idOrNull } from "../../store/ids.js";
import { atMost, readRecord } from "../../store/options.js";
import { copyOf } from "../../bridge/serializer.js";
import { type StepRef, inOrder, oldestFirst, readStepRef, storedRef } from "./checkpoint.js";
import { Turns } from "../shared/turns.js";
import type { WorkflowCheckpointStore } from "./store.js";
import type { StorageDriver } from "./drivers.js";
import type { WorkflowCheckpoint } from "./contract.js";

/** The namespace of the framework's own store. With it, this store can read the framework's checkpoints. */
const NAMESPACE = "workflow:checkpoints";
/**
 * The namespace that lists the checkpoints whose id does not begin with their run's id. Other checkpoints are found by
 * the prefix of their id.
 */
const STRAYS = "workflow:checkpoints:strays";

const methods = ["get", "set", "delete", "list"] as const;

/**
 * Workflow checkpoints over any {@link StorageDriver}, including the framework's drivers and your own. A save is one
 * `set`. With `keepLastN`, the save then lists the run's checkpoints and removes the oldest. {@link
 * WorkflowCheckpointStore} does all of this in one transaction.
 *
 * Every method rejects with the driver's error if the driver fails.
 * @example const store = new StorageBackedCheckpointStore<State>(driver, { keepLastN: 50 });
 */
export class StorageBackedCheckpointStore<TState> implements WorkflowCheckpointStore<TState>, AsyncDisposable {
  /** The maximum number of checkpoints that are kept for each run. 0 means no limit. */
  readonly keepLastN: number;
  readonly #driver: StorageDriver;
  #ready: Promise<void> | undefined;
  /** Runs the changes of a run one by one: a save must not prune during another save. */
  readonly #turns = new Turns();

  /**
   * @param options `keepLastN`: the maximum number of checkpoints to keep for each run. The checkpoints with the
   *   greatest `createdAt` are kept. Default: no limit. Null, 0 and Infinity also mean no limit.
   * @throws TypeError or RangeError for a wrong driver or option.
   */
  constructor(driver: StorageDriver, options?: { keepLastN?: number | null }) {
    if (typeof driver !== "object" || driver === null)
      throw typeError(`driver must be a StorageDriver, but is ${show(driver)}`);
    for (const method of methods) {
      if (typeof readingArgument("driver", () => driver[method]) !== "function")
        throw typeError(`driver must be a StorageDriver: it has no method ${method}()`);
    }
    this.#driver = driver;
    this.keepLastN = readRecord(options, "options", { keepLastN: atMost("checkpoints") }).keepLastN ?? 0;
  }

  /**
   * Stores the checkpoint. A stored checkpoint with the same id is replaced. The checkpoint is copied before `save`
   * returns its promise.
   * @throws TypeError if a field is missing or has a wrong type. ForkpointError `INVALID_ARGUMENT` if a value in the
   *   checkpoint cannot be stored; the message names the value's path. In both cases nothing was written.
   * @example await store.save(checkpoint);
   */
  save(checkpoint: WorkflowCheckpoint<TState>): Promise<void> {
    return this.#store(checkpoint, false);
  }

  /**
   * Removes the run's other checkpoints whose `stepIndex` is the same or greater, the last first, and then saves the
   * checkpoint. If the process crashes before the save, the run's earlier checkpoints remain.
   * @throws the errors of `save`.
   * @example await store.rewind(checkpoint); // now the last checkpoint of its run
   */
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

  /**
   * The same as `list`. The framework calls this method `listForRun`.
   * @example const checkpoints = await store.listForRun("run-1");
   */
  listForRun(runId: string): Promise<Array<WorkflowCheckpoint<TState>>> {
    return this.list(runId);
  }

  async latest(runId: string): Promise<WorkflowCheckpoint<TState> | null> {
    return (await this.list(runId)).at(-1) ?? null;
  }

  /**
   * Removes the run's checkpoints, the last first. An unknown run causes no error.
   * @example await store.clear("run-1");
   */
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

  /**
   * Waits until the saves and removals in progress have ended. The driver stays open.
   * @example await store.close();
   */
  async close(): Promise<void> {
    await this.#turns.settled();
  }

  /**
   * Calls `close()` at the end of an `await using` block.
   * @example await using store = new StorageBackedCheckpointStore<State>(driver);
   */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #store(checkpoint: WorkflowCheckpoint<TState>, rewind: boolean): Promise<void> {
    if (typeof checkpoint !== "object" || checkpoint === null) {
      throw typeError(`checkpoint must be an object, but is ${show(checkpoint)}`);
    }
    // Copy the checkpoint now, because the caller may change it while this save waits for its turn.
    const given = copyOf(checkpoint, "checkpoint");
    const step = readStepRef(given as unknown as Record<string, unknown>);
    if (given.state === undefined) throw typeError("checkpoint.state must be a value, but is undefined");
    await this.#inTurn(step.runId, async () => {
      if (rewind) {
        const from = ({ step: { stepIndex, id } }: Entry<TState>) => stepIndex >= step.stepIndex && id !== step.id;
        // Remove the later checkpoints before the save, the last one first. If the process crashes in between, the
        // run's earlier checkpoints remain.
        await this.#removeAll((await this.#entries(step.runId)).filter(from).toReversed());
      }
      if (isStray(step)) await this.#driver.set(STRAYS, strayKey(step), step.id);
      await this.#driver.set(NAMESPACE, step.id, given);
      await this.#prune(step);
    });
  }

  async #prune(saved: StepRef): Promise<void> {
    if (this.keepLastN === 0) return;
    const entries = await this.#entries(saved.runId);
    const excess = entries.length - this.keepLastN;
    if (excess <= 0) return;
    const others = entries.filter((entry) => entry.step.id !== saved.id);
    await this.#removeAll(others.toSorted((a, b) => oldestFirst(a.step, b.step)).slice(0, excess));
  }

  /** Returns the run's checkpoints in the order of the run. */
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
      .map((checkpoint) => ({ checkpoint: checkpoint!, step: storedRef(checkpoint!) }))
      .toSorted((a, b) => inOrder(a.step, b.step));
  }

  async #removeAll(entries: Array<Entry<TState>>): Promise<void> {
    for (const { step } of entries) await this.#remove(step);
  }

  async #remove(step: Pick<StepRef, "id" | "runId">): Promise<void> {
    await this.#driver.delete(NAMESPACE, step.id);
    if (isStray(step)) await this.#driver.delete(STRAYS, strayKey(step));
  }

  #open(): Promise<void> {
    this.#ready ??= this.#initialize();
    return this.#ready;
  }

  async #initialize(): Promise<void> {
    try {
      await this.#driver.initialize?.();
    } catch (error) {
      // The next call tries to open the driver again.
      this.#ready = undefined;
      throw error;
    }
  }

  #inTurn(runId: string, change: () => Promise<void>): Promise<void> {
    return this.#turns.alone(runId, async () => {
      await this.#open();
      await change();
    });
  }
}

interface Entry<TState> {
  step: StepRef;
  checkpoint: WorkflowCheckpoint<TState>;
}

function isStray({ id, runId }: Pick<StepRef, "id" | "runId">): boolean {
  return !id.startsWith(`${runId}:`);
}

/**
 * Returns the prefix of the run's keys in `STRAYS`. It contains the length of the run's id, so it is unique to the run.
 */
function strayPrefix(runId: string): string {
  return `${runId.length}:${runId}:`;
}

function strayKey({ id, runId }: Pick<StepRef, "id" | "runId">): string {
  return strayPrefix(runId) + id;
}
