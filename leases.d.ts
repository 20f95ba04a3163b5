/** Leases of runs: one process at a time works on a run. `index.d.ts` exports these types. See docs/leases.md. */

/**
 * A run of a contract.
 * @example const run: RunRef = { space: "langgraph", run: "thread-1" };
 */
export interface RunRef {
  /** The contract: `"agentos"`, `"agentium"`, `"langgraph"`, `"helix"` or `"tinyagents"`. */
  space: string;
  /** The id of the run, thread or session. */
  run: string;
  /**
   * The namespace in the thread: a text for LangGraph, a list of names for TinyAgents. Default: the thread itself. Other
   * contracts have no namespaces.
   */
  ns?: string | readonly string[] | undefined;
}

/** Who holds a lease. */
export interface LeaseHolder {
  /** Names the process and its machine, for people. */
  holder: string;
  /** The time at which the lease expires unless it is renewed, in ms since the epoch on the store's clock. */
  until: number;
}

/** Options of `lease()`. */
export interface LeaseOptions {
  /**
   * How long the lease stays valid without a renewal, in ms, from 100. It is renewed every third of this time. After a
   * crash, other machines wait this long. Default: 30,000.
   */
  ttlMs?: number;
  /** If it aborts before the lease was taken, `lease()` rejects with its reason, and the lease is not held. */
  signal?: AbortSignal;
}

/**
 * The right to work on a run. Nobody else has the run's lease until it is released or lost. It is renewed in the
 * background.
 * @example
 * ```ts
 * await using lease = await store.lease({ space: "agentos", run: "run-1" });
 * await store.withLease(lease).save(checkpoint); // CONFLICT if the lease was lost meanwhile
 * ```
 */
export interface Lease extends AsyncDisposable, LeaseHolder {
  /**
   * A fencing token: a whole number. Each lease of a run has a greater token than all leases of the run before it. Pass it
   * to other systems that refuse a token that is smaller than one that they have seen.
   */
  readonly token: number;
  readonly holder: string;
  readonly until: number;
  /**
   * Aborts with a ForkpointError `CONFLICT` when the lease is lost: another process has taken it, or it could not be
   * renewed for two thirds of `ttlMs`. Then stop: after the last third, another process may begin.
   */
  readonly signal: AbortSignal;
  /**
   * Ends the lease, so that others can take it at once. A second call is allowed. If the lease was lost, its new holder keeps it.
   * @example await lease.release();
   */
  release(): Promise<void>;
  /**
   * Calls `release()` at the end of an `await using` block.
   * @example await using lease = await store.lease({ space: "agentium", run: "run-1" });
   */
  [Symbol.asyncDispose](): Promise<void>;
}
