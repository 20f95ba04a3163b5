/**
 * The link between the runner and the program that it kills. The runner sets an environment variable with the name of a
 * file. The program writes events into it immediately, because a killed process can do nothing later.
 */

import { appendFileSync } from "node:fs";
import { type FaultRule, readFaults } from "./fault.js";

/** The environment variable, which holds a `RunnerLink` as JSON. */
export const VARIABLE = "FORKPOINT_TESTING";

export interface RunnerLink {
  /** The runner's faults, for a store that the program wraps without its own. */
  faults: unknown[];
  /** The file to which the program appends its records, one a line. */
  record: string;
}

function linkOf(): RunnerLink | undefined {
  const text = process.env[VARIABLE];
  return text === undefined ? undefined : (JSON.parse(text) as RunnerLink);
}

/** Returns the faults that the runner gave to this process. A process without a runner has none. */
export function faultsOfRunner(): FaultRule[] {
  return readFaults(linkOf()?.faults ?? []);
}

/** Sends the runner a record of an event in this process. Without a runner, does nothing. */
export function recordInRunner(line: string): void {
  const link = linkOf();
  if (link !== undefined) appendFileSync(link.record, `${line}\n`);
}
