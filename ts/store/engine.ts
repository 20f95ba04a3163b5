import type { Activity, Backlog } from "./backlog.js";
import type { HeldLease } from "./lease.js";
import type { NativeStore } from "../bridge/native.js";
import type { Retention } from "./options.js";
import type { Format } from "../bridge/serializer.js";

/** The parts of an open store for the contracts' stores. */
export interface Engine {
  readonly native: NativeStore;
  /** True if the store consists of text files. */
  readonly keepsText: boolean;
  readonly format: Format;
  readonly retention: Retention;
  /** Resolves when the store is open. Rejects if the store cannot be opened. */
  readonly ready: Promise<void>;
  /** Counts the operations in progress. `close` waits until they end. */
  readonly activity: Activity;
  /** The snapshots that are not stored yet. */
  readonly backlog: Backlog;
  /** The leases that this process holds. */
  readonly leases: Set<HeldLease>;
}
