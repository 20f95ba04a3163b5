/** Runs that a program has ended permanently, or that somebody has stopped. See `engine/src/contract/program.rs`. */

import type { CallsOf } from "../bridge/calls.js";
import type * as engine from "../bridge/calls.generated.js";
import type { StoppedBy } from "../bridge/errors.js";
import type { NativeStore } from "../bridge/native.js";
import { Contract } from "../bridge/wire.js";

/** A run that a program has ended permanently, or that somebody has stopped. */
export interface EndedRun {
  /** The id of the run's newest checkpoint when it ended. A later checkpoint makes the run open again. */
  at: string;
  /** The fork that continues the run, until the fork has its own checkpoint. */
  fork?: PendingFork | undefined;
  /** Set if somebody has stopped the run. */
  stopped?: Omit<StoppedBy, "kind">;
}

/** A fork that may not exist yet. */
export interface PendingFork {
  /** The id of the checkpoint that the fork begins from. */
  from: string;
  /** The ids of the fork and of its first checkpoint. */
  run: string;
  id: string;
}

type ProgramCalls = CallsOf<engine.program.Call, engine.program.Responses>;

export const programCalls = new Contract<ProgramCalls>("program", {
  kinds: { describe: null, read: null, list: null, end: null, ended: null },
  subject: ({ space, run }) => ({ space, run }),
});

/** Names a run of a contract. */
interface Of {
  space: string;
  run: string;
}

/**
 * Records that a run has ended. No program recovers the run again, unless it has a later checkpoint. `native` carries
 * the lease of the run.
 */
export async function endRun(native: NativeStore, { space, run }: Of, ended: EndedRun): Promise<void> {
  const fields = { space, run, ended: JSON.stringify(ended), savedAt: Date.now() };
  await programCalls.call(native, "end", fields);
}

/** Returns the entry of {@link endRun} for a run, or null if there is none or the run has a later checkpoint. */
export async function endOf(native: NativeStore, { space, run }: Of, newest: string): Promise<EndedRun | null> {
  const text = await programCalls.call(native, "ended", { space, run });
  const ended = text === null ? null : (JSON.parse(text) as EndedRun);
  return ended?.at === newest ? ended : null;
}
