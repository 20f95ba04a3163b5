/** Decides which runs `recover` leaves alone, because another program made them or a process works on them. */

import { ForkpointError, quote } from "../../bridge/errors.js";
import { livingProcess } from "../../bridge/holder.js";
import { type ProgramShape, hasSameParts, shapeHash } from "../../store/compare-programs.js";
import type { Candidate, Framework } from "./framework.js";
import type { UnrecoveredRun } from "./recover-options.js";

/**
 * Returns why a run is left alone. Returns undefined if the run belongs to this program and no living process works on
 * it. A run that the caller names is only refused if it has the name of another program. `from` is the program that
 * made the run.
 */
export function refusal(
  { options: { idleMs }, noun, program, shape, named }: Framework<unknown>,
  id: string,
  { mark, status }: Candidate,
  from: ProgramShape | null,
): UnrecoveredRun | undefined {
  const [run, naming] = [`${noun} ${quote(id)}`, `${noun}s: [${quote(id)}]`];
  const own = program === undefined ? "a graph without a name" : quote(program);
  const skipped = (why: Extract<UnrecoveredRun, { outcome: "skipped" }>["why"], message: string): UnrecoveredRun => {
    return { outcome: "skipped", why, program: mark.program ?? null, message };
  };
  if (mark.program !== undefined && mark.program !== program) {
    const message = `${run} was made by the program ${quote(mark.program)}, but this is ${own}: recover it with that program`;
    if (named !== undefined) throw new ForkpointError("INVALID_ARGUMENT", message);
    return skipped("other program", message);
  }
  if (named === undefined && mark.program === undefined) {
    if (program !== undefined || mark.shape === undefined) {
      return skipped(
        "unknown origin",
        `the store does not say which program made ${run}, and this is ${own}. If this program made it, recover it with ` +
          `${naming}. To record the program of new runs, create the store with { program: ${quote(program ?? "name")} }, or ` +
          "call recover at each start of the program, before the first run",
      );
    }
    if (mark.shape !== shapeHash(shape) && (from === null || !hasSameParts(from, shape))) {
      return skipped(
        "other program",
        `${run} ran on a graph whose parts have other names: recover it with that graph. If that graph is an earlier version of ` +
          `this one, recover it with ${naming}`,
      );
    }
  }
  if (named === undefined && mark.branch === true) {
    const message = `the command line or the studio made the newest checkpoint of ${run}: to run the branch, recover it with ${naming}`;
    return skipped("branch", message);
  }
  const pid = status === "unfinished" && idleMs === undefined ? livingProcess(mark.by ?? "") : undefined;
  if (pid === undefined) return undefined;
  return skipped(
    "at work",
    `process ${pid} is still running and may be working on ${run}: end that process. Or pass idleMs, to recover only ` +
      "what was saved longer ago than that. It must be longer than your slowest node takes",
  );
}
