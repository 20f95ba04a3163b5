/** Removes expired sessions after writes, at most ten times in a time to live. */

import { ClockWatch } from "../../bridge/native.js";
import { warn } from "../../bridge/warnings.js";

/** The shortest time between two sweeps, in ms. */
const SHORTEST_PAUSE = 1_000;

/** The parameters of a sweep. */
export interface Sweep {
  /** The plural noun of the removed rows, for a warning. */
  what: string;
  /** Null: nothing expires. */
  ttlMs: number | null;
  now: () => number;
  target: string;
  closing: () => boolean;
  sweep: () => Promise<unknown>;
}

export class Expiry {
  #next = Number.NEGATIVE_INFINITY;
  #failures = 0;
  readonly #watch = new ClockWatch();

  /** Sweeps if a sweep is due, unless the machine's clock was just set. */
  async sweepIfDue({ what, ttlMs, now, target, closing, sweep }: Sweep): Promise<void> {
    if (ttlMs === null || now() < this.#next) return;
    if (now === Date.now && !this.#watch.isSteady(target)) return;
    this.#next = now() + Math.max(SHORTEST_PAUSE, ttlMs / 10);
    try {
      await sweep();
      this.#failures = 0;
    } catch (error) {
      if (closing()) return;
      this.#failures += 1;
      // Do not warn about a single failure, because another process may hold the database.
      if (this.#failures !== 3) return;
      warn("FORKPOINT_SWEEP_FAILS", `${what} could not be removed three times in a row`, target, error);
    }
  }
}
