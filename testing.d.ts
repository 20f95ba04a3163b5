/**
 * Helpers for tests of durability: {@link withFaults} makes the calls of a store fail, wait or kill the process.
 * {@link killAndResume} and {@link killEverywhere} kill a program and start it again until it ends by itself.
 *
 * They work with every test runner, and with stores of other packages too.
 */

import type { ErrorCode } from "./index.js";

/** The names of an object's methods that return a promise or an asynchronous iterator. */
export type AsyncMethod<T> = {
  [K in keyof T]-?: NonNullable<T[K]> extends (...args: never[]) => PromiseLike<unknown> | AsyncIterable<unknown>
    ? K
    : never;
}[keyof T] &
  string;

/** The calls that a fault applies to. */
export interface FaultyCalls<Method extends string = string> {
  /** The method, or the methods. Calls of all these methods are counted together. */
  on: Method | readonly Method[];
  /**
   * Which calls, counted from 1. Default: every call. Only calls from outside are counted, not those with which a method
   * of the store uses another.
   */
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
 * A rule of {@link withFaults}: the calls, and what happens to them.
 *
 * - `reject`: the calls reject with this error. With `when: "before"`, the default, the store does nothing. With
 *   `when: "after"`, the store carries out the call, and only its caller gets an error.
 * - `delayMs`: the calls settle at least this many ms later. They begin at once.
 * - `kill`: the process ends with SIGKILL. With `when: "before"`, the default, the call does not begin. With
 *   `when: "after"`, the call has succeeded.
 */
export type Fault<Method extends string = string> = FaultyCalls<Method> &
  (
    | { reject: ErrorCode | FaultError | Error; when?: "before" | "after"; delayMs?: never; kill?: never }
    | { delayMs: number; when?: never; reject?: never; kill?: never }
    | { kill: true; when?: "before" | "after"; reject?: never; delayMs?: never }
  );

/**
 * Wraps a store, so that some of its calls fail, wait or kill the process on purpose. Everything else works as before.
 * The wrapper has the type of the store. It is an instance of the classes that the store's class extends, such as
 * LangGraph's `BaseCheckpointSaver`.
 *
 * @param store any object with asynchronous methods.
 * @param faults the rules. Without them, the wrapper follows the rules of the {@link killAndResume} or
 *   {@link killEverywhere} that started this process. If neither started it, nothing fails.
 * @throws TypeError or RangeError for a wrong rule, or for a method that the store does not have.
 *
 * @example
 * ```ts
 * const flaky = withFaults(new CheckpointStore("memory:"), [
 *   { on: "save", nth: 3, reject: "BUSY" },
 *   { on: ["get", "load", "latest"], delayMs: 50 },
 * ]);
 * ```
 */
export function withFaults<T extends object>(store: T, faults?: ReadonlyArray<Fault<AsyncMethod<T>>>): T;

/**
 * When a program is killed.
 *
 * - `afterLines`: when it has printed this many lines.
 * - `afterMs`: this many ms after it was started.
 * - `on`: at the `nth` call (default: 1) of these methods of the store that the program gave to `withFaults(store)`: as
 *   soon as the call has succeeded, or, with `when: "before"`, before it begins.
 *
 * A program runs on for a moment after a line, until the signal arrives. At a call, it is killed exactly there.
 */
export type KillMoment =
  | { afterLines: number }
  | { afterMs: number }
  | { on: string | readonly string[]; nth?: number; when?: "before" | "after" };

/** Returns a whole number from `least` to `most`, the same ones for the same seed. */
export type RandomNumber = (least: number, most: number) => number;

/** How a program is started. */
export interface ProgramOptions {
  /** The program's arguments. */
  args?: readonly string[];
  /** Node's own arguments, such as `["--import", "tsx"]` for a program in TypeScript. */
  nodeArgs?: readonly string[];
  /**
   * Variables to add to the program's environment. The program gets the other variables of this process, but not
   * `NODE_OPTIONS`, which test runners set for themselves.
   */
  env?: Readonly<Record<string, string>>;
  /** The time limit of each attempt in ms. Default: 30,000. */
  timeoutMs?: number;
  /** Stops the program. The promise then rejects with the signal's reason. */
  signal?: AbortSignal;
}

/** Options of {@link killAndResume}. */
export interface KillOptions extends ProgramOptions {
  /**
   * When to kill the program.
   *
   * - A moment: every attempt is killed there, until one ends by itself before that.
   * - A list: the first attempt is killed at the first moment, and so on. The attempt after the last moment ends by itself.
   * - A function: called before each attempt, with a source of random numbers and the attempt's number, counted from 1.
   *   If it returns null, the attempt ends by itself.
   */
  kill: KillMoment | readonly KillMoment[] | ((random: RandomNumber, attempt: number) => KillMoment | null);
  /**
   * The folder in which the program runs. Default: a new folder, which is removed if all went well. Otherwise it stays,
   * and the error names it.
   */
  cwd?: string | URL;
  /** How often the program is started at most. Default: 100. */
  maxAttempts?: number;
  /** The seed of the random numbers. Default: the variable `FORKPOINT_TEST_SEED`, or a new seed. */
  seed?: number;
  /** Checks the result. If it throws, the moments and the seed are added to the error's message. */
  check?: (report: KillReport) => void | Promise<void>;
}

/** Options of {@link killEverywhere}. */
export interface KillEverywhereOptions extends ProgramOptions {
  /**
   * The methods of the store at whose calls the program is killed. Left out: the program is killed after each line that
   * it prints.
   */
  on?: string | readonly string[];
  /** `"after"`, the default: as soon as the call has succeeded. `"before"`: before the call begins. */
  when?: "before" | "after";
  /**
   * Checks the result of each kill. `unharmed` is the result of a run without a kill. If it throws, the moment of the
   * kill is added to the error's message.
   */
  check?: (report: KillReport, unharmed: KillReport) => void | Promise<void>;
}

/** One start of a program, and its end. */
export interface Attempt {
  /** The lines that it printed to its standard output. */
  lines: string[];
  /** The text that it printed to its standard error. */
  stderr: string;
  /** Its exit code. Null if a signal ended it. On Windows, a program that killed itself has the code 1. */
  code: number | null;
  /** The signal that ended it, such as `"SIGKILL"`, or null. */
  signal: string | null;
  /** The moment at which it was killed. Null if it ended by itself. */
  killed: KillMoment | null;
  /** How long it ran, in ms. */
  ms: number;
}

/** What a program did from its first start to its end. */
export interface KillReport {
  /** Every start of the program, in order. The last one ended by itself. */
  attempts: Attempt[];
  /** The attempt that ended by itself. */
  last: Attempt;
  /** The lines of all attempts, in order. */
  lines: string[];
  /** How often the program was killed. */
  kills: number;
  /** The seed of the random numbers. */
  seed: number;
}

/**
 * The error of a program that does not end as it should: with an exit code other than 0, with a signal, not within the
 * time limit, or not at all. The message shows the moments of the kills, the seed, and what the program printed to its
 * standard error.
 * @example if (error instanceof KillTestError) console.error(error.attempts.at(-1)?.stderr);
 */
export class KillTestError extends Error {
  readonly name: "KillTestError";
  /** The attempts so far. */
  readonly attempts: Attempt[];
  /** The seed of the random numbers. */
  readonly seed: number;
  /** The folder in which the program ran. It is not removed. */
  readonly cwd: string;
}

/**
 * Starts a program, kills it with SIGKILL, and starts it again, until it ends by itself.
 *
 * @param program the path or the URL of a JavaScript module. It finds its work in its store, and continues it.
 * @throws TypeError or RangeError for a wrong option. {@link KillTestError} if the program does not end as it should.
 *
 * @example
 * ```ts
 * const { last, kills } = await killAndResume(new URL("trip.mjs", import.meta.url), {
 *   kill: (random, attempt) => (attempt <= 5 ? { afterMs: random(200, 900) } : null),
 * });
 * ```
 */
export function killAndResume(program: string | URL, options: KillOptions): Promise<KillReport>;

/**
 * Runs a program once without a kill. Then kills it at its first save and lets a second process end it, in a new folder;
 * then at its second save, and so on, until it ends before it could be killed.
 *
 * @param program the path or the URL of a JavaScript module. It finds its work in its store, and continues it.
 * @throws TypeError or RangeError for a wrong option. {@link KillTestError} if the program does not end as it should, or if
 *   there was nothing to kill it at.
 *
 * @example
 * ```ts
 * const { unharmed, reports } = await killEverywhere(new URL("trip.mjs", import.meta.url), { on: ["put", "putWrites"] });
 * ```
 */
export function killEverywhere(
  program: string | URL,
  options?: KillEverywhereOptions,
): Promise<{ unharmed: KillReport; reports: KillReport[] }>;
