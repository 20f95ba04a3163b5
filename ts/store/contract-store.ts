/** The methods that the stores of all contracts have. */

import type { VerifyReport } from "../bridge/wire.js";
import type { CheckOptions } from "./check.js";
import type { StoreHandle } from "./handle.js";
import { handleOf, setHandle } from "./handle-of.js";
import type { Lease, LeaseOptions } from "./lease.js";
import type { RunPruneResult, RunStats } from "./results.js";
import type { PruneOptions, StatsOptions } from "./retention.js";
import type { RunName, RunRef } from "./run-ref.js";
import type { ExclusiveOptions, Work } from "./scope.js";
import type { StopOptions } from "./stop.js";
import type { StopResult } from "./results.js";

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
   * Works on a run alone. Takes the lease of the run, runs the function, and releases the lease when the function has
   * ended. If the function returns a stream, the lease is released at the end of the stream. The function's own writes
   * carry the lease. All other writes to the run reject with `CONFLICT`.
   * @param work gets a signal. It aborts with `STOPPED` when somebody stops or interrupts the run, and with `CONFLICT`
   *   when the lease is lost. Pass it to everything that the function awaits.
   * @throws TypeError or RangeError for a wrong run or option. ForkpointError `CONFLICT` if another call works on the
   *   run: see the option `whenBusy`. `STOPPED` if the run was stopped. Otherwise the error of `work`.
   * @example const page = await store.exclusive("run-1", (signal) => fetch("https://example.com", { signal }));
   */
  exclusive<T>(run: RunName, work: Work<T>, options?: ExclusiveOptions): Promise<T> {
    return handleOf(this)!.exclusive(run, work, options);
  }

  /**
   * Stops a run that any process works on, and waits until it has ended. The run gets the status `"stopped"`.
   * @example const { outcome } = await store.stop("run-1", { by: "Ana", reason: "wrong customer" });
   */
  stop(run: RunName, options?: StopOptions): Promise<StopResult> {
    return handleOf(this)!.stop(run, options);
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
