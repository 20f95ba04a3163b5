/**
 * Effects: actions of a run on other systems, such as a payment or a mail. The result of an effect is stored with the
 * run. Later calls get the stored result without running anything.
 *
 * A process claims an effect before it runs, and renews the claim until it ends. The claim has the idempotency key. If
 * the process ends before it stores the result, the effect may or may not have happened. `onUnknown` then decides.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout as delay } from "node:timers/promises";
import { ForkpointError, isOvertaken, quote, show, typeError } from "../bridge/errors.js";
import type { MaybePromise } from "../bridge/maybe-promise.js";
import type { RunKey } from "../bridge/native.js";
import type { Scope } from "../bridge/scope.js";
import { deserialize } from "../bridge/serializer.js";
import { Attempt, type Ended, type Running, isLeft } from "./effect-attempt.js";
import {
  type Effect,
  type EffectAttempt,
  type EffectOptions,
  type ReadOptions,
  type UnknownEffect,
  effectOptions,
} from "./effect-options.js";
import { type Awaited, type EffectPlace, type Slot, findSlot } from "./effect-places.js";
import { type FoundEffect, type StoredEffect, effectCalls } from "./effect-wire.js";
import type { HeldLease } from "./lease.js";
import { callback, readRecord } from "./options.js";
import type { RunEffects } from "./run-effects.js";

/** The minimum and maximum pause before a process looks at another process's effect again, in ms. */
const [LEAST_PAUSE, MOST_PAUSE] = [20, 500];

/** A call that runs in this process. */
interface Call {
  /** The checkpoint that the call works from. */
  at: string | undefined;
  /** The effect that the call runs or waits for. Undefined: not known yet. */
  effect: Awaited | undefined;
  /** Resolves when the call has ended. */
  ended: Promise<void>;
}

/** The calls in this process, by the address of their effect. */
const inProcess = new Map<string, Call>();

/** The addresses of the effects whose functions are running in the current async context. */
const around = new AsyncLocalStorage<ReadonlySet<string>>();

/** The store's handle. */
type Host = Running & { scopeOf(of: RunKey): Scope | undefined };

/** The effects of the runs of a store. `leaseOf` returns the lease that the writes carry. */
export class Effects {
  readonly #handle: Host;
  readonly #leaseOf: (() => HeldLease | undefined) | undefined;

  constructor(handle: Host, leaseOf?: () => HeldLease | undefined) {
    this.#handle = handle;
    this.#leaseOf = leaseOf;
  }

  /** Runs an effect, or returns its stored result. `placeOf` returns the place of the call. */
  async once<T>(
    placeOf: () => EffectPlace,
    key: string,
    run: (attempt: EffectAttempt) => MaybePromise<T>,
    options?: EffectOptions<T>,
  ): Promise<T> {
    if (typeof key !== "string") throw typeError(`key must be a string, but is ${show(key)}`);
    const work = callback<typeof run>(run, "the function of an effect");
    const read = readRecord(options, "options", effectOptions);
    let place = placeOf();
    if (place.ready !== undefined) {
      await place.ready;
      // Data stored during the wait belongs to the place.
      place = placeOf();
    }
    // A store in memory has no path: the store object is its identity.
    const { identity } = this.#handle;
    const address = JSON.stringify([typeof identity === "string" ? identity : numberOf(identity), place.of, key]);
    const outer = around.getStore() ?? new Set();
    const call: Call = { at: place.at, effect: undefined, ended: Promise.resolve() };
    for (let other = inProcess.get(address); other !== undefined; other = inProcess.get(address)) {
      if (outer.has(address)) throw asksForItself(key);
      await Promise.race([other.ended, abortOf(read.signal)]);
      read.signal?.throwIfAborted();
      if (other.at === call.at) call.effect = other.effect;
    }
    const inside = new Set(outer).add(address);
    const mine = this.#once(place, key, (attempt) => around.run(inside, () => work(attempt)), read, call);
    call.ended = mine.then(
      () => {},
      () => {},
    );
    inProcess.set(address, call);
    try {
      return (await mine) as T;
    } finally {
      inProcess.delete(address);
    }
  }

  /** Lists the effects of a run, the first begun first. */
  async list(of: RunKey): Promise<Effect[]> {
    const { now, effects } = await this.#handle.run(({ native }) => effectCalls.call(native, "list", { of }));
    // The engine lists the last written effect first. The sort keeps the order of effects that began at the same time.
    return effects
      .toReversed()
      .map((effect) => shownEffect(effect, now))
      .toSorted((a, b) => a.startedAt - b.startedAt);
  }

  /** Forgets the effects of a run with this key, or all of them. Returns their number. Rejects for a running effect. */
  async forget(of: RunKey, key: string | undefined, earlier?: RunEffects): Promise<number> {
    return this.#handle.run(async ({ native }) => {
      for (;;) {
        const all = await effectCalls.call(native, "list", { of });
        const found = all.effects.filter((effect) => key === undefined || effect.key === key);
        const running = found.find((effect) => isRunning(effect, all.now));
        if (running !== undefined) throw runningError(running, of.run);
        if (found.length === 0) return 0;
        const effects = found.map((effect) => ({ of, key: effect.key, branch: effect.branch }));
        try {
          await effectCalls.call(native, "remove", { effects, tokens: found.map(({ token }) => token) });
          earlier?.forget(key);
          return effects.length;
        } catch (error) {
          // An effect was begun or forgotten after the read.
          if (!isOvertaken(error)) throw error;
        }
      }
    }, this.#lease());
  }

  #lease(): HeldLease | null | undefined {
    return this.#leaseOf?.();
  }

  async #once(
    place: EffectPlace,
    key: string,
    work: (attempt: EffectAttempt) => unknown,
    options: ReadOptions,
    call: Call,
  ): Promise<unknown> {
    const { effectClass = "write", signal } = options;
    const { onUnknown = effectClass === "external" ? "fail" : "retry" } = options;
    let pause = LEAST_PAUSE;
    let claim: Claim | undefined;
    /** The ended attempt of this call, if its result is not stored. */
    let mine: Ended | undefined;
    for (;;) {
      signal?.throwIfAborted();
      const slot = await this.#handle.run(({ native }) => findSlot(native, place, key, call.effect));
      const { branch, effect } = slot;
      // Do not store the result: it would outlive the run, and a later run with the same name would use it.
      if (mine === undefined && (isOver(place, slot) || (await this.#isOthers(place, effect))))
        throw deletedError(key, place.of.run);
      call.effect = { branch, idempotencyKey: effect?.idempotencyKey };
      // The effect was forgotten during the attempt, and another process may have begun a new one.
      if (mine !== undefined && effect?.idempotencyKey !== mine.idempotencyKey) return mine.result;
      const address = { of: place.of, key, branch };
      if (effect?.state === "done" || effect?.state === "error") {
        place.earlier?.note(address, effect.idempotencyKey);
        return this.#stored(effect);
      }
      claim = claimOf(effect, slot.now, claim);
      if (claim !== undefined) {
        // If the signal aborts, the next round throws its reason.
        const left = Math.max(claim.end - performance.now(), 1);
        await delay(Math.min(pause, left), undefined, { signal }).catch(() => {});
        pause = Math.min(pause * 2, MOST_PAUSE);
        continue;
      }
      let run = work;
      if (mine !== undefined) {
        // Another process took the effect over while this one slept, but has no result.
        const { result } = mine;
        run = () => result;
      } else if (effect?.state === "running") {
        const decision = await decisionOf(onUnknown, unknownOf(effect, place.of.run));
        if (decision === "fail") throw unknownError(effect, place.of.run);
        if (decision !== "retry") run = () => decision.result;
      }
      const scope = this.#handle.scopeOf(place.of);
      scope?.throwIfStopped();
      scope?.activity.begin();
      try {
        const attempt = new Attempt(this.#handle, () => this.#lease(), address, options);
        try {
          call.effect.idempotencyKey = await attempt.begin(slot, place);
        } catch (error) {
          // Another process was faster.
          if (isOvertaken(error)) continue;
          throw error;
        }
        if (place.earlier && !(await attempt.belongs(place.earlier))) throw deletedError(key, place.of.run);
        const ended = await attempt.run(run);
        if (ended.stored) return ended.result;
        mine = ended;
      } finally {
        scope?.activity.end();
      }
    }
  }

  /** True if a found effect belongs to another run of the same name, because the run of the place was deleted. */
  async #isOthers({ earlier }: EffectPlace, effect: StoredEffect | null): Promise<boolean> {
    if (effect === null || earlier === undefined) return false;
    return this.#handle.run(async ({ native }) => !(await earlier.areStored(native)));
  }

  /** Returns the stored result of an effect. Rejects with the stored error if there is one instead. */
  async #stored(effect: NonNullable<FoundEffect["effect"]>): Promise<unknown> {
    return this.#handle.run(async ({ format }) => {
      const [part] = effect.parts;
      const what = `the result of the effect ${quote(effect.key)}`;
      if (part === undefined) throw new ForkpointError("CORRUPT", `${what} is missing: restore a backup`);
      const { result } = deserialize(format, part.tag, part.bytes, what) as { result?: unknown };
      if (effect.state === "error") throw result;
      return result;
    });
  }
}

/** Another process's claim that a call waits for. */
interface Claim {
  token: number;
  savedAt: number;
  until: number;
  /** The end of the claim on the monotonic clock, because the store's clock may be set during the wait. */
  end: number;
}

/** Returns the claim of the process that runs the effect. `last` is the claim that the call waited for. */
function claimOf(effect: StoredEffect | null, now: number, last: Claim | undefined): Claim | undefined {
  if (effect?.state !== "running" || isLeft(effect)) return undefined;
  const { token, savedAt, until } = effect;
  const isSame = token === last?.token && savedAt === last.savedAt && until === last.until;
  if (isSame) return performance.now() < last.end ? last : undefined;
  const left = Math.min(until - now, until - savedAt);
  return isRunning(effect, now) ? { token, savedAt, until, end: performance.now() + left } : undefined;
}

/** Returns true if a process runs the effect. A claim from the future is invalid, because the clock was set back. */
function isRunning(effect: StoredEffect, now: number): boolean {
  const { state, until, savedAt } = effect;
  const isValid = now < until && now + (until - savedAt) >= savedAt;
  return state === "running" && isValid && !isLeft(effect);
}

function unknownOf(effect: StoredEffect, run: string): UnknownEffect {
  const { key, idempotencyKey, attempts, startedAt, holder } = effect;
  return { key, run, idempotencyKey, attempts, startedAt, holder };
}

async function decisionOf(
  onUnknown: "retry" | "fail" | ((effect: UnknownEffect) => unknown),
  effect: UnknownEffect,
): Promise<"retry" | "fail" | { result?: unknown }> {
  const decision = typeof onUnknown === "function" ? await onUnknown(effect) : onUnknown;
  if (decision === "retry" || decision === "fail") return decision;
  if (typeof decision === "object" && decision !== null && "result" in decision) return decision;
  throw typeError(`onUnknown must return "retry", "fail" or { result }, but returned ${show(decision)}`);
}

function runningError({ key, holder }: StoredEffect, run: string): ForkpointError {
  const message =
    `the effect ${quote(key)} of run ${quote(run)} runs in ${holder}, so nothing was forgotten: a further call would run it a ` +
    "second time. Wait until it has ended";
  return new ForkpointError("CONFLICT", message);
}

/** True if the run was deleted since it began. It may have been begun again. */
function isOver({ stored, incarnation }: EffectPlace, slot: Slot): boolean {
  if (incarnation !== undefined) return slot.incarnation !== incarnation;
  return stored === true && slot.newest === null && slot.incarnation === null;
}

function deletedError(key: string, run: string): ForkpointError {
  const message = `run ${quote(run)} was deleted while it ran, so its effect ${quote(key)} did not run: start the run again`;
  return new ForkpointError("CONFLICT", message);
}

function asksForItself(key: string): ForkpointError {
  const message = `the effect ${quote(key)} asks for itself while it runs, and would wait forever: use another key inside`;
  return new ForkpointError("INVALID_ARGUMENT", message);
}

function unknownError({ key, holder, startedAt }: StoredEffect, run: string): ForkpointError {
  const message =
    `the effect ${quote(key)} of run ${quote(run)} may have happened: ${holder} began it at ` +
    `${new Date(startedAt).toISOString()} and ended before it stored the result. Ask the other system, then pass onUnknown: ` +
    '"retry" runs it again, and a function that returns { result } stores what it was';
  return new ForkpointError("CONFLICT", message, { outcome: "unknown" });
}

/** Returns an effect as users see it. `now` is the time on the store's clock. */
export function shownEffect(effect: StoredEffect, now: number): Effect {
  const { key, idempotencyKey, attempts, holder, startedAt, endedAt, error, base: checkpointId } = effect;
  const state = effect.state === "running" && !isRunning(effect, now) ? "unknown" : effect.state;
  return { key, state, idempotencyKey, attempts, holder, startedAt, endedAt, error, checkpointId };
}

/** Resolves when the signal aborts. */
function abortOf(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => signal?.addEventListener("abort", () => resolve(), { once: true }));
}

const numbers = new WeakMap<object, number>();
let lastNumber = 0;

/** A number for the identity of a store in memory. */
function numberOf(identity: unknown): number {
  const known = numbers.get(identity as object) ?? ++lastNumber;
  numbers.set(identity as object, known);
  return known;
}
