/** One attempt of an effect: its claim, the renewal of the claim, and the end. */

import { crypto } from "../bridge/crypto.js";
import { isOvertaken, isOwnError, messageOf, quote } from "../bridge/errors.js";
import { type Serialized, deserialize } from "../bridge/serializer.js";
import type { EffectAttempt, ReadOptions } from "./effect-options.js";
import type { EffectPlace, Slot } from "./effect-places.js";
import { type EffectAddress, type EffectEntry, type StoredEffect, effectCalls } from "./effect-wire.js";
import type { Engine } from "./engine.js";
import type { Exact } from "../bridge/wire.js";
import { hasEnded, thisProcess } from "../bridge/holder.js";
import { type HeldLease, storeClock } from "./lease.js";
import type { RunEffects } from "./run-effects.js";

/** The two writes of an effect, as `forkpoint/testing` names them. */
export type EffectCall = "beginEffect" | "endEffect";

/** Runs a write of an effect, or makes it fail on purpose. */
export type Disturb = <T>(call: EffectCall, run: () => Promise<T>) => Promise<T>;

/** The parts of a store's handle that effects use. */
export interface Running {
  /** Set by `withFaults` of `forkpoint/testing`. */
  readonly disturb?: Disturb | undefined;
  /** The identity of the stored data: see `StoreHandle`. */
  readonly identity: unknown;
  /** Runs an operation whose writes carry the lease. Undefined: the lease of the handle. */
  run<T>(work: (engine: Engine) => Promise<T>, lease?: HeldLease | null): Promise<T>;
}

/** An attempt after its function has returned. */
export interface Ended {
  /** The result, as later calls read it. */
  result: unknown;
  idempotencyKey: string;
  /** False if another process took the effect over, or if the effect was forgotten during the attempt. */
  stored: boolean;
}

const TTL_MS = 30_000;
/** The maximum length of a stored error text. */
const ERROR_LENGTH = 500;

export class Attempt {
  readonly #handle: Running;
  readonly #leaseOf: () => HeldLease | null | undefined;
  readonly #address: EffectAddress;
  readonly #ttlMs: number;
  readonly #remember: "results" | "errors";
  readonly #lost = new AbortController();
  readonly #signal: AbortSignal;
  #token = 0;
  /** The position of the effect's lineage, if the run has to know it. */
  #position: Exact | null = null;
  #entry!: EffectEntry;
  /** The time at the beginning, on the store's clock and on the monotonic clock. */
  #began = { store: 0, here: 0 };
  #renewedAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #renewing: Promise<void> | undefined;
  #over = false;

  constructor(
    handle: Running,
    leaseOf: () => HeldLease | null | undefined,
    address: EffectAddress,
    { ttlMs = TTL_MS, remember = "results", signal }: ReadOptions,
  ) {
    this.#handle = handle;
    this.#leaseOf = leaseOf;
    this.#address = address;
    this.#ttlMs = ttlMs;
    this.#remember = remember;
    this.#signal = signal === undefined ? this.#lost.signal : AbortSignal.any([signal, this.#lost.signal]);
  }

  /** Claims the effect. Resolves to its idempotency key. Rejects with `CONFLICT` if another process was faster. */
  async begin({ now, newest, incarnation, effect }: Slot, { at, from, joins, earlier }: EffectPlace): Promise<string> {
    this.#began = { store: now, here: performance.now() };
    this.#renewedAt = this.#began.here;
    this.#token = tokenAfter(effect?.token, now);
    const begun = effect ?? {
      idempotencyKey: crypto().randomUUID(),
      attempts: 0,
      base: at ?? newest,
      // A run without a requested branch has a single line of checkpoints, even if its checkpoint was edited before the
      // effect began. Every later checkpoint is therefore after the effect.
      ...(joins === "run" ? { from: newest, newest: null } : { from: from ?? null, newest }),
    };
    this.#entry = {
      state: "running",
      idempotencyKey: begun.idempotencyKey,
      attempts: begun.attempts + 1,
      holder: thisProcess(),
      until: now + this.#ttlMs,
      base: begun.base,
      from: begun.from,
      newest: begun.newest,
      startedAt: now,
      endedAt: null,
      error: null,
    };
    const seen = effect === null ? undefined : { token: effect.token, savedAt: effect.savedAt };
    const [token, entry] = [this.#token, this.#entry];
    // If the run is deleted first, nothing is stored.
    const must = { incarnation: incarnation ?? undefined };
    const fields = { effect: this.#address, seen, token, entry, result: undefined, savedAt: now, ...must };
    const learn = earlier && ((position: Exact | null) => void (this.#position = position));
    await this.#call("beginEffect", ({ native }) => effectCalls.call(native, "begin", fields, [], learn));
    this.#renewAfter(this.#ttlMs / 3);
    return begun.idempotencyKey;
  }

  /** Notes the effect as one of the run. If the run was deleted before, withdraws the claim and returns false. */
  async belongs(earlier: RunEffects): Promise<boolean> {
    return this.#handle.run(async ({ native }) => {
      if (await earlier.areBefore(native, this.#position)) {
        earlier.note(this.#address, this.#entry.idempotencyKey, this.#position);
        return true;
      }
      await this.#stop();
      const fields = { effects: [this.#address], tokens: [this.#token] };
      await effectCalls.call(native, "remove", fields).catch((error: unknown) => {
        // If the claim is gone, there is nothing to withdraw.
        if (!isOvertaken(error)) throw error;
      });
      return false;
    }, this.#leaseOf());
  }

  /**
   * Runs the function and stores its return value. Resolves to the result, as later calls read it. Rejects with the
   * function's error.
   */
  async run(work: (attempt: EffectAttempt) => unknown): Promise<Ended> {
    const { idempotencyKey, attempts } = this.#entry;
    let result: unknown;
    try {
      result = await work({ idempotencyKey, attempt: attempts - 1, signal: this.#signal });
    } catch (error) {
      const text = messageOf(error).slice(0, ERROR_LENGTH);
      if (this.#remember === "errors") await this.#end({ state: "error", error: text }, [error]);
      // If this write fails, the claim expires. The effect is then unknown.
      else await this.#end({ state: "failed", error: text }, []).catch(() => {});
      throw error;
    }
    return this.#end({ state: "done", error: null }, [result]);
  }

  /**
   * Stores the end of the attempt, with the result if there is one. A full queue does not reject this write. If the
   * result cannot be serialized, the effect becomes unknown: it may have happened.
   */
  #end(end: Pick<EffectEntry, "state" | "error">, results: unknown[]): Promise<Ended> {
    const stopped = this.#stop();
    const what = `the effect ${quote(this.#address.key)}`;
    return this.#call("endEffect", async ({ native, format }) => {
      let part: Serialized | undefined;
      let read: { result: unknown } | undefined;
      let refused: { error: unknown } | undefined;
      try {
        // Serialize before the first await, because the program may change the result later.
        [part] = results.map((result) => format.serialize({ result }, what));
        read = part && (deserialize(format, part.tag, part.bytes, what) as { result: unknown });
      } catch (error) {
        refused = { error };
      }
      await stopped;
      const now = this.#now();
      const write = (entry: EffectEntry) => {
        const result = part && { name: "result", tag: part.tag };
        const fields = { effect: this.#address, token: this.#token, entry, result, savedAt: now };
        return effectCalls.call(native, "write", fields, part && [part.bytes]);
      };
      if (refused !== undefined) {
        part = undefined;
        // If this write fails, the claim expires.
        await write({ ...this.#entry, until: now }).catch(() => {});
        throw refused.error;
      }
      const ended = { result: read?.result, idempotencyKey: this.#entry.idempotencyKey };
      try {
        await write({ ...this.#entry, ...end, endedAt: now });
        return { ...ended, stored: true };
      } catch (error) {
        if (end.state === "done" && isOvertaken(error)) return { ...ended, stored: false };
        throw error;
      }
    });
  }

  async #call<T>(name: EffectCall, work: (engine: Engine) => Promise<T>): Promise<T> {
    const run = () => this.#handle.run(work, this.#leaseOf());
    const { disturb } = this.#handle;
    try {
      return await (disturb === undefined ? run() : disturb(name, run));
    } catch (error) {
      if (!isOvertaken(error)) leave(nameOf({ ...this.#entry, token: this.#token }));
      throw error;
    }
  }

  /** The time on the store's clock, computed with the monotonic clock. */
  #now(): number {
    return this.#began.store + Math.round(performance.now() - this.#began.here);
  }

  /** Stops the renewals. A renewal in progress ends before the end of the attempt is stored. */
  #stop(): Promise<void> | undefined {
    this.#over = true;
    clearTimeout(this.#timer);
    return this.#renewing;
  }

  #renewAfter(ms: number): void {
    const renew = () => void (this.#renewing = this.#renew());
    this.#timer = setTimeout(renew, Math.max(1, ms)).unref();
  }

  /**
   * Renews the claim by the current time of the store's clock, which may have been set. Without success for two thirds
   * of `ttlMs`, the effect should stop.
   */
  async #renew(): Promise<void> {
    const began = performance.now();
    try {
      await this.#handle.run(async ({ native }) => {
        const now = await storeClock(native);
        const entry = { ...this.#entry, until: now + this.#ttlMs };
        const fields = { effect: this.#address, token: this.#token, entry, result: undefined, savedAt: now };
        await effectCalls.call(native, "write", fields);
      }, this.#leaseOf());
      this.#renewedAt = began;
    } catch (error) {
      const age = performance.now() - this.#renewedAt;
      if (!this.#over && (isFinal(error) || age >= (this.#ttlMs * 2) / 3)) this.#lost.abort(error);
    }
    if (!this.#over && !this.#lost.signal.aborted) this.#renewAfter(this.#ttlMs / 3);
  }
}

/** Finished attempts of this process whose stored claim may have no end. */
const left = new Set<string>();
const MOST_LEFT = 1_000;

function leave(attempt: string): void {
  left.add(attempt);
  if (left.size > MOST_LEFT) left.delete(left.keys().next().value!);
}

function nameOf({ idempotencyKey, token }: Pick<StoredEffect, "idempotencyKey" | "token">): string {
  return `${idempotencyKey} ${token}`;
}

/** Returns true if no process works on a running effect any more, whatever its claim says. */
export function isLeft(effect: StoredEffect): boolean {
  return hasEnded(effect.holder) || left.has(nameOf(effect));
}

let lastToken = 0;

/**
 * A token that is greater than the previous one and than all tokens of this process. If an effect was forgotten and
 * begun again, the time and the random number make its token differ.
 */
export function tokenAfter(token: number | undefined, now: number): number {
  lastToken = Math.max((token ?? 0) + 1, lastToken + 1, now * 1024 + Math.floor(Math.random() * 1024));
  return lastToken;
}

/** True if later renewals fail too: the effect was taken over or forgotten, the lease is lost, or the store closed. */
function isFinal(error: unknown): boolean {
  return isOwnError(error) && (error.code === "CONFLICT" || error.code === "CLOSED");
}
