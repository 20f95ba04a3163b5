/**
 * Ensures that only one call of this process works on a run of a Workflow or a Graph. With a lease, only one process
 * does.
 */

import { ForkpointError, quote } from "../../bridge/errors.js";
import type { StoreHandle } from "../../store/handle.js";
import type { HeldLease } from "../../store/lease.js";
import type { RunKey } from "../../bridge/native.js";

const later = (): typeof import("../../store/later.js") => require("../../store/later.js");

/** The lease of a run. It is taken when the run begins, and released when the run ends. */
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

  /** Rejects with `CONFLICT` if another process holds the lease. A scope that owns the run has its lease already. */
  async take(of: RunKey): Promise<void> {
    if (this.#handle.scopeOf(of) !== undefined) return;
    const lease = await this.#handle.leaseOf(of, { ttlMs: this.#ttlMs });
    lease.signal.addEventListener("abort", () => this.#lost.abort(lease.signal.reason), { once: true });
    this.#lease = lease;
  }

  /** Releases the lease. If somebody has stopped the run, records it before. If a call fails, the lease expires. */
  async release(): Promise<void> {
    const lease = this.#lease;
    if (lease?.stop?.what === "stop" && !lease.lost)
      await later()
        .recordStop(this.#handle, lease, lease.stop)
        .catch(() => {});
    await lease?.release().catch(() => {});
  }
}

/** The runs that are in progress in this process, by the identity of their store. */
const running = new Map<unknown, Set<string>>();

/**
 * Works on a run. Rejects with `CONFLICT` if this process already works on the run, or if another process holds its
 * lease. `noun` is the word for a run in the message. `handle`: the store of this package, if the run has one.
 */
export async function alone<T>(
  identity: unknown,
  of: RunKey,
  noun: "run" | "thread",
  { lease, handle }: { lease?: RunLease | undefined; handle?: StoreHandle | null | undefined },
  work: () => Promise<T>,
): Promise<T> {
  const runs = running.get(identity) ?? new Set();
  const key = JSON.stringify(of);
  if (runs.has(key)) {
    const message = `${noun} ${quote(of.run)} is already running in this process: wait until it ends, or use another ${noun}Id`;
    throw new ForkpointError("CONFLICT", message);
  }
  running.set(identity, runs.add(key));
  try {
    if (lease !== undefined) await lease.take(of);
    else if (handle) await handle.refuseLeased(of);
    return await work();
  } finally {
    await lease?.release();
    runs.delete(key);
    if (runs.size === 0) running.delete(identity);
  }
}

/** Makes the error for effects of a run whose store is not of this package. */
export function noEffects(store: string): ForkpointError {
  const message = `context.once needs a ${store} of forkpoint, because other stores have no effects: pass one`;
  return new ForkpointError("UNSUPPORTED", message);
}

/** Makes the error for a lease on a store that is not of this package. */
export function noLeases(what: string, store: string): ForkpointError {
  const message = `${what} needs a ${store} of forkpoint, because other stores have no leases: pass one`;
  return new ForkpointError("UNSUPPORTED", message);
}
