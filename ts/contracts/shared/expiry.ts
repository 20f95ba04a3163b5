/** Removes expired sessions after writes, at most ten times in a time to live. */

import { ClockWatch } from "../../bridge/native.js";
import { warn } from "../../bridge/warnings.js";
import type { Engine } from "../../store/engine.js";
import type { StoreHandle } from "../../store/handle.js";

/** The shortest time between two sweeps, in ms. */
const SHORTEST_PAUSE = 1_000;

/** The parameters of a sweep. */
export interface Sweep {
  /** The plural noun of the removed rows, for a warning. */
  what: string;
  /** Null: nothing expires. */
  ttlMs: number | null;
  /** Default: the machine's clock. */
  now?: () => number;
  sweep: (engine: Engine) => Promise<unknown>;
}

export class Expiry {
  #next = Number.NEGATIVE_INFINITY;
  #failures = 0;
  readonly #watch = new ClockWatch();

  /** Sweeps in the background if a sweep is due, unless the machine's clock was just set. */
  sweepIfDue(handle: StoreHandle, { what, ttlMs, now = Date.now, sweep }: Sweep): void {
    if (ttlMs === null || handle.closing) return;
    void handle
      .run(async (engine) => {
        const target = engine.native.databasePath ?? "memory:";
        if (now() < this.#next || (now === Date.now && !this.#watch.isSteady(target))) return;
        this.#next = now() + Math.max(SHORTEST_PAUSE, ttlMs / 10);
        await this.#sweep(handle, what, target, () => sweep(engine));
      })
      .catch(() => {});
  }

  async #sweep(handle: StoreHandle, what: string, target: string, sweep: () => Promise<unknown>): Promise<void> {
    try {
      await sweep();
      this.#failures = 0;
    } catch (error) {
      if (handle.closing) return;
      this.#failures += 1;
      // Do not warn about a single failure, because another process may hold the database.
      if (this.#failures !== 3) return;
      warn("FORKPOINT_SWEEP_FAILS", `${what} could not be removed three times in a row`, target, error);
    }
  }
}
