/** Declares the class `ForkpointMastraStore`, which store.ts makes from Mastra's package. */

import type { MastraCompositeStore, MemoryStorage, WorkflowsStorage } from "@mastra/core/storage";
import type { VerifyReport } from "../../bridge/wire.js";
import type { CheckOptions } from "../../store/check.js";
import type { Lease, LeaseOptions } from "../../store/lease.js";
import type { StoreOptions } from "../../store/options.js";
import type { RunStats } from "../../store/results.js";
import type { StatsOptions } from "../../store/retention.js";
import type { RunRef } from "../../store/run-ref.js";
import type { Store } from "../../store/store.js";

export interface MastraStoreOptions extends StoreOptions {
  /** The name of the storage in Mastra. Default: `"forkpoint"`. */
  id?: string;
  /** Mastra's option: how long `prune()` keeps data, e.g. `{ workflows: { workflowSnapshot: { maxAge: "30d" } } }`. */
  retention?: object;
}

/** A Mastra store whose runs can be imported: its composite store, or its `workflows` domain. */
export type MastraSource = Pick<MastraCompositeStore, "stores"> | Pick<WorkflowsStorage, "listWorkflowRuns">;

/** A Mastra store whose threads can be imported: its composite store, or its `memory` domain. */
export type MastraMemorySource =
  Pick<MastraCompositeStore, "stores"> | Pick<MemoryStorage, "listThreads" | "listMessages" | "getResourceById">;

export interface ImportRunsOptions {
  /** The statuses of the runs to import, in Mastra's words. Default: those of unfinished runs. */
  statuses?: readonly string[];
}

/**
 * A storage of Mastra for the snapshots of workflows and the memory of agents. Each snapshot is a checkpoint, so a run
 * has a history. Other domains, such as traces, stay with your default store.
 *
 * All methods give the error codes `CLOSED`, `BUSY`, `FULL`, `UNAVAILABLE` and `CORRUPT` where they apply.
 *
 * @example
 * ```ts
 * const store = new ForkpointMastraStore("agent.db");
 * const mastra = new Mastra({ storage: store, workflows: { order } });
 * ```
 */
export declare class ForkpointMastraStore extends MastraCompositeStore {
  /** The domains of this store. Pass them as `domains` of a `MastraCompositeStore`. */
  stores: { workflows: WorkflowsStorage; memory: MemoryStorage };
  /**
   * @param target a file path, `"sqlite:<path>"`, a `file:` URL, `"postgres://<user>@<host>/<database>"`,
   *   `"jsonl:<folder>"`, `"memory:"`, or a store from `openStore`.
   * @param options `id` and `retention`, and the options of `openStore`. An open store takes only `id` and `retention`.
   * @throws TypeError or RangeError for a wrong target or option.
   */
  constructor(target: string | URL | Store, options?: MastraStoreOptions);
  /**
   * Copies the missing runs of another storage. Resolves to the numbers of copied and of already existing runs.
   * @throws TypeError for a source that is no storage of Mastra.
   * @example const { copied } = await store.importRuns(libsql);
   */
  importRuns(source: MastraSource, options?: ImportRunsOptions): Promise<{ copied: number; skipped: number }>;
  /**
   * Copies the missing threads of another storage, with their messages and resources. Resolves to the numbers of copied
   * items, and of already existing threads.
   * @throws TypeError for a source that is no storage of Mastra.
   * @example const { threads, messages } = await store.importMemory(libsql);
   */
  importMemory(
    source: MastraMemorySource,
  ): Promise<{ threads: number; messages: number; resources: number; skipped: number }>;
  /**
   * Returns the numbers of runs and checkpoints, and their storage in bytes.
   * @example const { runs, storedBytes } = await store.stats();
   */
  stats(options?: StatsOptions): Promise<RunStats>;
  /**
   * Takes the lease of a run or a thread, so that no other process works on it.
   * @throws ForkpointError `CONFLICT` if another holder has the lease.
   * @example await using lease = await store.lease({ space: "mastra", run: "run-1", ns: "order" });
   */
  lease(run: RunRef, options?: LeaseOptions): Promise<Lease>;
  /**
   * Returns the same store for the holder of a lease. If the lease was lost, each write rejects with `CONFLICT`.
   * @throws TypeError if the lease is of another store.
   * @example const mine = store.withLease(lease);
   */
  withLease(lease: Lease): ForkpointMastraStore;
  /**
   * Verifies the entire database and changes nothing.
   * @example const { ok } = await store.check();
   */
  check(options?: CheckOptions): Promise<VerifyReport>;
  /**
   * Returns the space of removed data to the file system.
   * @example await store.vacuum();
   */
  vacuum(): Promise<void>;
  /**
   * Waits for earlier calls to end, then closes the store. An open store that was given to the constructor stays open.
   * @example await store.close();
   */
  close(): Promise<void>;
  /**
   * Calls `close()` at the end of an `await using` block.
   * @example await using mine = store; // closed at the end of the block
   */
  [Symbol.asyncDispose](): Promise<void>;
}
