/** The methods that the stores of all contracts have. */

import type { VerifyReport } from "../bridge/wire.js";
import type { CheckOptions } from "./check.js";
import type { StoreHandle } from "./handle.js";
import { handleOf, setHandle } from "./handle-of.js";
import type { Lease, LeaseOptions } from "./lease.js";
import type { RunPruneResult, RunStats } from "./results.js";
import type { PruneOptions, StatsOptions } from "./retention.js";
import type { RunRef } from "./run-ref.js";

/**
 * The methods that the stores of all frameworks have. Several of them can share one open store.
 * @example await store.close();
 */
export abstract class ContractStore implements AsyncDisposable {
  /** @internal */
  constructor(handle: StoreHandle) {
    setHandle(this, handle);
  }

  /**
   * Takes the lease of a run, so that no other process works on it. The lease is renewed until you release it or close
   * this object. If its holder was a process on this machine that has ended, the lease is taken immediately.
   * @throws TypeError or RangeError for a wrong run or option. ForkpointError `CONFLICT` if another holder has the
   *   lease: `error.lease` names the holder and the expiry time.
   * @example await using lease = await store.lease({ space: "agentos", run: "run-1" });
   */
  lease(run: RunRef, options?: LeaseOptions): Promise<Lease> {
    return handleOf(this)!.lease(run, options);
  }

  /**
   * Returns the same store for the holder of a lease: if the lease was lost, each of its writes rejects with
   * `CONFLICT` and stores nothing.
   * @throws TypeError if the lease is of another store.
   * @example const mine = store.withLease(lease);
   */
  abstract withLease(lease: Lease): ContractStore;

  /**
   * Verifies the entire database, including the data of other frameworks, and changes nothing. The same as
   * `Store.check()`.
   * @example const { ok, findings } = await store.check({ signal: AbortSignal.timeout(60_000) });
   */
  check(options?: CheckOptions): Promise<VerifyReport> {
    return handleOf(this)!.check(options);
  }

  /**
   * Returns the space of deleted data, of all frameworks, to the file system. Saves wait until `vacuum` ends. The same
   * as `Store.vacuum()`.
   * @example await store.vacuum();
   */
  vacuum(): Promise<void> {
    return handleOf(this)!.vacuum();
  }

  /**
   * Waits for earlier calls to end, then closes this object. A second call is allowed. An open store that was given to
   * the constructor stays open.
   * @example await store.close();
   */
  close(): Promise<void> {
    return handleOf(this)!.close();
  }

  /**
   * Calls `close()` at the end of an `await using` block.
   * @example await using mine = store; // closed at the end of the block
   */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/**
 * The methods of the stores whose checkpoints belong to runs.
 * @example const { removed } = await store.prune({ keepLastN: 10 });
 */
export abstract class RunStore extends ContractStore {
  /**
   * Removes checkpoints of this framework, at most 500 in each transaction. Saves can run between the transactions.
   * Without options, `prune` applies the limits that the store was opened with.
   * @throws TypeError or RangeError for a wrong option. ForkpointError `CLOSED` if the store is closed before `prune`
   *   ends.
   * @example const { removed, runs } = await store.prune({ keepLastN: 10, dryRun: true });
   */
  prune(options?: PruneOptions<RunPruneResult>): Promise<RunPruneResult> {
    return handleOf(this)!.prune(options);
  }

  /**
   * Returns how many checkpoints of this framework are stored and how much storage they use, in bytes.
   * @example const { runs, storedBytes, largest } = await store.stats({ largest: 5 });
   */
  stats(options?: StatsOptions): Promise<RunStats> {
    return handleOf(this)!.stats(options);
  }
}

/**
 * Gives methods of stores to a class that extends one of a framework. `setHandle` tells them the object's handle.
 * `T` is the public type of the class.
 */
export function withStoreMethods<T>(to: { prototype: object }, ...names: ReadonlyArray<keyof RunStore>): T {
  for (const name of names) {
    Object.defineProperty(to.prototype, name, {
      value: RunStore.prototype[name],
      writable: true,
      configurable: true,
    });
  }
  return to as T;
}
