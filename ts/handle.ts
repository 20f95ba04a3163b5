import type {
  CheckOptions,
  PruneOptions,
  PruneProgress,
  RunPruneResult,
  StatsOptions,
  StoreOptions,
  StoreStats,
  VerifyReport,
} from "../index.js";
import { Activity } from "./activity.js";
import type { Held } from "./backlog.js";
import { check } from "./check.js";
import type { Engine } from "./engine.js";
import { ForkpointError, isOwnError, readingArgument, typeError } from "./errors.js";
import type { Retention } from "./options.js";
import { prune, stats, vacuum } from "./retention.js";
import type { Format } from "./serializer.js";
import { Store, engineOf, openInBackground } from "./store.js";

/**
 * The base of a contract's store: a handle to a `Store`. The handle closes a store that it opened itself. A shared
 * store stays open.
 */
export class StoreHandle {
  readonly #store: Store;
  readonly #owned: boolean;
  readonly #contract: string;
  readonly #activity = new Activity();
  #closing: Promise<void> | undefined;

  /** `prune` and `stats` cover only the checkpoints of `contract`. */
  constructor(target: unknown, options: StoreOptions | undefined, contract: { readonly name: string }) {
    this.#contract = contract.name;
    if (readingArgument("target", () => target instanceof Store)) {
      if (options !== undefined)
        throw typeError("the target is an open store, which has its own options: pass the options to openStore()");
      this.#store = target as Store;
      this.#owned = false;
    } else {
      this.#store = openInBackground(target as string | URL, options);
      this.#owned = true;
    }
  }

  /**
   * The identity of the stored data. It is equal for all handles on the same checkpoints. For a file or a folder it is the path,
   * and for a store in memory it is the store object.
   */
  get identity(): unknown {
    return engineOf(this.#store).native.databasePath ?? this.#store;
  }

  /** True if this handle opened its store. False if the store is shared. */
  get owned(): boolean {
    return this.#owned;
  }

  /** The retention limits that the store was opened with. */
  get retention(): Retention {
    return engineOf(this.#store).retention;
  }

  /** The format that turns values into bytes. */
  get format(): Format {
    return engineOf(this.#store).format;
  }

  /** True if `close` was called. Operations that work in several steps then stop. */
  get closing(): boolean {
    return this.#closing !== undefined;
  }

  /** Starts an operation immediately. An error's stack shows the caller of the public method. */
  async run<T>(work: (engine: Engine) => Promise<T>): Promise<T> {
    if (this.closing) {
      throw new ForkpointError("CLOSED", "the store is closed: open a new one to go on");
    }
    const engine = engineOf(this.#store);
    engine.activity.begin();
    this.#activity.begin();
    try {
      return await work(engine);
    } catch (error) {
      if (isOwnError(error)) Error.captureStackTrace(error, this.run);
      throw error;
    } finally {
      this.#activity.end();
      engine.activity.end();
    }
  }

  /**
   * Starts an operation that stores what it serialises with the engine's format. `held` counts other bytes. Rejects with
   * `BUSY` if too many bytes wait to be written.
   */
  save<T>(work: (engine: Engine, held: Held) => Promise<T>): Promise<T> {
    return this.run(async (engine) => {
      const held = engine.backlog.admit();
      try {
        return await work({ ...engine, format: held.counting(engine.format) }, held);
      } finally {
        held.release();
      }
    });
  }

  /** In the result, a lineage is called a run, because the contract uses that name. */
  prune(options: PruneOptions<RunPruneResult> | undefined): Promise<RunPruneResult> {
    return this.run((engine) => prune(engine, this.#contract, options, () => this.closing, prunedRuns));
  }

  /** In the result, a lineage is called a run, because the contract uses that name. */
  stats(options: StatsOptions | undefined) {
    return this.run(async (engine) => inRuns(await stats(engine, this.#contract, options)));
  }

  /** Checks the whole database, not only this contract's data. */
  check(options: CheckOptions | undefined): Promise<VerifyReport> {
    return this.run((engine) => check(engine, options, () => this.closing));
  }

  vacuum(): Promise<void> {
    return this.run(vacuum);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#activity.idle();
    if (this.#owned) await this.#store.close();
  }
}

function prunedRuns({ lineages: runs, ...rest }: PruneProgress): RunPruneResult {
  return { ...rest, runs };
}

function inRuns({ largest, lineages: runs, ...rest }: StoreStats) {
  const named = largest.map(({ lineage: runId, ...line }) => ({ runId, ...line }));
  return { ...rest, runs, largest: named };
}
