/** Takes the lease of a run that may be busy: at once, in the order of arrival, or by stopping its holder. */

import { setTimeout as delay } from "node:timers/promises";
import { crypto } from "../bridge/crypto.js";
import { ForkpointError, isOwnError, quote } from "../bridge/errors.js";
import type { RunKey } from "../bridge/native.js";
import type { Engine } from "./engine.js";
import { HeldLease, isHeld } from "./lease.js";
import type { NotTaken } from "./lease-wire.js";
import type { Undo } from "./host.js";
import { OwnRequest, countBefore, pollMs } from "./requests.js";
import { SeenLease } from "./seen-lease.js";
import { turnsOf } from "./turns.js";
import { hear } from "./hearing.js";
import { placeOf } from "./undo.js";
import { Sleeper } from "./wake.js";

/**
 * What happens if another call works on the run.
 *
 * - `"reject"`: the call rejects with `CONFLICT`.
 * - `"enqueue"`: the call waits for its turn, in the order of arrival, across all processes.
 * - `"interrupt"`: the other call is stopped. What it has saved stays.
 * - `"rollback"`: the other call is stopped, and the run goes back to the checkpoint from which it began. Its effects
 *   stay.
 */
export type WhenBusy = "reject" | "enqueue" | "interrupt" | "rollback";

export interface Wanted {
  ttlMs: number;
  whenBusy: WhenBusy;
  maxWaitMs: number | undefined;
  signal: AbortSignal | undefined;
  by: string | undefined;
  reason: string | undefined;
  undo: Undo | undefined;
  /** Returns true if the store is being closed. Then the wait ends. */
  isClosing: () => boolean;
}

type Busy = Extract<NotTaken, { holder: string }>;

/** The pause after an error that may pass, in ms. */
const PAUSE = 250;

export async function takeInTurn(engine: Engine, of: RunKey, own: Set<HeldLease>, wanted: Wanted): Promise<HeldLease> {
  const { ttlMs, whenBusy, undo } = wanted;
  const place = () => placeOf(undo, engine, of);
  const seen = new SeenLease();
  const take = async (waiting?: string) => {
    // If the run was not busy, others may have continued the work of a holder that has crashed.
    const undoes = waiting !== undefined && whenBusy === "rollback";
    const taken = await HeldLease.take(engine, of, { ttlMs, scoped: true, waiting, place, undoes, seen }, own);
    return taken as HeldLease | Busy;
  };
  const first = await take();
  if (first instanceof HeldLease) return first;
  if (whenBusy === "reject")
    throw isHeld(of, first, "wait until it ends, or pass whenBusy to wait for it or to stop it");
  if (whenBusy === "rollback" && first.from === null) throw unknownPlace(of, first);
  return new Waiter(engine, of, wanted, take).wait(first);
}

class Waiter {
  readonly #engine: Engine;
  readonly #of: RunKey;
  readonly #wanted: Wanted;
  readonly #take: (waiting: string) => Promise<HeldLease | Busy>;
  readonly #id = crypto().randomUUID();
  readonly #until: number;
  readonly #sleeper: Sleeper;
  #request: OwnRequest | undefined;
  /** True if this call has looked since it has stored its request. */
  #hasLooked = false;

  constructor(engine: Engine, of: RunKey, wanted: Wanted, take: (waiting: string) => Promise<HeldLease | Busy>) {
    [this.#engine, this.#of, this.#wanted, this.#take] = [engine, of, wanted, take];
    this.#sleeper = new Sleeper(engine.native, of);
    this.#until = performance.now() + (wanted.maxWaitMs ?? Number.POSITIVE_INFINITY);
  }

  async wait(busy: Busy): Promise<HeldLease> {
    const { signal } = this.#wanted;
    const { native } = this.#engine;
    const deafen = hear(native);
    try {
      for (let last = busy; ;) {
        const found = await this.#try(last);
        if (found instanceof HeldLease) {
          // The lease has removed the request.
          this.#request?.end();
          this.#request = undefined;
          if (signal?.aborted) await found.release().catch(() => {});
          signal?.throwIfAborted();
          return found;
        }
        last = found;
        if (this.#wanted.isClosing()) throw closed(this.#of);
        const left = this.#until - performance.now();
        if (left <= 0) throw tookTooLong(this.#of, last, this.#wanted.maxWaitMs!);
        const poll = pollMs(native, countBefore(last.requests, this.#id));
        await this.#sleeper.sleep(Math.min(poll, Math.max(last.leftMs, 1), Math.max(left, 1)), signal);
      }
    } finally {
      this.#sleeper.end();
      deafen();
      await this.#request?.withdraw();
    }
  }

  /** Asks for the lease if necessary, and tries to take it. An error that may pass does not end the wait. */
  async #try(last: Busy): Promise<HeldLease | Busy> {
    const { native } = this.#engine;
    try {
      const isStored = last.requests.some(({ id }) => id === this.#id);
      if (this.#request === undefined || (this.#hasLooked && !isStored)) {
        const { whenBusy, by = null, reason = null } = this.#wanted;
        const wish = { what: whenBusy as Exclude<WhenBusy, "reject">, lease: null, by, reason };
        this.#request?.end();
        this.#request = await OwnRequest.store(native, this.#of, this.#id, wish);
        this.#hasLooked = false;
      }
      await this.#request.checkClock(last.requests);
      return await turnsOf(native).take(async () => {
        this.#wanted.signal?.throwIfAborted();
        this.#sleeper.looks();
        const found = await this.#take(this.#id);
        this.#hasLooked = true;
        return found;
      });
    } catch (error) {
      if (!isOwnError(error) || !error.retryable) throw error;
      const { signal } = this.#wanted;
      // A change during the pause ends the sleep after it.
      await delay(PAUSE, undefined, signal && { signal }).catch(() => signal?.throwIfAborted());
      return last;
    }
  }
}

function closed({ run }: RunKey): ForkpointError {
  return new ForkpointError(
    "CLOSED",
    `the store was closed while the call waited for run ${quote(run)}: nothing was run`,
  );
}

function unknownPlace({ run }: RunKey, { holder }: Busy): ForkpointError {
  const message =
    `${holder} works on run ${quote(run)} with a lease and without exclusive(), so it is not known where its work ` +
    'began, and it cannot be rolled back: pass whenBusy: "interrupt"';
  return new ForkpointError("UNSUPPORTED", message);
}

function tookTooLong({ run }: RunKey, { holder, until }: Busy, ms: number): ForkpointError {
  const message = `run ${quote(run)} was still busy after ${ms} ms (maxWaitMs): ${holder} works on it. Try again later`;
  return new ForkpointError("CONFLICT", message, { retryable: true, lease: { holder, until } });
}
