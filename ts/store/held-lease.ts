/**
 * Leases of runs: one process at a time works on a run. See `engine/src/contract/lease.rs`.
 *
 * The store's clock decides whether a lease has expired. A holder measures the time since its last renewal with the
 * monotonic clock, which cannot be set.
 */

import { crypto } from "../bridge/crypto.js";
import { ForkpointError, isOvertaken, typeError } from "../bridge/errors.js";
import { hasEnded, thisProcess } from "../bridge/holder.js";
import type { Fence, NativeStore, RunKey } from "../bridge/native.js";
import type { LeaseHolder } from "../bridge/forkpoint-error.js";
import { type FoundLease, type Holding, type LeaseRequest, type NotTaken, leaseCalls as calls } from "./lease-wire.js";
import { ofProcess } from "../bridge/scope.js";
import { nameOf } from "./lease-name.js";
import { isLive, listen, nextOf, stoppedError } from "./requests.js";
import type { SeenLease } from "./seen-lease.js";
import { wakeAll } from "./wake.js";

/**
 * The right to work on a run. A run has at most one lease, which lasts until it is released or lost. It is renewed in
 * the background.
 * @example
 * ```ts
 * await using lease = await store.lease({ space: "langgraph", run: "thread-1" });
 * await store.withLease(lease).save(checkpoint); // CONFLICT if the lease was lost
 * ```
 */
export interface Lease extends AsyncDisposable, LeaseHolder {
  /**
   * A fencing token: an integer, greater than the tokens of all earlier leases of the run. Pass it to other systems,
   * which can reject a token smaller than one they have seen.
   */
  readonly token: number;
  readonly holder: string;
  readonly until: number;
  /**
   * Aborts with a ForkpointError `CONFLICT` when the lease is lost: another process took it, or renewals failed for two
   * thirds of `ttlMs`. Stop your work then: another process may begin after the last third. Aborts with `STOPPED` when
   * somebody stops the run. Stop your work then too, and release the lease.
   */
  readonly signal: AbortSignal;
  /**
   * Ends the lease, so that others can take it immediately. A second call is allowed. If the lease was lost, its new
   * holder keeps it.
   * @example await lease.release();
   */
  release(): Promise<void>;
  /**
   * Calls `release()` at the end of an `await using` block.
   * @example await using lease = await store.lease({ space: "langgraph", run: "thread-1" });
   */
  [Symbol.asyncDispose](): Promise<void>;
}

interface Attempt {
  ttlMs: number;
  /** True if only the writes of a scope may carry the lease. Otherwise all writes of the process do. */
  scoped?: boolean;
  /** True if writes without the lease are allowed. Such a lease is held for a moment, to change a run from outside. */
  passive?: boolean;
  /** The id of the request with which the caller waits for the lease. */
  waiting?: string | undefined;
  /** Reads the place to which a rollback goes back. Empty: nothing is stored. */
  place?: (() => Promise<string>) | undefined;
  /** True if the caller undoes the work of a holder that has ended without a release. */
  undoes?: boolean | undefined;
  /** The run's lease as the caller has seen it before. */
  seen?: SeenLease;
  // The next fields are of `recover`.
  /** The id of the run's newest checkpoint. */
  from?: string;
  /**
   * The maximum number of consecutive leases from the same checkpoint that were not released. After them, no lease is
   * given. Leases that were taken `beside` leases of other runs don't count.
   */
  maxAttempts?: number;
  /** True if this process recovers other runs at the same time, which could also cause a crash. */
  beside?: boolean;
  /** False: the lease is not taken if the last holder crashed from the same checkpoint. */
  takesSuspects?: boolean;
}

/** The parts of an open store for leases. */
export interface Leasing {
  readonly native: NativeStore;
  /** The leases that this process holds. */
  readonly leases: Set<HeldLease>;
}

/** The leases that this process holds, of all stores. */
const held = new Set<HeldLease>();

// A process that ends without an error releases its leases, as `close()` does. This listener runs before the one that
// waits for pending calls. An error or a signal leaves the leases behind, which counts as a crash.
process.prependListener("exit", (code) => {
  if (code === 0) void releaseAll(held);
});

export class HeldLease implements Lease, Fence {
  readonly id: string;
  readonly token: number;
  readonly holder: string;
  readonly #native: NativeStore;
  readonly of: RunKey;
  /** The place from which the work began. Empty: nothing was stored. Null: it was not read. */
  readonly from: string | null;
  /** True if work since `from` must be undone: that of an earlier holder, or the holder's own. */
  undoes = false;
  /** When the earlier holder left that work behind, in ms since the epoch. Undefined: the run was busy until now. */
  leftAt: number | undefined;
  readonly #ttlMs: number;
  #holding: Omit<Holding, "until">;
  /** The sets that contain the lease while it is held, for `close`. */
  readonly #lists: ReadonlyArray<Set<HeldLease>>;
  readonly #lost = new AbortController();
  /** Aborts when the lease is lost, or when somebody stops the run. */
  readonly #ended = new AbortController();
  /** The request to stop the run. */
  stop: LeaseRequest | undefined;
  /** The requests to remove at the release. */
  #heard: string[] = [];
  #forgetRequests: () => void;
  #until: number;
  /** When the lease was taken or renewed, on the monotonic clock. */
  #renewedAt: number;
  /** The difference between the machine's clock and the monotonic one at the last renewal. */
  #clock = clockDifference();
  #timer: NodeJS.Timeout | undefined;
  #released: Promise<void> | undefined;
  /** The reason for the loss, and the new holder. */
  #why = "";
  #successor: LeaseHolder | null = null;

  private constructor(native: NativeStore, of: RunKey, found: FoundLease, began: number, lists: Array<Set<HeldLease>>) {
    const { id, token, savedAt, until, valid: _, ...holding } = found;
    this.token = token;
    this.holder = holding.holder;
    this.#native = native;
    this.of = of;
    this.id = id;
    this.from = holding.from;
    this.#ttlMs = until - savedAt;
    this.#holding = holding;
    this.#until = until;
    this.#renewedAt = began;
    this.#lists = lists;
    for (const list of lists) list.add(this);
    this.#renewAfter(this.#ttlMs / 3);
    this.#forgetRequests = listen(native, this);
  }

  /**
   * Takes the lease of a run for `ttlMs`, and renews it until its release. A crashed process leaves its lease behind.
   * On the same machine it ends immediately, elsewhere when it expires.
   */
  static async take(
    { native, leases }: Leasing,
    of: RunKey,
    attempt: Attempt,
    own: Set<HeldLease>,
  ): Promise<HeldLease | NotTaken> {
    const { ttlMs, waiting, place, from } = attempt;
    const { maxAttempts = Number.POSITIVE_INFINITY, beside = false, takesSuspects = true, passive = false } = attempt;
    for (;;) {
      const began = performance.now();
      const { now, lease: current, requests } = await calls.call(native, "read", { of });
      if (current !== null && !hasEnded(current.holder)) {
        const { holder, until, id, valid, passive: isBrief } = current;
        const known = isBrief === true ? undefined : current.from;
        const leftMs = attempt.seen?.leftMs(current, now) ?? until - now;
        if (valid || leftMs > 0) return { holder, until, leftMs, id, from: known, now, requests };
      }
      const next = nextOf(requests);
      if (next !== undefined && next.id !== waiting) {
        const until = next.savedAt + next.ttl;
        return { holder: next.holder, until, leftMs: until - now, now, requests };
      }
      const crashed = from !== undefined && current?.from === from ? current : undefined;
      const crashes = crashed === undefined ? 0 : crashed.attempts - (crashed.beside === true ? 1 : 0);
      if (crashes >= maxAttempts) return { crashes };
      if (crashed !== undefined && !takesSuspects) return { suspected: crashes };
      const id = crypto().randomUUID();
      const undoes = attempt.undoes === true || (attempt.scoped === true && current?.undo === true);
      const left = undoes ? (current?.from ?? undefined) : undefined;
      const undo = left !== undefined;
      const at = left ?? from ?? (await place?.()) ?? null;
      const until = now + ttlMs;
      const holding = { holder: thisProcess(), until, from: at, attempts: crashes + 1, beside, passive, undo };
      const done = requests.filter((each) => each.id === waiting || !isLive(each)).map((each) => each.id);
      const expired = current === null ? undefined : { id: current.id, savedAt: current.savedAt };
      try {
        await calls.call(native, "take", { of, id, expired, holding, savedAt: now, done });
      } catch (error) {
        // Another process was faster: read its lease.
        if (isOvertaken(error)) continue;
        throw error;
      }
      const { lease } = await calls.call(native, "read", { of }).catch(async (error: unknown) => {
        // The caller does not get the lease, so release it here.
        await calls.call(native, "release", { id, done: [] }).catch(() => {});
        throw error;
      });
      // The lease may have expired, and another process may have taken it.
      if (lease?.id !== id) continue;
      const taken = new HeldLease(native, of, lease, began, [leases, own, held]);
      taken.undoes = undo;
      if (undo && attempt.undoes !== true) taken.leftAt = current!.savedAt;
      if (attempt.scoped !== true) ofProcess.set(native, of, taken);
      return taken;
    }
  }

  /** Returns true for a lease. Testing for a private name does not call the traps of a proxy. */
  static is(value: unknown): value is HeldLease {
    return typeof value === "object" && value !== null && #native in value;
  }

  get until(): number {
    return this.#until;
  }

  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  /** Called when somebody asks that the run stops. The lease stays, so that the run can still save what it has. */
  asked(request: LeaseRequest): void {
    const { what, by, reason, savedAt: at } = request;
    // Of several requests, the first counts. A rollback takes the place of a stop, because its caller continues the run.
    if (this.#over || (this.stop !== undefined && (this.stop.what !== "stop" || what !== "rollback"))) return;
    if (what === "stop") this.#heard = [request.id];
    this.stop = request;
    this.#ended.abort(stoppedError(this.of, { kind: what as Exclude<typeof what, "enqueue">, by, reason, at }));
  }

  /**
   * True if the lease is lost. A process that slept for `ttlMs` has lost its lease, even if no other process took it.
   */
  get lost(): boolean {
    if (!this.#lost.signal.aborted && this.#age >= this.#ttlMs) this.#lose("it expired while this process slept", null);
    return this.#lost.signal.aborted;
  }

  release(): Promise<void> {
    this.#released ??= this.#release();
    return this.#released;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }

  /** Returns true if the store has the data of the lease's store. */
  isOf({ databasePath, handle }: NativeStore): boolean {
    return databasePath === null ? handle === this.#native.handle : databasePath === this.#native.databasePath;
  }

  /** Refuses a lease of another store. */
  requireStore(native: NativeStore): void {
    if (!this.isOf(native))
      throw typeError("the lease belongs to another store: take it from the store that it is used with");
  }

  /**
   * Runs a call that carries the lease. If the lease is lost, the call stores nothing and rejects with `CONFLICT`.
   * `work` gets the value of the call's field `fence`.
   */
  async guard<T>(work: (fence: object) => Promise<T>): Promise<T> {
    if (this.lost) throw this.#error();
    if (this.#released !== undefined) {
      const message = `the lease of ${nameOf(this.of)} was released: take it again before you write to the run`;
      throw new ForkpointError("CONFLICT", message, { lease: null });
    }
    try {
      return await work({ of: this.of, id: this.id });
    } catch (error) {
      if (isOvertaken(error)) await this.#look();
      throw this.#lost.signal.aborted && isOvertaken(error) ? this.#error() : error;
    }
  }

  get #age(): number {
    return performance.now() - this.#renewedAt;
  }

  #renewAfter(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#renew(), Math.max(1, ms)).unref();
  }

  /** Called from time to time. After the machine's clock was set, the lease looks expired until it is renewed. */
  looked(): void {
    if (this.#over || Math.abs(clockDifference() - this.#clock) < Math.min(this.#ttlMs / 6, 1_000)) return;
    this.#clock = clockDifference();
    this.#renewAfter(0);
  }

  /**
   * Renews the lease. Without success for two thirds of `ttlMs`, the lease counts as lost, so that the holder can stop
   * before another process begins. A renewal that a busy event loop delayed still gets some time.
   */
  async #renew(): Promise<void> {
    if (this.lost || this.#released !== undefined) return;
    const began = performance.now();
    const age = began - this.#renewedAt;
    const fail = () => this.#lose("it could not be renewed in time", null);
    const patience = Math.min(Math.max((this.#ttlMs * 2) / 3 - age, this.#ttlMs / 6), this.#ttlMs - age);
    const limit = setTimeout(fail, patience).unref();
    try {
      await this.#storeAgain(began);
      if (!this.#over) this.#renewAfter(this.#ttlMs / 3);
    } catch (error) {
      if (this.#over) return;
      if (isOvertaken(error)) await this.#look().catch(() => this.#lose("another process has taken it", null));
      else if (this.#age >= (this.#ttlMs * 2) / 3) fail();
      if (!this.#over) this.#renewAfter(this.#ttlMs / 12);
    } finally {
      clearTimeout(limit);
    }
  }

  async #storeAgain(began: number): Promise<void> {
    const now = await storeClock(this.#native);
    const holding = { ...this.#holding, until: now + this.#ttlMs };
    await calls.call(this.#native, "renew", { of: this.of, id: this.id, holding, savedAt: now });
    if (!this.#over) [this.#until, this.#renewedAt] = [holding.until, began];
  }

  /** Called when the work of an earlier holder is undone. What is done from now on stays. */
  async hasUndone(): Promise<void> {
    this.undoes = false;
    this.#holding = { ...this.#holding, undo: false };
    await this.#storeAgain(performance.now());
  }

  /** Records that this process also recovers other runs, which could cause a crash. */
  async shareBlame(): Promise<void> {
    if (this.#over) return;
    this.#holding = { ...this.#holding, beside: true };
    await this.#storeAgain(performance.now()).catch((error: unknown) => {
      if (!isOvertaken(error)) throw error;
    });
  }

  get #over(): boolean {
    return this.#lost.signal.aborted || this.#released !== undefined;
  }

  /** Reads the run's current lease. If another lease has replaced this one, marks this one as lost. */
  async #look(): Promise<void> {
    const { lease } = await calls.call(this.#native, "read", { of: this.of });
    if (lease?.id === this.id || this.#over) return;
    const now = lease?.valid ? { holder: lease.holder, until: lease.until } : null;
    this.#lose(now === null ? "another process has taken it" : `${now.holder} has taken it`, now);
  }

  #lose(why: string, successor: LeaseHolder | null): void {
    if (this.#over) return;
    clearTimeout(this.#timer);
    this.#leave();
    [this.#why, this.#successor] = [why, successor];
    this.#lost.abort();
    this.#ended.abort(this.#error());
  }

  #error(): ForkpointError {
    const message =
      `the lease of ${nameOf(this.of)} was lost, because ${this.#why}: it can no longer store anything. Stop working on ` +
      "the run, and take its lease again before you continue";
    return new ForkpointError("CONFLICT", message, { lease: this.#successor });
  }

  /** Called when the lease has ended for this process. */
  #leave(): void {
    for (const list of this.#lists) list.delete(this);
    ofProcess.delete(this.#native, this.of, this);
    this.#forgetRequests();
  }

  async #release(): Promise<void> {
    clearTimeout(this.#timer);
    this.#leave();
    const { id, of } = this;
    if (this.undoes && !this.#lost.signal.aborted) {
      // The lease expires now. The next holder sees that there is work to undo.
      const now = await storeClock(this.#native);
      const holding = { ...this.#holding, until: now, undo: true };
      await calls.call(this.#native, "renew", { of, id, holding, savedAt: now });
    } else {
      await calls.call(this.#native, "release", { id, done: this.#heard });
    }
    wakeAll(this.#native, this.of);
  }
}

/** Releases leases. A lease that cannot be released expires. */
export async function releaseAll(leases: Set<HeldLease>): Promise<void> {
  await Promise.allSettled([...leases].map((lease) => lease.release()));
}

const clockDifference = (): number => Date.now() - performance.now();

/** Reads the store's clock, in ms since the epoch. */
export function storeClock(native: NativeStore): Promise<number> {
  return calls.call(native, "clock", {});
}
