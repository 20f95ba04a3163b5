/** Reports how many runs of a program are stranded on the channel `forkpoint:stranded`. */

import { channel } from "node:diagnostics_channel";
import type { NativeStore } from "./native.js";

/**
 * A message of the diagnostics channel `forkpoint:stranded`: how many open runs of a program do not fit the version that
 * has started last. `recover` publishes it for its own program, and `versions({ withStranded: true })` of an inspector for
 * all programs.
 *
 * @example
 * ```ts
 * import { subscribe } from "node:diagnostics_channel";
 *
 * subscribe("forkpoint:stranded", (message) => {
 *   const { program, runs } = message as StrandedRuns;
 *   if (runs > 0) console.error(`${program}: nobody continues ${runs} runs`);
 * });
 * ```
 */
export interface StrandedRuns {
  /** The path of the file or folder, `"memory:"`, or the server, database and schema. */
  target: string;
  /** The framework. */
  space: string;
  /** The name of the program. */
  program: string;
  runs: number;
}

export const strandings = channel("forkpoint:stranded");

export function publishStranded(
  { databasePath }: Pick<NativeStore, "databasePath">,
  { space, program, runs }: Omit<StrandedRuns, "target">,
): void {
  const message: StrandedRuns = { target: databasePath ?? "memory:", space, program, runs };
  if (strandings.hasSubscribers) strandings.publish(message);
}
