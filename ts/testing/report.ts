/** The reports of the runner: attempts, and the error of a program that ends wrongly. */

import type { Attempt, KillMoment } from "./program.js";

/** The maximum length of a program's standard error in a message. */
const LONGEST_STDERR = 4_000;

/**
 * The error of a program that ends wrongly: with an exit code other than 0, with a signal, after the time limit, or
 * never. The message contains the moments of the kills, the seed, and the program's standard error.
 * @example if (error instanceof KillTestError) console.error(error.attempts.at(-1)?.stderr);
 */
export class KillTestError extends Error {
  declare readonly name: "KillTestError";
  /** The attempts so far. */
  readonly attempts: Attempt[];
  /** The seed of the random numbers. */
  readonly seed: number;
  /** The folder in which the program ran. It is not removed. */
  readonly cwd: string;

  /** @internal */
  constructor(problem: string, attempts: Attempt[], seed: number, cwd: string) {
    const stderr = attempts.at(-1)?.stderr ?? "";
    super(
      `${problem}. ${historyOf(attempts, seed, cwd)}\n` +
        `The program's standard error: ${stderr === "" ? "(empty)" : `\n${stderr.slice(-LONGEST_STDERR)}`}`,
    );
    this.attempts = attempts;
    this.seed = seed;
    this.cwd = cwd;
  }

  static {
    Object.defineProperty(KillTestError.prototype, "name", { value: "KillTestError", configurable: true });
  }
}

/** Describes the kills in one line. */
export function historyOf(attempts: readonly Attempt[], seed: number, cwd: string): string {
  const kills = attempts.flatMap(({ killed }) => (killed === null ? [] : [textOf(killed)]));
  // The seed repeats a long chain of kills, so its first and last moments are enough.
  const shown = kills.length > 6 ? [...kills.slice(0, 3), "...", ...kills.slice(-2)] : kills;
  const history = kills.length === 0 ? "It was not killed" : `Killed ${shown.join(", then ")}`;
  return `${history} (attempts: ${attempts.length}, seed: ${seed}, folder: ${cwd})`;
}

function textOf(moment: KillMoment): string {
  if ("afterLines" in moment) return `after line ${moment.afterLines}`;
  if ("afterMs" in moment) return `after ${moment.afterMs} ms`;
  const { on, nth = 1, when = "after" } = moment;
  return `${when} call ${nth} of ${listed(on)}`;
}

/** Lists methods: `put(), putWrites()`. */
export function listed(methods: string | readonly string[]): string {
  return [methods]
    .flat()
    .map((name) => `${name}()`)
    .join(", ");
}
