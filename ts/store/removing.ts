/** Removes runs that nobody works on. */

import { isOvertaken, isOwnError } from "../bridge/errors.js";
import type { Fence, NativeStore, RunKey } from "../bridge/native.js";
import { hasEnded } from "./holder.js";
import { isHeld, leaseOfRun } from "./lease.js";
import { flag, readRecord } from "./options.js";

/** Options of a method that deletes a run. */
export interface DeleteOptions {
  /**
   * What happens if a process holds the lease of the run. False: the call rejects with `CONFLICT`. True: the run is deleted, the lease
   * ends, and that process can store nothing more in the run. Default: false.
   */
  force?: boolean;
}

export const deleteOptions = { force: flag };

/** Reads the options of a method that deletes a run. */
export function forced(options: unknown): boolean {
  return readRecord(options, "options", deleteOptions).force ?? false;
}

/** Returns a store whose calls delete a run, and ask who owns it: see {@link DeleteOptions}. The holder of a lease may delete its own run. */
export function removing(native: NativeStore, of: RunKey, force: boolean): NativeStore {
  return native.fence === undefined ? { ...native, fence: new Unheld(native, of, force) } : native;
}

/** True if a process has the lease of a run. */
export const isLeased = async (native: NativeStore, of: RunKey): Promise<boolean> =>
  (await leaseOfRun(native, of))?.valid === true;

/** Removes a run for a rule of retention. Returns false if the run has changed since it was read, or if a process has its lease. */
export async function removeIfFree(
  native: NativeStore,
  of: RunKey,
  remove: (native: NativeStore) => Promise<unknown>,
): Promise<boolean> {
  try {
    await remove(removing(native, of, false));
    return true;
  } catch (error) {
    // A lease of the caller's own that was lost is an error.
    const isLeased = native.fence === undefined && isOwnError(error) && error.code === "CONFLICT";
    if (!isLeased && !isOvertaken(error)) throw error;
    return false;
  }
}

/** Lets a call through if nobody holds the lease of a run, in the call's own transaction. */
class Unheld implements Fence {
  readonly #native: NativeStore;
  readonly #of: RunKey;
  readonly #force: boolean;

  constructor(native: NativeStore, of: RunKey, force: boolean) {
    this.#native = native;
    this.#of = of;
    this.#force = force;
  }

  async guard<T>(work: (fence: object) => Promise<T>): Promise<T> {
    // Few runs have a lease, so it is read only if there is one.
    for (let seen: string | null = null; ;) {
      try {
        return await work({ of: this.#of, seen, ends: this.#force });
      } catch (error) {
        if (!isOvertaken(error)) throw error;
        const found = await leaseOfRun(this.#native, this.#of);
        if (found?.valid && !this.#force && !hasEnded(found.holder)) {
          throw isHeld(
            this.#of,
            found,
            "stop that process, or delete the run with { force: true }, which ends its lease",
          );
        }
        // Otherwise the call has failed for a reason of its own.
        if (found?.id === (seen ?? undefined)) throw error;
        seen = found?.id ?? null;
      }
    }
  }
}
