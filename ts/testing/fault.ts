/** A fault, checked. */

import { ForkpointError, codes, rangeError, show, typeError } from "../bridge/errors.js";
import { type OptionParser, flag, oneOf, readRecord, text, whole } from "../store/options.js";
import type { ErrorCode } from "../bridge/forkpoint-error.js";

/** The names of an object's methods that return a promise or an asynchronous iterator. */
export type AsyncMethod<T> = {
  [K in keyof T]-?: NonNullable<T[K]> extends (...args: never[]) => PromiseLike<unknown> | AsyncIterable<unknown>
    ? K
    : never;
}[keyof T] &
  string;

/** The calls that a fault applies to. */
export interface FaultyCalls<Method extends string = string> {
  /** The method or methods. Calls of all these methods share one count. */
  on: Method | readonly Method[];
  /** The numbers of the calls, from 1. Default: every call. Calls between the store's own methods do not count. */
  nth?: number | readonly number[];
}

/** The error of a call that fails on purpose. */
export interface FaultError {
  /** The code of the {@link ForkpointError}. */
  code: ErrorCode;
  /** The error's message. Default: a sentence that names the call. */
  message?: string;
  /** Default: true for `BUSY` and `UNAVAILABLE`. */
  retryable?: boolean;
  /** Default: `"unknown"` if the fault has `when: "after"`. */
  outcome?: "unknown";
}

/**
 * A rule of {@link withFaults}: the calls, and their fault.
 *
 * - `reject`: the calls reject with this error. With `when: "before"`, the default, the store does nothing. With
 *   `when: "after"`, the store carries out the call, and only its caller gets an error.
 * - `delayMs`: the calls settle at least this many ms later. They begin immediately.
 * - `kill`: the process ends with SIGKILL. With `when: "before"`, the default, the call does not begin. With
 *   `when: "after"`, the call has succeeded.
 */
export type Fault<Method extends string = string> = FaultyCalls<Method> &
  (
    | { reject: ErrorCode | FaultError | Error; when?: "before" | "after"; delayMs?: never; kill?: never }
    | { delayMs: number; when?: never; reject?: never; kill?: never }
    | { kill: true; when?: "before" | "after"; reject?: never; delayMs?: never }
  );

export interface FaultRule {
  on: readonly string[];
  /** The numbers of the calls, counted from 1. Undefined means every call. */
  nth: readonly number[] | undefined;
  when: "before" | "after";
  /** Makes the error with which the calls reject. */
  error?: (place: string) => Error;
  delayMs?: number;
  kill?: boolean;
}

const LONGEST_DELAY_MS = 2 ** 31 - 1;

const yes: OptionParser<true> = (value, name) => {
  if (value !== true) throw typeError(`${name} must be true, but is ${show(value)}`);
  return value;
};

const rejection = {
  code: oneOf(...(Object.keys(codes) as ErrorCode[])),
  message: text,
  retryable: flag,
  outcome: oneOf("unknown"),
} satisfies Record<keyof FaultError, OptionParser<unknown>>;

function reject(value: unknown, name: string): Error | FaultError {
  if (value instanceof Error) return value;
  if (typeof value !== "object") return { code: rejection.code(value, name) };
  const { code, ...options } = readRecord(value, name, rejection);
  if (code === undefined) throw typeError(`${name} must have a code, such as "BUSY"`);
  return { code, ...options };
}

export const methods: OptionParser<readonly string[]> = (value, name) => {
  const names: unknown[] = Array.isArray(value) ? value : [value];
  if (names.length === 0) throw typeError(`${name} must name at least one method`);
  return names.map((one) => text(one, name));
};

const number = whole(1, 2 ** 31 - 1, "calls");

function numbers(value: unknown, name: string): readonly number[] {
  if (!Array.isArray(value)) return [number(value, name)];
  if (value.length === 0) throw rangeError(`${name} must contain at least one number`);
  return value.map((one) => number(one, name));
}

const actions = { reject, delayMs: whole(0, LONGEST_DELAY_MS, "milliseconds"), kill: yes };

const fields = { on: methods, nth: numbers, when: oneOf("before", "after"), ...actions };

export function readFaults(faults: unknown): FaultRule[] {
  if (!Array.isArray(faults)) throw typeError(`faults must be an array, but is ${show(faults)}`);
  return faults.map((fault, at) => readFault(fault as Fault, `fault ${at + 1}`));
}

function readFault(fault: Fault, what: string): FaultRule {
  const read = readRecord(fault, what, fields);
  const given = Object.keys(actions).filter((action) => Object.hasOwn(read, action));
  if (given.length !== 1) {
    throw typeError(`${what} must have exactly one of ${Object.keys(actions).join(", ")}, but has ${given.length}`);
  }
  const { on, nth, when = "before", delayMs } = read;
  if (on === undefined) throw typeError(`${what} must name one or more methods in "on"`);
  if (delayMs !== undefined && read.when !== undefined) {
    throw typeError(
      `${what} has delayMs, which takes no "when": the call begins immediately, and its result comes later`,
    );
  }
  const rule = { on, nth, when };
  if (read.kill !== undefined) return { ...rule, kill: true };
  return delayMs === undefined ? { ...rule, error: errorMaker(read.reject!, when) } : { ...rule, delayMs };
}

function errorMaker(given: Error | FaultError, when: FaultRule["when"]): (place: string) => Error {
  if (given instanceof Error) return () => given;
  const { code, message, ...options } = given;
  // The call was carried out, so its caller must not conclude that nothing was written.
  const outcome = when === "after" ? { outcome: "unknown" as const } : {};
  return (place) =>
    new ForkpointError(code, message ?? `${when} ${place}, the test makes it fail`, { ...outcome, ...options });
}
