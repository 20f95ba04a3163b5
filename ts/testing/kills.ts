/** Kills a program and starts it again, until it ends by itself. */

import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { rangeError, show, typeError } from "../bridge/errors.js";
import { listOf } from "../store/ids.js";
import { anything, callback, object, oneOf, readRecord, signalOption, text, whole } from "../store/options.js";
import { methods } from "./fault.js";
import {
  type Start,
  runProgram,
  type ProgramOptions,
  type KillMoment,
  type RandomNumber,
  type Attempt,
} from "./program.js";
import { KillTestError, historyOf, listed } from "./report.js";

/** Options of {@link killAndResume}. */
export interface KillOptions extends ProgramOptions {
  /**
   * When to kill the program.
   *
   * - A moment: every attempt is killed at it, until an attempt ends earlier by itself.
   * - A list: the moment of each attempt. The attempt after the last moment ends by itself.
   * - A function: called before each attempt, with a source of random numbers and the attempt's number, counted from 1.
   *   If it returns null, the attempt ends by itself.
   */
  kill: KillMoment | readonly KillMoment[] | ((random: RandomNumber, attempt: number) => KillMoment | null);
  /**
   * The working directory of the program. Default: a new folder. After a success it is removed. After a failure it
   * stays, and the error names it.
   */
  cwd?: string | URL;
  /** The maximum number of times the program is started. Default: 100. */
  maxAttempts?: number;
  /** The seed of the random numbers. Default: the variable `FORKPOINT_TEST_SEED`, or a new seed. */
  seed?: number;
  /** Checks the result. If it throws, the moments and the seed are added to the error's message. */
  check?: (report: KillReport) => void | Promise<void>;
}

/** Options of {@link killEverywhere}. */
export interface KillEverywhereOptions extends ProgramOptions {
  /**
   * The methods of the store at whose calls the program is killed. Default: the program is killed after each printed
   * line.
   */
  on?: string | readonly string[];
  /** `"after"`, the default: as soon as the call has succeeded. `"before"`: before the call begins. */
  when?: "before" | "after";
  /**
   * Checks the result of each kill. `unharmed` is the result of a run without a kill. If the check throws, the moment
   * of the kill is added to the error's message.
   */
  check?: (report: KillReport, unharmed: KillReport) => void | Promise<void>;
}

/** What a program did from its first start to its end. */
export interface KillReport {
  /** Every start of the program, in order. The last one ended by itself. */
  attempts: Attempt[];
  /** The attempt that ended by itself. */
  last: Attempt;
  /** The lines of all attempts, in order. */
  lines: string[];
  /** The number of kills. */
  kills: number;
  /** The seed of the random numbers. */
  seed: number;
}

const LONGEST_MS = 2 ** 31 - 1;

const texts = (value: unknown, name: string) => listOf(text, value, name);

const programOptions = {
  args: texts,
  nodeArgs: texts,
  env: (value: unknown, name: string) => {
    for (const [key, one] of Object.entries(object(value, name))) text(one, `${name}.${key}`);
    return value as Record<string, string>;
  },
  timeoutMs: whole(1, LONGEST_MS, "milliseconds"),
  signal: signalOption,
  check: callback,
};

const killOptions = {
  kill: anything,
  ...programOptions,
  cwd: pathOf,
  maxAttempts: whole(1, LONGEST_MS, "attempts"),
  seed: whole(0, 2 ** 32 - 1, "seeds"),
};

const everywhereOptions = { on: methods, when: oneOf("before", "after"), ...programOptions };

const momentFields = {
  afterLines: whole(1, LONGEST_MS, "lines"),
  afterMs: whole(0, LONGEST_MS, "milliseconds"),
  on: methods,
  nth: whole(1, LONGEST_MS, "calls"),
  when: oneOf("before", "after"),
};

type Plan = (attempt: number) => KillMoment | null;

/**
 * Starts a program, kills it with SIGKILL, and starts it again, until it ends by itself.
 *
 * @param program the path or the URL of a module in JavaScript or TypeScript. It finds its work in its store and
 *   continues it.
 * @throws TypeError or RangeError for a wrong option. {@link KillTestError} if the program does not end as it should.
 *
 * @example
 * ```ts
 * const { last, kills } = await killAndResume(new URL("trip.mjs", import.meta.url), {
 *   kill: (random, attempt) => (attempt <= 5 ? { afterMs: random(200, 900) } : null),
 * });
 * ```
 */
export async function killAndResume(program: string | URL, options: KillOptions): Promise<KillReport> {
  const read = readRecord(options, "options", killOptions) as unknown as Partial<KillOptions>;
  if (read.kill === undefined) throw typeError('options must say in "kill" when the program is killed');
  const seed = read.seed ?? defaultSeed();
  return inFolder(read.cwd as string | undefined, async (cwd) => {
    const start = startOf(program, read, cwd);
    const report = await chain(start, planOf(read.kill!, seed), seed, read.maxAttempts ?? 100);
    await checked(report, cwd, () => read.check?.(report));
    return report;
  });
}

/**
 * Runs a program once without a kill. Then runs it in a new folder, kills it at the first call of the methods `on`, and
 * starts it again to let it end. Repeats this for the second call, and so on, until the program ends before the kill.
 * Without `on`, each kill follows a printed line.
 *
 * @param program the path or the URL of a module in JavaScript or TypeScript. It finds its work in its store and
 *   continues it.
 * @throws TypeError or RangeError for a wrong option. {@link KillTestError} if the program does not end as it should, or if
 *   there was nothing to kill it at.
 *
 * @example
 * ```ts
 * const { unharmed, reports } = await killEverywhere(new URL("trip.mjs", import.meta.url), { on: ["put", "putWrites"] });
 * ```
 */
export async function killEverywhere(
  program: string | URL,
  options?: KillEverywhereOptions,
): Promise<{ unharmed: KillReport; reports: KillReport[] }> {
  const read = readRecord(options, "options", everywhereOptions) as unknown as KillEverywhereOptions;
  const { on, when = "after", check } = read;
  if (on === undefined && read.when !== undefined) throw typeError('option "when" needs the option "on"');
  const momentAt = (nth: number): KillMoment => (on === undefined ? { afterLines: nth } : { on, nth, when });
  const seed = 0;
  /** Runs the program in a new folder, with a kill at each of the moments. */
  const run = (moments: KillMoment[], check: (report: KillReport) => void | Promise<void>) =>
    inFolder(undefined, async (cwd) => {
      const plan: Plan = (attempt) => moments[attempt - 1] ?? null;
      const report = await chain(startOf(program, read, cwd), plan, seed, moments.length + 1);
      await checked(report, cwd, () => check(report));
      return report;
    });
  const unharmed = await run([], (report) => check?.(report, report));
  const reports: KillReport[] = [];
  for (;;) {
    const nth = reports.length + 1;
    const report = await run([momentAt(nth)], (killed) => {
      // The program ended before the kill.
      if (killed.kills === 0 && nth > 1) return;
      if (killed.kills === 0)
        throw new Error(`the program ${on === undefined ? "printed no line" : `called none of ${listed(on)}`}`);
      return check?.(killed, unharmed);
    });
    if (report.kills === 0) return { unharmed, reports };
    reports.push(report);
  }
}

/** Starts the program until it ends by itself. */
async function chain(start: Start, plan: Plan, seed: number, maxAttempts: number): Promise<KillReport> {
  const attempts: Attempt[] = [];
  const failed = (problem: string) => new KillTestError(problem, attempts, seed, start.cwd);
  for (;;) {
    const moment = plan(attempts.length + 1);
    const { attempt, late, wrapped } = await runProgram(start, moment);
    attempts.push(attempt);
    if (late) throw failed(`The program did not end within ${start.timeoutMs} ms (timeoutMs)`);
    if (attempt.killed !== null) {
      if (attempts.length < maxAttempts) continue;
      throw failed(`The program was killed ${attempts.length} times and never ended by itself (maxAttempts)`);
    }
    if (attempt.code !== 0) {
      throw failed(`The program ended with ${attempt.signal ?? `the exit code ${attempt.code}`}`);
    }
    if (moment !== null && "on" in moment && !wrapped) {
      throw failed("The program did not give its store to withFaults(store), so it could not be killed at a call");
    }
    const kills = attempts.length - 1;
    return { attempts, last: attempt, lines: attempts.flatMap(({ lines }) => lines), kills, seed };
  }
}

/** Runs a check of the user. Adds the kills to its error. */
async function checked(report: KillReport, cwd: string, check: () => void | Promise<void>): Promise<void> {
  try {
    await check();
  } catch (error) {
    const history = historyOf(report.attempts, report.seed, cwd);
    if (!(error instanceof Error)) throw new Error(`${history}: ${String(error)}`, { cause: error });
    error.message = `${history}: ${error.message}`;
    throw error;
  }
}

/** Runs in the given folder, or in a new one that is removed after a success. */
async function inFolder<T>(given: string | undefined, run: (cwd: string) => Promise<T>): Promise<T> {
  if (given !== undefined) return run(given);
  const made = mkdtempSync(join(tmpdir(), "forkpoint-killed-"));
  let failed = true;
  try {
    const result = await run(made);
    failed = false;
    return result;
  } finally {
    // After a failure, remove the folder only if it is empty.
    if (!failed || readdirSync(made).length === 0) {
      rmSync(made, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
    }
  }
}

function startOf(program: unknown, options: ProgramOptions, cwd: string): Start {
  const path = pathOf(program, "the program");
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) throw typeError(`there is no program at ${path}`);
  return { program: path, cwd, timeoutMs: options.timeoutMs ?? 30_000, options };
}

function pathOf(value: unknown, name: string): string {
  if (value instanceof URL || (typeof value === "string" && value.startsWith("file:"))) return fileURLToPath(value);
  if (typeof value !== "string" || value === "")
    throw typeError(`${name} must be a path or a URL, but is ${show(value)}`);
  return resolve(value);
}

function planOf(kill: NonNullable<KillOptions["kill"]>, seed: number): Plan {
  if (typeof kill === "function") {
    const random = randomNumbers(seed);
    return (attempt) => {
      const moment = kill(random, attempt);
      return moment === null ? null : readMoment(moment, "the moment that kill returned");
    };
  }
  if (Array.isArray(kill)) {
    const moments = kill.map((moment, at) => readMoment(moment, `moment ${at + 1} of "kill"`));
    return (attempt) => moments[attempt - 1] ?? null;
  }
  const moment = readMoment(kill as KillMoment, 'option "kill"');
  return () => moment;
}

function readMoment(moment: unknown, what: string): KillMoment {
  if (moment === undefined) throw typeError(`${what} must be a moment or null, but is undefined`);
  const read = readRecord(moment, what, momentFields);
  const given = (["afterLines", "afterMs", "on"] as const).filter((key) => read[key] !== undefined);
  if (given.length !== 1) throw typeError(`${what} must have exactly one of afterLines, afterMs, on`);
  if (given[0] !== "on" && (read.nth !== undefined || read.when !== undefined)) {
    throw typeError(`${what} has ${given[0]}, which takes neither "nth" nor "when"`);
  }
  return read as unknown as KillMoment;
}

function defaultSeed(): number {
  const { FORKPOINT_TEST_SEED: given } = process.env;
  if (given === undefined || given === "") return Math.floor(Math.random() * 2 ** 32);
  const seed = Number(given);
  if (Number.isInteger(seed) && seed >= 0 && seed < 2 ** 32) return seed;
  throw rangeError("FORKPOINT_TEST_SEED must be a whole number from 0 to 4294967295");
}

/** Returns a generator of random numbers (mulberry32). */
function randomNumbers(seed: number): (least: number, most: number) => number {
  let state = seed;
  return (least, most) => {
    if (!Number.isSafeInteger(least) || !Number.isSafeInteger(most) || most < least) {
      throw rangeError("random(least, most) needs two whole numbers, the smaller one first");
    }
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return least + Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * (most - least + 1));
  };
}
