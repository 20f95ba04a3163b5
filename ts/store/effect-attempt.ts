/** One attempt of an effect: its claim, the renewal of the claim, and the end. */

import { crypto } from "../bridge/crypto.js";
import { isOvertaken, messageOf, quote } from "../bridge/errors.js";
import { deserialize } from "../bridge/serializer.js";
import type { EffectAttempt, ReadOptions } from "./effect-options.js";
import { type EffectAddress, type EffectEntry, type FoundEffect, effectCalls } from "./effect-wire.js";
import type { Engine } from "./engine.js";
import { thisProcess } from "./holder.js";
import type { HeldLease } from "./lease.js";

/** The two writes of an effect, as `forkpoint/testing` names them. */
export type EffectCall = "beginEffect" | "endEffect";

/** Runs a write of an effect, or makes it fail on purpose. */
export type Disturb = <T>(call: EffectCall, run: () => Promise<T>) => Promise<T>;

/** What effects need of the handle of a store. */
export interface Running {
  /** Set by `withFaults` of `forkpoint/testing`. */
  readonly disturb?: Disturb | undefined;
  /** The identity of the stored data: see `StoreHandle`. */
  readonly identity: unknown;
  /** Runs an operation. Its writes carry the lease. Undefined: the lease of the handle. */
  run<T>(work: (engine: Engine) => Promise<T>, lease?: HeldLease | null): Promise<T>;
}

/** The place where an effect is stored, and what is stored there. */
export interface Slot {
  branch: number;
  /** The time on the store's clock. */
  now: number;
  /** The id of the run's newest checkpoint. */
  newest: string | null;
  effect: FoundEffect["effect"];
}

const TTL_MS = 30_000;
/** The longest stored text of an error. */
const ERROR_LENGTH = 500;

export class Attempt {
  readonly #handle: Running;
  readonly #leaseOf: () => HeldLease | null | undefined;
  readonly #address: EffectAddress;
  readonly #ttlMs: number;
  readonly #remember: "results" | "errors";
  readonly #lost = new AbortController();
  readonly #signal: AbortSignal;
  #number = 0;
  #entry!: EffectEntry;
  /** The time on the store's clock at the beginning, and on the monotonic clock. */
  #began = { store: 0, here: 0 };
  #renewedAt = 0;
  #timer: NodeJS.Timeout | undefined;
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

  /** Claims the effect. Rejects with `CONFLICT` if another process was faster. */
  async begin({ now, newest, effect }: Slot, at: string | undefined): Promise<void> {
    this.#began = { store: now, here: performance.now() };
    this.#renewedAt = this.#began.here;
    this.#number = (effect?.attempt ?? 0) + 1;
    this.#entry = {
      state: "running",
      idempotencyKey: effect?.idempotencyKey ?? crypto().randomUUID(),
      holder: thisProcess(),
      until: now + this.#ttlMs,
      base: effect === null ? (at ?? newest) : effect.base,
      startedAt: now,
      endedAt: null,
      error: null,
    };
    const seen = effect === null ? undefined : { attempt: effect.attempt, savedAt: effect.savedAt };
    const fields = { effect: this.#address, seen, attempt: this.#number, entry: this.#entry, savedAt: now };
    await this.#call("beginEffect", ({ native }) => effectCalls.call(native, "begin", fields));
    this.#renewAfter(this.#ttlMs / 3);
  }

  /**
   * Runs the function and stores what it returns. Resolves to the result as a later call reads it, or to undefined if
   * another process has taken the effect over. Rejects with what the function has thrown.
   */
  async run(work: (attempt: EffectAttempt) => unknown): Promise<{ result: unknown } | undefined> {
    const { idempotencyKey } = this.#entry;
    let result: unknown;
    try {
      result = await work({ idempotencyKey, attempt: this.#number - 1, signal: this.#signal });
    } catch (error) {
      this.#stop();
      const text = messageOf(error).slice(0, ERROR_LENGTH);
      if (this.#remember === "errors") await this.#end({ state: "error", error: text }, [error]);
      // If this is not stored, the claim expires, and the effect is unknown then.
      else await this.#end({ state: "failed", error: text }, []).catch(() => {});
      throw error;
    }
    this.#stop();
    try {
      return await this.#end({ state: "done", error: null }, [result]);
    } catch (error) {
      if (isOvertaken(error)) return undefined;
      throw error;
    }
  }

  /** Stores the end of the attempt, with the result if there is one. A full queue does not refuse it. */
  #end(end: Pick<EffectEntry, "state" | "error">, results: unknown[]): Promise<{ result: unknown }> {
    const now = this.#now();
    const entry = { ...this.#entry, ...end, endedAt: now };
    const what = `the effect ${quote(this.#address.key)}`;
    return this.#call("endEffect", async ({ native, format }) => {
      const [part] = results.map((result) => format.serialize({ result }, what));
      const read = part && (deserialize(format, part.tag, part.bytes, what) as { result: unknown });
      const fields = {
        effect: this.#address,
        attempt: this.#number,
        entry,
        result: part && { name: "result", tag: part.tag },
        savedAt: now,
      };
      await effectCalls.call(native, "write", fields, part && [part.bytes]);
      return { result: read?.result };
    });
  }

  #call<T>(name: EffectCall, work: (engine: Engine) => Promise<T>): Promise<T> {
    const run = () => this.#handle.run(work, this.#leaseOf());
    const { disturb } = this.#handle;
    return disturb === undefined ? run() : disturb(name, run);
  }

  /** The time on the store's clock, from the monotonic clock. */
  #now(): number {
    return this.#began.store + Math.round(performance.now() - this.#began.here);
  }

  #stop(): void {
    this.#over = true;
    clearTimeout(this.#timer);
  }

  #renewAfter(ms: number): void {
    this.#timer = setTimeout(() => void this.#renew(), Math.max(1, ms)).unref();
  }

  /** Renews the claim. After two thirds of `ttlMs` without success, the effect should stop. */
  async #renew(): Promise<void> {
    const began = performance.now();
    const now = this.#now();
    const entry = { ...this.#entry, until: now + this.#ttlMs };
    const fields = { effect: this.#address, attempt: this.#number, entry, result: undefined, savedAt: now };
    try {
      await this.#handle.run(({ native }) => effectCalls.call(native, "write", fields), this.#leaseOf());
      this.#renewedAt = began;
    } catch (error) {
      const age = performance.now() - this.#renewedAt;
      if (!this.#over && (isOvertaken(error) || age >= (this.#ttlMs * 2) / 3)) this.#lost.abort(error);
    }
    if (!this.#over && !this.#lost.signal.aborted) this.#renewAfter(this.#ttlMs / 3);
  }
}
