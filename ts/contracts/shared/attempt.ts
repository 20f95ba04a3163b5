/**
 * The runs that this process is recovering. If the process crashes, any of these runs may be the cause: each becomes a
 * suspect. A suspect is later recovered alone, so that the next crash identifies the run.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import { EventEmitter, once } from "node:events";
import { HeldLease } from "../../store/lease.js";

/** The recoveries that are in progress in this process, of all stores. */
const inProgress = new Set<Attempt>();
const ends = new EventEmitter().setMaxListeners(0);

/** The recovery that the current code belongs to. */
const around = new AsyncLocalStorage<Attempt>();

/** One recovery of a run. */
export class Attempt {
  /** True if this recovery may take a suspect. */
  readonly takesSuspects: boolean;
  /** True if this process has recovered no other run since this recovery began. */
  #alone: boolean;
  #lease: Promise<unknown> | undefined;

  private constructor(takesSuspects: boolean, alone: boolean) {
    this.takesSuspects = takesSuspects;
    this.#alone = alone;
  }

  /** Waits until no suspect is being recovered. Then begins the recovery of a run that is not a suspect. */
  static async together(signal: AbortSignal | undefined): Promise<Attempt> {
    const inner = Attempt.#inner();
    if (inner !== undefined) return inner;
    while ([...inProgress].some((other) => other.takesSuspects)) await once(ends, "end", { signal });
    const attempt = new Attempt(false, inProgress.size === 0);
    inProgress.add(attempt);
    return attempt;
  }

  /** Waits until no run is being recovered. Then begins the recovery of a suspect. */
  static async alone(signal: AbortSignal | undefined): Promise<Attempt> {
    const inner = Attempt.#inner();
    if (inner !== undefined) return inner;
    while (inProgress.size > 0) await once(ends, "end", { signal });
    const attempt = new Attempt(true, true);
    inProgress.add(attempt);
    return attempt;
  }

  /** An inner recovery, such as that of a fork, waits for none. A crash counts for the outer recovery. */
  static #inner(): Attempt | undefined {
    const outer = around.getStore();
    return outer !== undefined && inProgress.has(outer) ? new Attempt(true, false) : undefined;
  }

  /** Takes the lease of the run. `beside` is true if another run may cause a crash. */
  take<T>(take: (beside: boolean) => Promise<T>): Promise<T> {
    const taking = take(!this.#alone);
    this.#lease = taking;
    return taking;
  }

  /** Works on the run. Before that, the leases of the other runs record that they are no longer recovered alone. */
  async work<R>(work: () => Promise<R>): Promise<R> {
    if (!inProgress.has(this)) return work();
    for (const other of inProgress) if (other !== this) await other.#joined();
    return around.run(this, work);
  }

  end(): void {
    inProgress.delete(this);
    ends.emit("end");
  }

  async #joined(): Promise<void> {
    if (!this.#alone) return;
    this.#alone = false;
    const lease = await this.#lease?.catch(() => {});
    if (lease instanceof HeldLease) await lease.shareBlame();
  }
}
