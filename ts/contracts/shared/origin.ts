/** Decides whether `recover` may take a run: only one of its own program, and only if no living process works on it. */

import { ForkpointError, quote } from "../../bridge/errors.js";
import { livingProcess } from "../../store/holder.js";
import type { Identity, Mark } from "../../store/mark.js";
import { type UnrecoveredRun, skipped } from "./recovery.js";

/** A run that has something left to do. */
export interface Candidate {
  /** Names the run in messages. */
  run: string;
  /** How the caller of `recover` names the run. */
  naming: string;
  /** What the newest checkpoint says about its maker. */
  mark: Mark;
  /** A node that runs next and that the graph lacks. */
  missing: string | undefined;
  /** True if no node has failed and none waits. */
  unfinished: boolean;
}

/** Who wants to recover runs. */
export interface Claimant {
  identity: Identity;
  /** True if the caller has named the runs. */
  named: boolean;
  /** Undefined if it was not given. */
  idleMs: number | undefined;
}

/**
 * Returns why a run is left alone, or undefined if it may be recovered. A caller who names a run has asked for it, and is refused
 * only if the run has the name of another program, or nodes that the graph lacks.
 */
export function refusal(
  { identity: { program, shape }, named, idleMs }: Claimant,
  { run, naming, mark, missing, unfinished }: Candidate,
): UnrecoveredRun | undefined {
  const own = program === undefined ? "a graph without a name" : quote(program);
  if (mark.program !== undefined && mark.program !== program) {
    const message = `${run} was made by the program ${quote(mark.program)}, and this is ${own}: recover it with that program`;
    if (named) throw new ForkpointError("INVALID_ARGUMENT", message);
    return skipped("other program", mark.program, message);
  }
  if (missing !== undefined && (named || mark.program !== undefined)) {
    const message = `${run} cannot be recovered, because the graph has no node ${quote(missing)}: recover it with the graph that it ran on`;
    throw new ForkpointError("INVALID_ARGUMENT", message);
  }
  if (!named && mark.program === undefined) {
    if (program !== undefined || mark.shape === undefined) {
      const message =
        `the store does not say which program made ${run}, and this is ${own}. If it is one of this program, recover it with ` +
        `${naming}. To mark runs from their beginning, create the store with { program: ${quote(program ?? "name")} }, or call ` +
        "recover at each start of the program, before the first run";
      return skipped("unknown origin", undefined, message);
    }
    if (mark.shape !== shape) {
      const message =
        `${run} ran on a graph with other names of its parts: recover it with that graph. If it is an earlier version of this ` +
        `graph, recover it with ${naming}`;
      return skipped("other program", undefined, message);
    }
  }
  if (!named && mark.branch === true) {
    const message = `the command line or the studio made the newest checkpoint of ${run}: to run the branch, recover it with ${naming}`;
    return skipped("branch", mark.program, message);
  }
  const pid = unfinished && idleMs === undefined ? livingProcess(mark.by ?? "") : undefined;
  if (pid === undefined) return undefined;
  const message =
    `process ${pid}, which has not ended, works on ${run} or has left it: end that process. To recover what no process works on ` +
    "any more, give idleMs, greater than the time that a node takes";
  return skipped("at work", mark.program, message);
}
