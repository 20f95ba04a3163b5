/** The lease of a run of a Workflow or a Graph. It is taken when the run begins, and released when it ends. */

import { ForkpointError, readingArgument } from "../../bridge/errors.js";
import type { StoreHandle } from "../../store/handle.js";
import type { HeldLease } from "../../store/lease.js";
import type { RunKey } from "../../bridge/native.js";

export class RunLease {
  readonly #handle: StoreHandle;
  readonly #ttlMs: number;
  readonly #lost = new AbortController();
  #lease: HeldLease | undefined;

  constructor(handle: StoreHandle, ttlMs: number) {
    this.#handle = handle;
    this.#ttlMs = ttlMs;
  }

  /** The lease, while the run holds it. */
  get held(): HeldLease | undefined {
    return this.#lease;
  }

  /** Returns a signal that aborts when the given one aborts, or when the lease is lost. */
  with(signal: AbortSignal | undefined): AbortSignal {
    return signal === undefined ? this.#lost.signal : AbortSignal.any([signal, this.#lost.signal]);
  }

  /** Takes the lease. Rejects with `CONFLICT` if another process holds it. */
  async take(of: RunKey): Promise<void> {
    const lease = await this.#handle.leaseOf(of, { ttlMs: this.#ttlMs });
    lease.signal.addEventListener("abort", () => this.#lost.abort(lease.signal.reason), { once: true });
    this.#lease = lease;
  }

  /** Ends the lease. A lease that cannot be released expires. */
  async release(): Promise<void> {
    await this.#lease?.release().catch(() => {});
  }
}

/** Returns true for an object with this method, which is then a store of somebody else. */
export function isForeign(store: unknown, method: string): boolean {
  return readingArgument("store", () => typeof (store as Record<string, unknown> | null)?.[method] === "function");
}

/** The error for what takes leases over a store that is not of this package. */
export function noLeases(what: string, store: string): ForkpointError {
  const message = `${what} needs a ${store} of forkpoint, because other stores have no leases: use one`;
  return new ForkpointError("UNSUPPORTED", message);
}
