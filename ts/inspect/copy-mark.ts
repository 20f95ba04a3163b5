/** Detects that a store of a copy was restored to an earlier state. */

import { ForkpointError } from "../bridge/errors.js";
import type { StoreStats } from "../store/results.js";
import { type Store, engineOf } from "../store/store.js";
import { type FeedPage, type Row, inspect, openFeed } from "../plugin/wire.js";

/**
 * Remembers the newest checkpoint and the sizes of a store. If the store is restored to an earlier state during a copy,
 * the copy fails, because it does not compare earlier checkpoints again.
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
    // A running effect is stored again at each renewal.
    const newest = rows.find(({ effect }) => effect !== true);
    return new Mark(store, side, newest, await store.stats());
  }

  /** Throws `CONFLICT` if the store was restored. */
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

/** The number of rows in which the newest checkpoint is searched. */
const NEWEST = 100;

const feed = (store: Store, after: number, newestFirst: boolean, limit: number): Promise<FeedPage> =>
  inspect.find(
    engineOf(store).native,
    "feed",
    { after, newestFirst, limit, version: undefined, wait: undefined },
    openFeed,
  );
