/** Reads the options of a `SessionStore`, and its clock. */

import { ForkpointError, isArray, rangeError, show, textOf, typeError } from "../../bridge/errors.js";
import {
  atMost,
  callback,
  flag,
  splitOptions,
  text,
  type OptionParser,
  type StoreOptions,
} from "../../store/options.js";
import { pageOptions } from "../../store/page.js";

export interface SessionStoreOptions extends StoreOptions {
  /**
   * How long a session lives after its last write, and a checkpoint after its save, in ms. Expired ones are not
   * returned, and are removed in the background. Default: no limit.
   */
  ttlMs?: number | null;
  /** The same as `ttlMs`, in seconds, as in the framework's stores. Set only one of the two. */
  ttl?: number | null;
  /**
   * The clock: returns the current time in ms since the epoch. Default: `Date.now`. Tests can set their own. A store
   * from `openStore` with `ttlMs` also removes checkpoints by the machine's clock.
   */
  now?: () => number;
}

/** The clock of a store, and the time to live of its sessions. */
export class Clock {
  readonly #now: () => number;
  readonly #ttlMs: () => number | null;

  constructor(now: () => number, ttlMs: () => number | null) {
    this.#now = now;
    this.#ttlMs = ttlMs;
  }

  /** True if the machine's clock is used, and not a clock of the user. */
  get isMachines(): boolean {
    return this.#now === Date.now;
  }

  /** The current time, in ms since the epoch, as a whole number. */
  now(): number {
    const now = this.#read();
    if (typeof now !== "number" || !Number.isFinite(now) || Math.abs(now) > Number.MAX_SAFE_INTEGER) {
      throw typeError(`option "now" must return a number of milliseconds, but returned ${show(now)}`);
    }
    return Math.floor(now);
  }

  #read(): unknown {
    try {
      return this.#now();
    } catch (error) {
      throw new ForkpointError("INVALID_ARGUMENT", `option "now" threw ${textOf(error)}`, { cause: error });
    }
  }

  get ttlMs(): number | null {
    return this.#ttlMs();
  }

  /** The earliest last write of a live session. Without a time to live, every session is live. */
  aliveSince(): number {
    const ttlMs = this.ttlMs;
    return ttlMs === null ? Number.MIN_SAFE_INTEGER : this.now() - ttlMs + 1;
  }
}

const ttlSeconds: OptionParser<number | null> = (value, name) => {
  if (value === null || value === 0 || value === Number.POSITIVE_INFINITY) return null;
  if (typeof value !== "number") throw typeError(`${name} must be a number of seconds, or null, but is ${show(value)}`);
  const ms = Math.round(value * 1000);
  if (!Number.isSafeInteger(ms) || ms <= 0) {
    throw rangeError(`${name} must be a positive number of seconds, but is ${value}`);
  }
  return ms;
};

const ownOptions = { now: callback<() => number>, ttl: ttlSeconds, ttlMs: atMost("milliseconds") };

/** Splits the options into those of sessions and those of the store. `ttlMs` is undefined without `ttlMs` and `ttl`. */
export function readSessionOptions(options: unknown) {
  const { own, others } = splitOptions(options, ownOptions);
  const { now = Date.now, ttl, ttlMs } = own;
  if (ttl !== undefined && ttlMs !== undefined) {
    throw typeError('options "ttl" and "ttlMs" are the same in seconds and in milliseconds: pass one of them');
  }
  return { now, ttlMs: ttl === undefined ? ttlMs : ttl, others };
}

/** Checks a number of steps, messages or milliseconds: a non-negative integer. */
export function count(value: unknown, name: string): number {
  if (typeof value !== "number") throw typeError(`${name} must be a number, but is ${show(value)}`);
  if (!Number.isSafeInteger(value) || value < 0) {
    throw rangeError(`${name} must be a whole number from 0 to 2^53 - 1, but is ${value}`);
  }
  return value;
}

/** Checks a number that need not be whole. */
export function finite(value: unknown, name: string): number {
  if (typeof value !== "number") throw typeError(`${name} must be a number, but is ${show(value)}`);
  if (!Number.isFinite(value)) throw rangeError(`${name} must be a finite number, but is ${value}`);
  return value;
}

/** Parses a number of results. Infinity means no limit. */
const limit: OptionParser<number | undefined> = (value, name) =>
  value === Number.POSITIVE_INFINITY ? undefined : count(value, name);

const texts: OptionParser<string[]> = (value, name) =>
  isArray(value) ? value.map((one, at) => text(one, `${name}[${at}]`)) : [text(value, name)];

export const messageOptions = { offset: count, limit, includeThinking: flag };

export const checkpointListOptions = {
  offset: count,
  limit,
  cursor: (value: unknown, name: string) => (value === null ? undefined : text(value, name)),
};

export const sessionListOptions = { ...pageOptions, status: texts, agentType: texts };
