/** Removes runs that no process is working on. */

import { endedLease, isOvertaken, isOwnError } from "../bridge/errors.js";
import type { Fence, NativeStore, RunKey } from "../bridge/native.js";
import { currentScope, scopeOf } from "../bridge/scope.js";
import type { StoreHandle } from "./handle.js";
import { hasEnded } from "../bridge/holder.js";
import { idOrNull } from "./ids.js";
import { HeldLease, isHeld, leaseOfRun } from "./lease.js";
import { flag, readRecord } from "./options.js";

/** Options of a method that deletes a run. */
export interface DeleteOptions {
  /**
   * What happens if a process holds the lease of the run. False: the call rejects with `CONFLICT`. True: the run and
   * its lease are deleted, and that process can no longer write to the run. Default: false.
   */
  force?: boolean;
}

export const deleteOptions = { force: flag };

/** Reads the options of a method that deletes a run. */
export function forced(options: unknown): boolean {
  return readRecord(options, "options", deleteOptions).force ?? false;
}

/** Returns a store for deleting a run: see {@link DeleteOptions}. The holder of the lease may delete the run. */
export function removing(native: NativeStore, of: RunKey, force: boolean): NativeStore {
  const fence = native.fence ?? scopeOf(native, of)?.fence ?? new Unheld(native, of, force);
  return { ...native, fence };
}

/** True if a process holds the lease of a run. */
export const isLeased = async (native: NativeStore, of: RunKey): Promise<boolean> =>
  (await leaseOfRun(native, of))?.valid === true;

/** Removes a run for a retention rule. Returns false if the run has changed since it was read, or is leased. */
export async function removeIfFree(
  native: NativeStore,
  of: RunKey,
  remove: (native: NativeStore) => Promise<unknown>,
): Promise<boolean> {
  try {
    await remove(removing(native, of, false));
    return true;
  } catch (error) {
    // The loss of the caller's own lease is an error.
    const isLeased = native.fence === undefined && isOwnError(error) && error.code === "CONFLICT";
    if (!isLeased && !isOvertaken(error)) throw error;
    return false;
  }
}

/**
 * Deletes a checkpoint that only its id names. In a scope, the call carries the scope's lease. The engine looks up the
 * run, and rejects the call if another process has leased it.
 */
export function deleteCheckpoint(
  handle: StoreHandle,
  checkpointId: string,
  remove: (native: NativeStore, id: string) => Promise<unknown>,
): Promise<void> {
  return handle.run(async ({ native }) => {
    const id = idOrNull(checkpointId, "checkpointId");
    if (id === null) return;
    await remove({ ...native, fence: new Others(native, handle.contract.name) }, id);
    // Its run may have had only this checkpoint, and may then restart.
    handle.seen.clear();
  });
}

/** Runs a call on an unknown run only if nobody else holds its lease. */
class Others implements Fence {
  /** The lease that the call carries. */
  readonly #carried: HeldLease | undefined;
  /** The ids of the leases of the scopes around the call. */
  readonly #own: readonly string[];

  constructor(native: NativeStore, space: string) {
    const isOf = (fence: unknown): fence is HeldLease => HeldLease.is(fence) && fence.isOf(native);
    const own: HeldLease[] = [];
    for (let scope = currentScope(); scope !== undefined; scope = scope.outer) {
      if (isOf(scope.fence)) own.push(scope.fence);
    }
    this.#own = own.map(({ id }) => id);
    if (isOf(native.fence)) this.#carried = native.fence;
    else if (own[0]?.of.space === space) this.#carried = own[0];
  }

  guard<T>(work: (fence: object) => Promise<T>): Promise<T> {
    const own = this.#own;
    const attempt = async (held: object): Promise<T> => {
      try {
        return await work({ ...held, own });
      } catch (error) {
        const ended = endedLease(error);
        if (ended === undefined) throw error;
        return work({ ...held, own: [...own, ended] });
      }
    };
    return this.#carried === undefined ? attempt({}) : this.#carried.guard(attempt);
  }
}

/** Runs a call only if no process holds the run's lease. The check is in the call's own transaction. */
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
    // Few runs have a lease, so read it only after a conflict.
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
        // The lease is as expected, so the call failed for another reason.
        if (found?.id === (seen ?? undefined)) throw error;
        seen = found?.id ?? null;
      }
    }
  }
}
