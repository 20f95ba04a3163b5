/** The options of effects, and their public types. */

import type { MaybePromise } from "../bridge/maybe-promise.js";
import { callback, oneOf, signalOption, whole, type Parsed } from "./options.js";

export type { Effect } from "./effect.js";

/** The argument of an effect's function. */
export interface EffectAttempt {
  /**
   * Pass this key to the other system, which can then recognize a repetition. It is the same in all attempts and
   * processes, differs between keys, runs and forks, and contains no id.
   */
  readonly idempotencyKey: string;
  /** The number of this attempt. 0 for the first attempt. */
  readonly attempt: number;
  /**
   * Aborts if the signal of the options aborts, or if the claim is lost because this process slept or could not renew
   * it in time. Another process may then begin the effect.
   */
  readonly signal: AbortSignal;
}

/** An effect that may have happened: its process ended before it stored the result. */
export interface UnknownEffect {
  key: string;
  /** The id of the run, thread or session. */
  run: string;
  idempotencyKey: string;
  /** The number of attempts so far. */
  attempts: number;
  /** When the last attempt began, in ms since the epoch. */
  startedAt: number;
  /** The process that began it. */
  holder: string;
}

/** The decision on an effect that may have happened. */
export type UnknownDecision<T> =
  /** Runs the function again, with the same idempotency key. */
  | "retry"
  /** Rejects with `CONFLICT`. The next call asks again. */
  | "fail"
  /** The effect has happened. Stores this result. */
  | { result: T };

/** The options of an effect. */
export interface EffectOptions<T = unknown> {
  /**
   * Decides on an effect that may have happened: its process ended before it stored the result. Default: `"retry"`.
   * With `effectClass: "external"`: `"fail"`.
   * @example
   * ```ts
   * await once(run, "charge", charge, {
   *   onUnknown: async ({ idempotencyKey }) => {
   *     const found = await payments.find(idempotencyKey);
   *     return found === undefined ? "retry" : { result: found };
   *   },
   * });
   * ```
   */
  onUnknown?: "retry" | "fail" | ((effect: UnknownEffect) => MaybePromise<UnknownDecision<T>>);
  /**
   * `"write"`: the other system recognizes a repetition by the idempotency key. `"external"`: it does not. Default:
   * `"write"`.
   */
  effectClass?: "write" | "external";
  /**
   * `"results"`: if the function throws, the next call runs it again. `"errors"`: the error is stored too, and the next
   * call rejects with it. Default: `"results"`.
   */
  remember?: "results" | "errors";
  /**
   * How long the claim of an effect stays valid without a renewal, in ms, at least 100. It is renewed every third of
   * this time. After a crash, other machines wait this long. Default: 30,000.
   */
  ttlMs?: number;
  /** Aborts the wait for another process, and aborts the signal of the function. */
  signal?: AbortSignal;
}

const decide = oneOf("retry", "fail");

/** The parsers of {@link EffectOptions}. */
export const effectOptions = {
  onUnknown: (value: unknown, name: string) =>
    typeof value === "function" ? callback<(effect: UnknownEffect) => unknown>(value, name) : decide(value, name),
  effectClass: oneOf("write", "external"),
  remember: oneOf("results", "errors"),
  ttlMs: whole(100, 2 ** 31 - 1, "milliseconds"),
  signal: signalOption,
};

export type ReadOptions = Parsed<typeof effectOptions>;
