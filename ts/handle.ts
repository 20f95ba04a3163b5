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
import { check } from "./check.js";
import type { Engine } from "./engine.js";
import { ForkpointError, typeError } from "./errors.js";
import { prune, stats, vacuum } from "./retention.js";
import type { Format } from "./serializer.js";
import { Store, engineOf, openInBackground } from "./store.js";

/** What a contract's object stands on: a store of its own, or one that it shares and that stays open. */
export class StoreHandle {
  readonly #store: Store;
  readonly #owned: boolean;
  readonly #contract: string;
  readonly #activity = new Activity();
  #closing: Promise<void> | undefined;

  /** `prune` and `stats` are about the checkpoints of that contract. */
  constructor(target: unknown, options: StoreOptions | undefined, contract: { readonly name: string }) {
    this.#contract = contract.name;
    if (target instanceof Store) {
      if (options !== undefined) throw typeError("options belong to openStore() when the target is an open store");
      this.#store = target;
      this.#owned = false;
    } else {
      this.#store = openInBackground(target as string | URL, options);
      this.#owned = true;
    }
  }

  /** What the same checkpoints are behind: the path of a file, or a store in memory. */
  get identity(): unknown {
    return engineOf(this.#store).native.databasePath ?? this.#store;
  }

  /** How values become bytes. */
  get format(): Format {
    return engineOf(this.#store).format;
  }

  /** Whether `close` was called: what works in steps then stops. */
  get closing(): boolean {
    return this.#closing !== undefined;
  }

  /** Runs an operation; its synchronous part runs now. An error's stack leads to whoever called the method. */
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
      if (error instanceof ForkpointError) Error.captureStackTrace(error, this.run);
      throw error;
    } finally {
      this.#activity.end();
      engine.activity.end();
    }
  }

  /** In the contract's words: its lineages are runs. */
  prune(options: PruneOptions<RunPruneResult> | undefined): Promise<RunPruneResult> {
    return this.run((engine) => prune(engine, this.#contract, options, () => this.closing, prunedRuns));
  }

  /** In the contract's words: its lineages are runs. */
  stats(options: StatsOptions | undefined) {
    return this.run(async (engine) => inRuns(await stats(engine, this.#contract, options)));
  }

  /** Of everything in the database, whatever the contract: one row may depend on another's page. */
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
