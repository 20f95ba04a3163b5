/** The handle through which a contract's object uses its store. The object may own the store or share it. */

import { Activity, type Held } from "./backlog.js";
import { hasEnded } from "../bridge/holder.js";
import { tellFailure, tellRefusal } from "../bridge/channels.js";
import type { CheckOptions } from "./check.js";
import type { Effects } from "./effects.js";
import type { Disturb } from "./effect-attempt.js";
import type { Engine } from "./engine.js";
import { ForkpointError, isOwnError, readingArgument, typeError } from "../bridge/errors.js";
import type { StoreContract } from "./host.js";
import {
  HeldLease,
  fenced,
  leaseOption,
  releaseAll,
  takeLease,
  type LeaseOptions,
  isHeld,
  leaseOfRun,
} from "./lease.js";
import type { Retention, StoreOptions } from "./options.js";
import type { PruneOptions, StatsOptions } from "./retention.js";
import type { PruneProgress, RunPruneResult, StoreStats } from "./results.js";
import type { RunKey } from "../bridge/native.js";
import { readRun, readRunName, type RunName, type RunRef } from "./run-ref.js";
import type { ExclusiveOptions, Work } from "./scope.js";
import { type Scope, currentScope, scopeOf } from "../bridge/scope.js";
import type { Format } from "../bridge/serializer.js";
import { Seen } from "./seen.js";
import type { StopOptions } from "./stop.js";
import type { StopResult } from "./results.js";
import { Store, engineOf, openInBackground } from "./store.js";
import { type Exact, subjectOf, type VerifyReport } from "../bridge/wire.js";

const later = (): typeof import("./later.js") => require("./later.js");

/**
 * The base of a contract's store: a handle to a `Store`. The handle closes a store that it opened itself. A shared
 * store stays open.
 */
export class StoreHandle {
  readonly #store: Store;
  /** True if this handle opened its store. False if the store is shared. */
  readonly owned: boolean;
  readonly contract: StoreContract;
  /** Injects faults of `forkpoint/testing` into the writes of effects. */
  disturb: Disturb | undefined;
  readonly #activity = new Activity();
  /** The lease for all writes. Null: none. */
  readonly #lease: HeldLease | null;
  /** The leases taken with this handle. */
  readonly #leases = new Set<HeldLease>();
  /** The runs that this handle, and handles made from it, have saved or read. */
  readonly seen: Seen;
  #closing: Promise<void> | undefined;

  /** `prune` and `stats` cover only the checkpoints of `contract`. */
  constructor(
    target: unknown,
    options: StoreOptions | undefined,
    contract: StoreContract,
    lease: HeldLease | null = null,
    seen = new Seen(),
  ) {
    this.contract = contract;
    this.#lease = lease;
    this.seen = seen;
    if (readingArgument("target", () => target instanceof Store)) {
      if (options !== undefined)
        throw typeError("the target is an open store, which has its own options: pass the options to openStore()");
      this.#store = target as Store;
      this.owned = false;
    } else {
      this.#store = openInBackground(target as string | URL, options);
      this.owned = true;
    }
  }

  /** Returns the target itself if it is a handle, and otherwise a handle to the target. */
  static of(target: unknown, options: StoreOptions | undefined, contract: StoreContract): StoreHandle {
    // A test for a private name does not trigger a proxy's traps.
    const isHandle = typeof target === "object" && target !== null && #store in target;
    return isHandle ? target : new StoreHandle(target, options, contract);
  }

  /** Returns a handle to the same store whose writes carry the lease. */
  withLease(lease: unknown): StoreHandle {
    const checked = leaseOption(lease, "lease");
    checked.requireStore(engineOf(this.#store).native);
    const leased = new StoreHandle(this.#store, undefined, this.contract, checked, this.seen);
    leased.disturb = this.disturb;
    return leased;
  }

  /** Returns another handle to the same store, which it does not close. */
  share(): StoreHandle {
    const shared = new StoreHandle(this.#store, undefined, this.contract, this.#lease, this.seen);
    shared.disturb = this.disturb;
    return shared;
  }

  /** This handle as a target of the contract's own class, which takes a store or a handle. */
  get asStore(): Store {
    return this as unknown as Store;
  }

  /** Returns whether this handle knows a run to be stored, and the run's incarnation at the last save or read. */
  remembered({ space, run, ns }: RunKey): { stored?: boolean; incarnation?: Exact | undefined } {
    if (space !== this.contract.name || ns !== "") return {};
    return { stored: this.seen.has(run), incarnation: this.seen.incarnation(run) };
  }

  /**
   * The identity of the stored data, equal for all handles on the same checkpoints: the path of a file or folder, or
   * the store object in memory.
   */
  get identity(): unknown {
    return engineOf(this.#store).native.databasePath ?? this.#store;
  }

  get isLeased(): boolean {
    return this.#lease !== null;
  }

  get retention(): Retention {
    return engineOf(this.#store).retention;
  }

  get format(): Format {
    return engineOf(this.#store).format;
  }

  /** True if many more saves fit into the store's queue. */
  get hasRoom(): boolean {
    return engineOf(this.#store).backlog.isShort;
  }

  /** True if `close` was called. Operations that work in several steps then stop. */
  get closing(): boolean {
    return this.#closing !== undefined;
  }

  /**
   * Starts an operation immediately. Its writes carry the lease. Error stacks show the caller of the public method.
   */
  async run<T>(work: (engine: Engine) => Promise<T>, lease: HeldLease | null = this.#lease): Promise<T> {
    const engine = this.#begin(lease);
    try {
      return await work(engine);
    } catch (error) {
      throw this.#failed(engine, error, this.run);
    } finally {
      this.#end(engine);
    }
  }

  /**
   * Starts an operation that stores values in the engine's format. `held` counts further bytes. The operation resolves
   * to the result of `stored`, if it is given. Rejects with `BUSY` if too many bytes wait to be written.
   *
   * A save is the most frequent operation. This function does not call `run`, which would make one more promise.
   */
  async save<T, R = T>(
    work: (engine: Engine, held: Held) => Promise<T>,
    lease: HeldLease | null = this.#lease,
    stored?: (result: T) => R,
  ): Promise<R> {
    const engine = this.#begin(lease);
    const scope = currentScope();
    scope?.activity.begin();
    let held: Held | undefined;
    try {
      held = this.#admit(engine);
      const result = await work(held.counting(engine), held);
      return stored === undefined ? (result as unknown as R) : stored(result);
    } catch (error) {
      // The rejection of a save that was not admitted is already published, so pass no engine.
      throw this.#failed(held && engine, error, this.save);
    } finally {
      held?.release();
      scope?.activity.end();
      this.#end(engine);
    }
  }

  #begin(lease: HeldLease | null): Engine {
    // A function that works on a run alone may end its work.
    if (this.closing && currentScope() === undefined) {
      throw new ForkpointError("CLOSED", "the store is closed: open a new one to continue");
    }
    const shared = engineOf(this.#store);
    lease?.requireStore(shared.native);
    const engine = lease === null ? shared : { ...shared, native: fenced(shared.native, lease) };
    engine.activity.begin();
    this.#activity.begin();
    return engine;
  }

  #end(engine: Engine): void {
    this.#activity.end();
    engine.activity.end();
  }

  /**
   * Prepares the error of an operation for its caller. The error's stack begins after the function `operation`. If
   * `engine` is undefined, the error is already published.
   */
  #failed(engine: Engine | undefined, error: unknown, operation: (...all: never[]) => unknown): unknown {
    if (isOwnError(error)) {
      Error.captureStackTrace(error, operation);
      // The engine's own errors are already published. Any other `BUSY` or `CORRUPT` error comes from reading a stored
      // value.
      if (engine) tellFailure(error, subjectOf(engine.native, "read", { space: this.contract.name }));
    }
    return error;
  }

  #admit({ backlog, native }: Engine): Held {
    try {
      return backlog.admit();
    } catch (error) {
      tellRefusal("save", subjectOf(native, "save", { space: this.contract.name }), error);
      throw error;
    }
  }

  lease(run: RunRef, options?: LeaseOptions): Promise<HeldLease> {
    return this.leasing((engine, own) => takeLease(engine, readRun(run, this.contract.name), options, own));
  }

  /** Takes the lease of a run whose name is valid. */
  leaseOf(of: RunKey, options: LeaseOptions): Promise<HeldLease> {
    return this.leasing((engine, own) => takeLease(engine, of, options, own));
  }

  /** Returns the innermost scope of the caller that owns a run. */
  scopeOf(of: RunKey): Scope | undefined {
    return scopeOf(engineOf(this.#store).native, of);
  }

  /** Refuses work on a run that another process or another scope works on, before the first step. */
  async refuseLeased(of: RunKey): Promise<void> {
    const scope = this.scopeOf(of);
    if (this.isLeased || (scope !== undefined && !scope.isOver)) return;
    const lease = await this.run(({ native }) => leaseOfRun(native, of));
    if (!lease?.valid || lease.passive === true || hasEnded(lease.holder)) return;
    throw isHeld(of, lease, "wait until it ends, or use exclusive()");
  }

  /** Runs a function that works on a run alone: see `ts/store/scope.ts`. */
  exclusive<T>(run: RunName, work: Work<T>, options?: ExclusiveOptions): Promise<T> {
    return this.run(() => later().exclusive(this, readRunName(run, this.contract.name), work, options), null);
  }

  /** Stops a run: see `ts/store/stop.ts`. */
  stop(run: RunName, options?: StopOptions): Promise<StopResult> {
    return this.run(() => later().stopRun(this, readRunName(run, this.contract.name), options), null);
  }

  /** Keeps the store open, until the returned function is called. */
  hold(): () => void {
    const engine = this.#begin(null);
    return () => this.#end(engine);
  }

  /** Runs work that takes a lease. The lease is released when the handle is closed. */
  leasing<T>(work: (engine: Engine, own: Set<HeldLease>) => Promise<T>): Promise<T> {
    return this.run((engine) => work(engine, this.#leases), null);
  }

  /** The effects of this store's runs. `leaseOf` returns the lease for their writes. */
  effects(leaseOf?: () => HeldLease | undefined): Effects {
    return new (later().Effects)(this, leaseOf);
  }

  /** The result counts lineages as runs, as the contract calls them. */
  prune(options: PruneOptions<RunPruneResult> | undefined): Promise<RunPruneResult> {
    return this.run((engine) => later().prune(engine, this.contract.name, options, () => this.closing, prunedRuns));
  }

  stats(options: StatsOptions | undefined) {
    return this.run(async (engine) => inRuns(await later().stats(engine, this.contract.name, options)));
  }

  /** Checks the entire database, not only this contract's data. */
  check(options: CheckOptions | undefined): Promise<VerifyReport> {
    return this.run((engine) => later().check(engine, options, () => this.closing));
  }

  vacuum(): Promise<void> {
    return this.run((engine) => later().vacuum(engine));
  }

  close(): Promise<void> {
    for (let scope = currentScope(); scope !== undefined; scope = scope.outer) {
      if (scope.handle === this) return Promise.reject(closedWithin());
    }
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#activity.idle();
    await releaseAll(this.#leases);
    if (this.owned) await this.#store.close();
  }
}

function closedWithin(): ForkpointError {
  const message = "close() waits for the end of exclusive(), so it would wait for itself: call it after exclusive()";
  return new ForkpointError("INVALID_ARGUMENT", message);
}

function prunedRuns({ lineages: runs, ...rest }: PruneProgress): RunPruneResult {
  return { ...rest, runs };
}

function inRuns({ largest, lineages: runs, ...rest }: StoreStats) {
  const named = largest.map(({ lineage: runId, ...line }) => ({ runId, ...line }));
  return { ...rest, runs, largest: named };
}
