/**
 * Scopes: a function that works on a run alone. The scope takes the lease of the run, renews it, and releases it when
 * the function has ended. The writes of the function carry the lease, and all other writes to the run are refused.
 */

import { ForkpointError, isOwnError } from "../bridge/errors.js";
import type { Fence, NativeStore, RunKey } from "../bridge/native.js";
import { Activity } from "./backlog.js";
import { type Scope as Open, type Subject, currentScope, within } from "../bridge/scope.js";
import type { Host } from "./host.js";
import { type HeldLease, TTL_MS, ttlOption } from "./lease.js";
import { callback, oneOf, readRecord, signalOption, whole } from "./options.js";
import { recordStop, stopperOptions } from "./stop.js";
import { newestRow } from "./newest.js";
import { undoOf } from "./undo.js";
import { type WhenBusy, takeInTurn } from "./waiting.js";

/** Options of `exclusive()`. */
export interface ExclusiveOptions {
  /** What happens if another call works on the run: see {@link WhenBusy}. Default: `"reject"`. */
  whenBusy?: WhenBusy;
  /** The longest wait for the run, in ms. Then the call rejects with `CONFLICT`. Default: no limit. */
  maxWaitMs?: number;
  /** Ends the wait, and stops the function: its signal aborts with the same reason. */
  signal?: AbortSignal;
  /**
   * How long the lease stays valid without a renewal, in ms, at least 100. It is renewed in the background, so it may be
   * shorter than a node takes. After a crash, other machines wait this long. Default: 30,000.
   */
  ttlMs?: number;
  /** The person or the program that calls. A call that it interrupts gets this name. */
  by?: string;
  /** The reason for an interruption. */
  reason?: string;
}

/** The function that works on a run. Pass the signal to everything that it awaits. */
export type Work<T> = (signal: AbortSignal) => T | Promise<T>;

const milliseconds = whole(0, 2 ** 31 - 1, "milliseconds");

const exclusiveOptions = {
  whenBusy: oneOf("reject", "enqueue", "interrupt", "rollback"),
  maxWaitMs: milliseconds,
  signal: signalOption,
  ttlMs: ttlOption,
  ...stopperOptions,
};

/** Runs a function that works on a run alone. */
export async function exclusive<T>(handle: Host, of: RunKey, work: Work<T>, options: unknown): Promise<T> {
  callback(work, "work");
  const read = readRecord(options, "options", exclusiveOptions);
  const { whenBusy = "reject", maxWaitMs, signal, ttlMs = TTL_MS, by, reason } = read;
  signal?.throwIfAborted();
  const undo = undoOf(handle.contract);
  if (whenBusy === "rollback" && undo === undefined) {
    const message = `the work on a run of ${of.space} cannot be rolled back: pass whenBusy: "interrupt" or "enqueue"`;
    throw new ForkpointError("UNSUPPORTED", message);
  }
  const outer = handle.scopeOf(of);
  // The caller works on the run already. A function may outlive its scope, and then works on the run again.
  if (outer instanceof LeaseScope && !outer.isOver) return await outer.nested(work, signal);
  const wanted = { ttlMs, whenBusy, maxWaitMs, signal, by, reason, undo, isClosing: () => handle.closing };
  const lease = await handle.leasing((engine, own) => takeInTurn(engine, of, own, wanted));
  // A run that was undone, or that has begun nowhere, may begin again.
  if (whenBusy === "rollback" || lease.from === "") handle.seen.forgetRun(of.run);
  const scope = new Scope(handle, lease, signal);
  return scope.run(work);
}

/** The scope of a lease that the caller has taken and releases itself. */
class LeaseScope implements Open {
  readonly handle: Host;
  readonly lease: HeldLease;
  readonly recovers: boolean;
  /** Ends the work. */
  readonly signal: AbortSignal;
  readonly outer = currentScope();
  readonly activity = new Activity();
  isOver = false;

  constructor(handle: Host, lease: HeldLease, signal: AbortSignal, recovers: boolean) {
    [this.handle, this.lease, this.signal, this.recovers] = [handle, lease, signal, recovers];
  }

  get fence(): Fence {
    return this.lease;
  }

  owns(native: NativeStore, { space, run, ns }: Subject): boolean {
    const { of } = this.lease;
    if (space !== of.space || run !== of.run || (of.ns !== "" && (ns ?? "") !== of.ns)) return false;
    return this.lease.isOf(native);
  }

  throwIfStopped(): void {
    this.signal.throwIfAborted();
  }

  /** Runs a function of the same scope. */
  async nested<T>(work: Work<T>, signal: AbortSignal | undefined): Promise<T> {
    this.signal.throwIfAborted();
    return work(signal === undefined ? this.signal : AbortSignal.any([this.signal, signal]));
  }

  /** Called when the work has ended. If somebody has stopped the run, records it, or undoes the work. */
  async settle(): Promise<void> {
    const lease = this.lease;
    if (!lease.lost) await this.#settled();
    if (lease.stop?.what === "stop" && !lease.lost) await recordStop(this.handle, lease, lease.stop);
    if (lease.stop?.what !== "rollback" || lease.lost) return;
    lease.undoes = true;
    // If that fails, the next holder tries it too, and gets the error.
    await this.undo().then(
      () => (lease.undoes = false),
      () => {},
    );
  }

  /** Undoes the work of an earlier holder that was rolled back, before the work begins. */
  async clean(): Promise<void> {
    const { undoes, leftAt = Number.POSITIVE_INFINITY, of } = this.lease;
    if (!undoes) return;
    try {
      const newest = await this.handle.run((engine) => newestRow(engine, of), this.lease);
      // What others have saved since, without a scope, stays.
      if ((newest?.savedAt ?? 0) <= leftAt) await this.undo();
    } catch (error) {
      // The place is gone, so no later holder can go back to it either.
      if (isOwnError(error) && error.code === "NOT_FOUND") this.lease.undoes = false;
      throw error;
    }
    await this.lease.hasUndone();
  }

  /** The run continues from the place from which the work on it began. */
  async undo(): Promise<void> {
    const { of, from } = this.lease;
    const undo = undoOf(this.handle.contract)!;
    await this.handle.run((engine) => undo.goBack(engine, of, from || null), this.lease);
    this.handle.seen.forgetRun(of.run);
  }

  /**
   * A function that was stopped leaves saves and effects behind. The next holder would not see what they store. They
   * may be chained: the next one begins when the one before has ended.
   */
  async #settled(): Promise<void> {
    do {
      await this.activity.idle();
      if (this.signal.aborted) await new Promise((resolve) => setImmediate(resolve));
    } while (!this.activity.isIdle);
  }
}

/**
 * Runs a function of `recover` that works on a run under its lease. Its writes to the run carry the lease. The caller
 * passes the lease's signal to the framework, and releases the lease.
 */
export async function recovering<T>(handle: Host, lease: HeldLease, work: () => Promise<T>): Promise<T> {
  const scope = new LeaseScope(handle, lease, lease.signal, true);
  try {
    return await within(scope, work);
  } finally {
    scope.isOver = true;
    if (lease.stop !== undefined) await within(scope, () => scope.settle());
  }
}

/** Undoes the work of an earlier holder that was rolled back, before `recover` works on its run. */
export async function finishUndo(handle: Host, lease: HeldLease): Promise<void> {
  const scope = new LeaseScope(handle, lease, lease.signal, true);
  await within(scope, () => scope.clean());
}

class Scope extends LeaseScope {
  /** Lets the store close. */
  readonly #letGo: () => void;
  #ended: Promise<void> | undefined;

  constructor(handle: Host, lease: HeldLease, signal: AbortSignal | undefined) {
    super(handle, lease, signal === undefined ? lease.signal : AbortSignal.any([lease.signal, signal]), false);
    this.#letGo = handle.hold();
  }

  async run<T>(work: Work<T>): Promise<T> {
    let result: T;
    try {
      await within(this, () => this.clean());
      this.signal.throwIfAborted();
      result = await within(this, async () => work(this.signal));
      const followed = follow(this, this.signal, result);
      if (followed !== undefined) return followed;
    } catch (error) {
      await this.end();
      throw this.#reasonFor(error);
    }
    await this.end();
    this.throwIfUndone();
    return result;
  }

  /** The result of work that was undone is no result. */
  throwIfUndone(): void {
    if (this.lease.stop?.what === "rollback") throw this.lease.signal.reason;
  }

  /** Ends the scope. */
  end(): Promise<void> {
    this.#ended ??= within(this, () => this.#end());
    return this.#ended;
  }

  async #end(): Promise<void> {
    this.isOver = true;
    try {
      await this.settle();
    } finally {
      // If that fails, the lease expires.
      await this.lease.release().catch(() => {});
      this.#letGo();
    }
  }

  /** A stopped function may fail with any error. Returns the error with the author of the stop. */
  #reasonFor(error: unknown): unknown {
    const { signal } = this.lease;
    if (!signal.aborted || error === signal.reason) return error;
    const reason = signal.reason as ForkpointError;
    if (isOwnError(error) && error.code === "CONFLICT" && reason.code === "CONFLICT") return error;
    return Object.assign(reason, { cause: error });
  }
}

/** Wraps a result that is still being made. Returns undefined for other results. */
function follow<T>(scope: Scope, signal: AbortSignal, result: T): T | undefined {
  if (result instanceof Response) {
    // The function has read the body itself, or reads it.
    if (result.body === null || result.body.locked) return undefined;
    const { status, statusText, headers } = result;
    return new Response(readable(scope, signal, result.body), { status, statusText, headers }) as T;
  }
  if (result instanceof ReadableStream) return result.locked ? undefined : (readable(scope, signal, result) as T);
  if (typeof result === "object" && result !== null && Symbol.asyncIterator in result)
    return iterable(scope, signal, result as unknown as AsyncIterable<unknown>) as T;
  return undefined;
}

/** Wraps a stream. The scope ends when the stream is read to its end, is canceled, or is stopped. */
function readable<C>(scope: Scope, signal: AbortSignal, source: ReadableStream<C>): ReadableStream<C> {
  const reader = source.getReader();
  let controller!: ReadableStreamDefaultController<C>;
  let isOver = false;
  const stop = async (reason: unknown) => {
    isOver = true;
    signal.removeEventListener("abort", aborted);
    await within(scope, () => reader.cancel(reason)).catch(() => {});
    await scope.end().catch(() => {});
  };
  const aborted = () => void stop(signal.reason).then(() => controller.error(signal.reason));
  const done = async () => {
    isOver = true;
    signal.removeEventListener("abort", aborted);
    await scope.end();
  };
  return new ReadableStream<C>(
    {
      start(its) {
        controller = its;
        if (signal.aborted) aborted();
        else signal.addEventListener("abort", aborted, { once: true });
      },
      async pull() {
        let step: Awaited<ReturnType<typeof reader.read>>;
        try {
          step = await within(scope, () => reader.read());
          if (isOver) return;
          if (!step.done) return controller.enqueue(step.value);
        } catch (error) {
          if (isOver) return;
          await done();
          throw error;
        }
        await done();
        scope.throwIfUndone();
        controller.close();
      },
      cancel: stop,
    },
    { highWaterMark: 0 },
  );
}

/** Wraps an iterable. The scope ends when it is read to its end, is closed, or is stopped. */
function iterable<C>(scope: Scope, signal: AbortSignal, source: AsyncIterable<C>): AsyncIterable<C> {
  const iterator = within(scope, () => source[Symbol.asyncIterator]());
  let isOver = false;
  const end = async () => {
    isOver = true;
    signal.removeEventListener("abort", stop);
    await scope.end();
  };
  const stop = () => {
    // A generator that is running ends with its own step, because its signal is aborted too.
    void within(scope, async () => iterator.return?.())
      .catch(() => {})
      .then(end)
      .catch(() => {});
  };
  const step = async (take: () => Promise<IteratorResult<C>>): Promise<IteratorResult<C>> => {
    try {
      const result = await within(scope, take);
      if (result.done === true) await end();
      if (result.done === true && signal.aborted) throw signal.reason;
      return result;
    } catch (error) {
      if (!isOver) await end();
      throw error;
    }
  };
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  const wrapped: AsyncIterableIterator<C> = {
    next: () => step(() => iterator.next()),
    return: (value) => step(async () => (await iterator.return?.(value)) ?? { done: true, value }),
    throw: (error) =>
      step(async () => {
        if (iterator.throw !== undefined) return iterator.throw(error);
        throw error;
      }),
    [Symbol.asyncIterator]: () => wrapped,
  };
  // The object of a framework may have more than its items.
  return new Proxy(source, {
    get(target, key) {
      if (key === Symbol.asyncIterator) return () => wrapped;
      if (key === Symbol.asyncDispose && key in target) return async () => void (await wrapped.return!());
      if (Object.hasOwn(wrapped, key) && key in target) return wrapped[key as "next" | "return" | "throw"];
      const value: unknown = Reflect.get(target, key);
      return typeof value === "function" && key !== "constructor" ? (value.bind(target) as unknown) : value;
    },
  });
}
