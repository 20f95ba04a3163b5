/** The interface between `recover` and a framework. */

import type { StoreHandle } from "../../store/handle.js";
import type { HeldLease } from "../../store/lease.js";
import type { Mark } from "../../store/mark.js";
import type { Parsed } from "../../store/options.js";
import type { ProgramPosition, ProgramShape } from "../../store/compare-programs.js";
import type { PendingFork } from "../../store/ended-runs.js";
import type { sharedOptions } from "./recover-options.js";

/** An unfinished run, as its newest checkpoint describes it. */
export interface Candidate {
  /** The id of the newest checkpoint. */
  newest: string;
  /** The time of the newest checkpoint, in ms since the epoch. */
  at: number;
  /** The mark of the newest checkpoint. */
  mark: Mark;
  /** Reads the position of the run in its program. Only called if another version made the checkpoint. */
  position(): Promise<ProgramPosition> | ProgramPosition;
  status: "waiting" | "failed" | "unfinished";
  /** The status without knowledge of the program, if it differs. */
  stored?: "unfinished" | undefined;
}

/** An earlier checkpoint of a run. */
export type Earlier = Pick<Candidate, "mark" | "position"> & { id: string };

/** The part of `recover` that depends on the framework. */
export interface Framework<T> {
  handle: StoreHandle;
  options: Parsed<typeof sharedOptions>;
  space: string;
  /** The framework's word for a run. */
  noun: "run" | "thread";
  /** The name of the program that recovers its runs. Undefined: the program has no name. */
  program: string | undefined;
  shape: ProgramShape;
  /** Whether the caller has a callback for runs with this status. Without a callback, such a run is left as it is. */
  asks: Record<"waiting" | "failed", boolean>;
  /** The ids of the runs that the caller has named. Undefined: all runs. */
  named: readonly string[] | undefined;
  /** Lists the runs that may need recovery, if the caller has named none. */
  candidates(): AsyncIterable<string>;
  /** Reads the state of a run. Resolves to undefined if the run needs no recovery. */
  look(run: string): Promise<Candidate | undefined>;
  /** Continues a run. The caller's scope owns the run, so its writes carry the lease. */
  work(run: string, lease: HeldLease): Promise<T>;
  /** Lists the checkpoints before the newest one, the newest first. */
  earlier(run: string): AsyncIterable<Earlier>;
  /** True if a fork is a branch in the same run. */
  forksInPlace: boolean;
  /** Forks a run. Does nothing if the fork exists. A fork in the same run gets another id. */
  fork(run: string, fork: PendingFork, lease: HeldLease): Promise<void>;
}
