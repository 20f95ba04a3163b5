/**
 * Which runs this process recovers at the same time. If it crashes, any of them may be the reason. Each of them is then a
 * suspect, and a suspect is recovered while no other run is. So the next crash shows which run it was.
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
  /** True if suspects may be recovered, too. */
  readonly takesSuspects: boolean;
  /** True if this process has recovered no other run since this one began. */
  #alone: boolean;
  #lease: Promise<unknown> | undefined;

  private constructor(takesSuspects: boolean, alone: boolean) {
    this.takesSuspects = takesSuspects;
    this.#alone = alone;
  }

  /** Begins the recovery of a run that is no suspect, when no suspect is being recovered. */
  static async together(signal: AbortSignal | undefined): Promise<Attempt> {
    const inner = Attempt.#inner();
    if (inner !== undefined) return inner;
    while ([...inProgress].some((other) => other.takesSuspects)) await once(ends, "end", { signal });
    const attempt = new Attempt(false, inProgress.size === 0);
    inProgress.add(attempt);
    return attempt;
  }

  /** Begins the recovery of a suspect, when no other run is being recovered. */
  static async alone(signal: AbortSignal | undefined): Promise<Attempt> {
    const inner = Attempt.#inner();
    if (inner !== undefined) return inner;
    while (inProgress.size > 0) await once(ends, "end", { signal });
    const attempt = new Attempt(true, true);
    inProgress.add(attempt);
    return attempt;
  }

  /** A recovery that another one has begun, such as the one of its fork, waits for none. The outer one takes the blame for a crash. */
  static #inner(): Attempt | undefined {
    const outer = around.getStore();
    return outer !== undefined && inProgress.has(outer) ? new Attempt(true, false) : undefined;
  }

  /** Takes the lease of the run. `beside` is true if a crash could be the fault of another run. */
  take<T>(take: (beside: boolean) => Promise<T>): Promise<T> {
    const taking = take(!this.#alone);
    this.#lease = taking;
    return taking;
  }

  /** Works on the run. The leases of the other runs first say that they are not alone any more. */
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
