/** The calls of leases and of requests about them: see `engine/src/contract/lease.rs`. */

import type { CallsOf } from "../bridge/calls.js";
import type * as engine from "../bridge/calls.generated.js";
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
