/**
 * The leases of a saver's threads. LangGraph does not report when a run begins or ends. A run begins when LangGraph
 * reads the thread, or at the latest with its first write. It ends when the newest checkpoint says so (see
 * `hasStopped`), or if it writes nothing for `ttlMs`, because LangGraph does not report an abandoned run.
 */

import type { Config } from "@langchain/langgraph-checkpoint";
import type { StoreHandle } from "../../store/handle.js";
import { type HeldLease, fenced } from "../../store/lease.js";
import type { NativeStore, RunKey } from "../../bridge/native.js";
import { beginsRun, isRun } from "./run-config.js";
import { hasRunNothing } from "./running-nothing.js";
import type { hasStopped } from "./status.js";
import type { SaverContext } from "./tuples.js";
import { langgraph } from "./wire.js";

interface Held {
  lease: Promise<HeldLease>;
  idle: NodeJS.Timeout | undefined;
  /** True if a task of the newest checkpoint has failed or asks a question. */
  stops: boolean;
}

/** A write to a checkpoint of a thread. The flags tell whether the write may end the run. */
interface ThreadWrite {
  threadId: string;
  id: string;
  config: Config;
  /** True if a task fails or asks a question with this write. */
  stops: boolean;
  mayBeLast: boolean;
}

export class ThreadLeases {
  readonly #handle: StoreHandle;
  readonly #ttlMs: number | undefined;
  readonly #hasStopped: typeof hasStopped;
  readonly #threads = new Map<string, Held>();

  /** Without `ttlMs`, the saver takes no leases. `stopped` is `hasStopped`, which is loaded when a run may end. */
  constructor(handle: StoreHandle, ttlMs: number | undefined, stopped: typeof hasStopped) {
    this.#handle = handle;
    this.#ttlMs = ttlMs;
    this.#hasStopped = stopped;
  }

  /**
   * Called when LangGraph reads a thread. If a run begins with this read, takes the lease, so that no node runs without
   * it. A run may have nothing to do, or may write only at its end. Returns a function that releases the lease if the
   * run is refused.
   */
  async begin(config: Config): Promise<(() => Promise<void>) | undefined> {
    const threadId = beginsRun(config);
    if (threadId === undefined || this.#isOwned(threadId)) return undefined;
    if (this.#ttlMs === undefined) {
      await this.#handle.refuseLeased(keyOf(threadId));
      return undefined;
    }
    const known = this.#threads.get(threadId);
    // An earlier run has lost its lease. This run takes a new one.
    if (known !== undefined && (await isLost(known))) this.#forget(threadId, known);
    const before = this.#threads.get(threadId);
    const held = before ?? this.#take(threadId);
    await held.lease;
    this.#releaseIfIdle(threadId, held);
    return before === undefined ? () => this.#release(threadId, held) : undefined;
  }

  /** True if a run takes a lease. Its thread must be read after that. */
  get takes(): boolean {
    return this.#ttlMs !== undefined;
  }

  guards(threadId: string): boolean {
    return this.takes || this.#isOwned(threadId);
  }

  /** True if the writes to a thread carry a lease without this object. */
  #isOwned(threadId: string): boolean {
    return this.#handle.isLeased || this.#handle.scopeOf(keyOf(threadId)) !== undefined;
  }

  write(context: SaverContext, write: ThreadWrite, work: (native: NativeStore) => Promise<unknown>): Promise<unknown> {
    const held = this.#threads.get(write.threadId);
    const needsNone = this.#ttlMs === undefined || this.#isOwned(write.threadId);
    return needsNone ? work(context.native) : this.#underLease(context, write, held, work);
  }

  async #underLease(
    context: SaverContext,
    { threadId, id, config, stops, mayBeLast }: ThreadWrite,
    held: Held | undefined,
    work: (native: NativeStore) => Promise<unknown>,
  ): Promise<void> {
    const { native } = context;
    const inRun = isRun(config);
    // A write outside of a run, such as updateState, does not depend on the lost lease of an earlier run.
    if (held !== undefined && !inRun && (await isLost(held))) {
      this.#forget(threadId, held);
      held = undefined;
    }
    const taken = held === undefined;
    held ??= this.#take(threadId);
    const lease = await held.lease;
    clearTimeout(held.idle);
    let ended = false;
    try {
      await work(fenced(native, lease));
      held.stops ||= stops;
      ended = inRun && (mayBeLast || held.stops) && (await this.#hasStopped(context, threadId, id).catch(() => false));
    } catch (error) {
      ended = hasRunNothing(error);
      throw error;
    } finally {
      // A write outside of a run releases its lease, whether it succeeds or not.
      if (this.#threads.get(threadId) === held) {
        if (ended || (taken && !inRun)) await this.#release(threadId, held);
        else this.#releaseIfIdle(threadId, held);
      }
    }
  }

  /** True while `recover` works on a thread. */
  isRecovered(threadId: string): boolean {
    return this.#handle.scopeOf(keyOf(threadId))?.recovers === true;
  }

  /** Takes the lease of a thread for a change outside of a run. Undefined if the saver takes no leases. */
  leaseOf(threadId: string): Promise<HeldLease> | undefined {
    if (this.#ttlMs === undefined) return undefined;
    return this.#handle.leaseOf(keyOf(threadId), { ttlMs: this.#ttlMs });
  }

  #take(threadId: string): Held {
    const lease = this.leaseOf(threadId)!;
    const held: Held = { lease, idle: undefined, stops: false };
    this.#threads.set(threadId, held);
    lease.catch(() => this.#forget(threadId, held));
    return held;
  }

  #forget(threadId: string, held: Held): void {
    clearTimeout(held.idle);
    if (this.#threads.get(threadId) === held) this.#threads.delete(threadId);
  }

  async #release(threadId: string, held: Held): Promise<void> {
    this.#forget(threadId, held);
    await (await held.lease).release().catch(() => {});
  }

  /**
   * Releases the lease if no write follows within `ttlMs`. A lost lease is not removed, so that later writes of its run
   * are refused.
   */
  #releaseIfIdle(threadId: string, held: Held): void {
    clearTimeout(held.idle);
    held.idle = setTimeout(() => {
      void isLost(held).then((lost) => (lost ? undefined : this.#release(threadId, held)));
    }, this.#ttlMs).unref();
  }
}

const keyOf = (threadId: string): RunKey => ({ space: langgraph.name, run: threadId, ns: "" });

async function isLost({ lease }: Held): Promise<boolean> {
  return (await lease).lost;
}
