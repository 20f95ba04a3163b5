/** Notices that one of the two stores of a copy went back in time. */

import { ForkpointError } from "../bridge/errors.js";
import type { StoreStats } from "../store/results.js";
import { type Store, engineOf } from "../store/store.js";
import { type FeedPage, type Row, inspect, openFeed } from "../plugin/wire.js";

/**
 * Detects that a store was restored to an earlier state during a copy. Remembers the newest checkpoint and the sizes of
 * the store. The copy fails then, because it does not compare earlier checkpoints again.
 */
export class Mark {
  readonly #store: Store;
  readonly #side: "source" | "destination";
  readonly #newest: Row | undefined;
  readonly #stats: StoreStats;

  private constructor(store: Store, side: "source" | "destination", newest: Row | undefined, stats: StoreStats) {
    this.#store = store;
    this.#side = side;
    this.#newest = newest;
    this.#stats = stats;
  }

  static async of(store: Store, side: "source" | "destination"): Promise<Mark> {
    const { rows } = await feed(store, 0, true, NEWEST);
    // A running effect is stored again and again.
    const newest = rows.find(({ effect }) => effect !== true);
    return new Mark(store, side, newest, await store.stats());
  }

  /** Throws `CONFLICT` if the store went back in time. */
  async confirm(): Promise<void> {
    const newest = this.#newest;
    const { rows } = await feed(this.#store, (newest?.seq ?? 1) - 1, false, 1);
    const { checkpoints, effects, records } = await this.#store.stats();
    const before = this.#stats;
    const isLess = checkpoints < before.checkpoints || effects < before.effects || records < before.records;
    if (isLess || (newest !== undefined && identityOf(rows[0]) !== identityOf(newest))) {
      throw new ForkpointError(
        "CONFLICT",
        `the ${this.#side} of the copy changed while it was copied: an older version of it was restored, or something was ` +
          `removed from it. Copy again${this.#side === "source" ? " to an empty store" : ""}`,
      );
    }
  }
}

const identityOf = (row: Row | undefined): string =>
  row === undefined ? "" : JSON.stringify([row.space, row.run, row.ns, row.id, row.seq, row.savedAt]);

/** The number of rows among which the newest checkpoint is looked for. */
const NEWEST = 100;

const feed = (store: Store, after: number, newestFirst: boolean, limit: number): Promise<FeedPage> =>
  inspect.find(
    engineOf(store).native,
    "feed",
    { after, newestFirst, limit, version: undefined, wait: undefined },
    openFeed,
  );
