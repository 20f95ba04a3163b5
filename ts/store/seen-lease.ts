/** What a waiting call remembers of the lease of a run. */

import type { FoundLease } from "./lease-wire.js";

/**
 * The last lease that a waiting call has seen. The store's clock may be set while it waits. Then all leases look expired
 * until their next renewal, but the monotonic clock says that they are not.
 */
export class SeenLease {
  #id = "";
  #until = 0;
  /** When the lease expires, on the monotonic clock. */
  #ends = 0;

  /** Returns the time until a lease expires, in ms. At most 0: it has expired. */
  leftMs({ id, until, savedAt, valid }: FoundLease, now: number): number {
    const isNew = id !== this.#id;
    if (isNew || until !== this.#until) {
      // A lease that was renewed since the last look is valid, whatever the clock says.
      const left = valid ? until - now : isNew ? 0 : until - savedAt;
      [this.#id, this.#until, this.#ends] = [id, until, performance.now() + left];
    }
    return valid ? until - now : this.#ends - performance.now();
  }
}
