/** The calls of leases and of requests about them: see `engine/src/contract/lease.rs`. */

import type { CallsOf } from "../bridge/calls.js";
import type * as engine from "../bridge/calls.generated.js";
import type { LeaseHolder } from "../bridge/forkpoint-error.js";
import { Contract } from "../bridge/wire.js";

export type Holding = engine.lease.Holding;
export type FoundLease = engine.lease.Lease;
export type LeaseRequest = engine.lease.Found;
export type Asked = engine.lease.Asked;

type LeaseCalls = CallsOf<engine.lease.Call, engine.lease.Responses>;

const kinds = {
  read: null,
  clock: null,
  held: null,
  take: null,
  renew: null,
  release: null,
  requests: null,
  ask: null,
  wait: null,
  withdraw: null,
};

export const leaseCalls = new Contract<LeaseCalls>("lease", {
  kinds,
  fences: false,
  subject: ({ of, space }) => ({ space: of?.space ?? space, run: of?.run, ns: of?.ns }),
});

/** The reason why a lease was not taken. */
export type NotTaken =
  /**
   * Another process holds the lease. It expires after `leftMs`, measured on the store's clock only. `id` is the lease's.
   * Without `id`, another process gets the lease next. `from` is null if it is not known where the holder's work began.
   */
  | (LeaseHolder & {
      leftMs: number;
      id?: string;
      from?: string | null | undefined;
      now: number;
      requests: LeaseRequest[];
    })
  /** Too many holders crashed in a row, each from the same checkpoint and while it recovered only this run. */
  | { crashes: number }
  /** The last holder crashed from the same checkpoint. `suspected` is the number that `crashes` would have. */
  | { suspected: number };
