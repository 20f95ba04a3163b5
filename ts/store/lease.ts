/** Options of leases, and the functions that take and read them. */

import type { LeaseHolder } from "../bridge/forkpoint-error.js";
import { show, typeError } from "../bridge/errors.js";
import type { NativeStore, RunKey } from "../bridge/native.js";
import { HeldLease, type Leasing } from "./held-lease.js";
import { isHeld } from "./lease-name.js";
import { type FoundLease, leaseCalls as calls } from "./lease-wire.js";
import { type OptionParser, readRecord, signalOption, whole } from "./options.js";

export { HeldLease, type Lease, releaseAll, storeClock } from "./held-lease.js";
export { isHeld } from "./lease-name.js";

/** Options of `lease()`. */
export interface LeaseOptions {
  /**
   * How long the lease stays valid without a renewal, in ms, at least 100. It is renewed every third of this time.
   * After a crash, other machines wait this long. Default: 30,000.
   */
  ttlMs?: number;
  /** If this signal aborts before the lease is taken, `lease()` rejects with the signal's reason and takes no lease. */
  signal?: AbortSignal;
}

export const TTL_MS = 30_000;

/** Takes the lease of a run. Rejects with `CONFLICT` if another holder has it. `own` lists the leases of the caller. */
export async function takeLease(
  engine: Leasing,
  of: RunKey,
  options: unknown,
  own: Set<HeldLease>,
  { passive = false } = {},
): Promise<HeldLease> {
  const { ttlMs = TTL_MS, signal } = readRecord(options, "options", leaseOptions);
  signal?.throwIfAborted();
  const lease = await HeldLease.take(engine, of, { ttlMs, passive, scoped: passive }, own);
  if (!(lease instanceof HeldLease)) throw isHeld(of, lease as LeaseHolder);
  if (!signal?.aborted) return lease;
  await lease.release();
  throw signal.reason;
}

/** Reads the lease of a run, even if it has expired. */
export async function leaseOfRun(native: NativeStore, of: RunKey): Promise<FoundLease | null> {
  return (await calls.call(native, "read", { of })).lease;
}

/** Reads the holders of the leases of a contract's runs, in one query. Ignores expired leases. */
export async function holdersOf(
  native: NativeStore,
  space: string,
  runs: string[],
): Promise<Array<LeaseHolder | null>> {
  return runs.length === 0 ? [] : calls.call(native, "held", { space, runs });
}

/** Returns a store whose writing calls carry the lease. */
export function fenced(native: NativeStore, lease: HeldLease): NativeStore {
  return { ...native, fence: lease };
}

export const ttlOption: OptionParser<number> = whole(100, 2 ** 31 - 1, "milliseconds");

const leaseOptions = { ttlMs: ttlOption, signal: signalOption };

export const leaseOption: OptionParser<HeldLease> = (value, name) => {
  if (HeldLease.is(value)) return value;
  throw typeError(`${name} must be a lease from store.lease(), but is ${show(value)}`);
};

/** Parses the option `lease` of a class that takes leases by itself. Returns `ttlMs`, or undefined without leases. */
export const ownLeaseOption: OptionParser<number | undefined> = (value, name) => {
  if (value === false) return undefined;
  if (value === true) return TTL_MS;
  if (value === undefined || value === null || typeof value !== "object")
    throw typeError(`${name} must be true or an object such as { ttlMs: 30_000 }, but is ${show(value)}`);
  return readRecord(value, name, { ttlMs: ttlOption }).ttlMs ?? TTL_MS;
};
