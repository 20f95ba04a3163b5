/** The parts of a store's handle that scopes need. */

import type { RunKey } from "../bridge/native.js";
import type { Scope } from "../bridge/scope.js";
import type { Engine } from "./engine.js";
import type { HeldLease } from "./lease.js";

/** The contract of a store. */
export interface StoreContract {
  readonly name: string;
  /**
   * Undoes the work of a stopped run: the run continues from the checkpoint `to`. Null: from nothing. Missing: the
   * policy `"rollback"` is not supported.
   */
  undo?(engine: Engine, of: RunKey, to: string | null): Promise<void>;
}

export interface Host {
  readonly undo: StoreContract["undo"];
  run<T>(work: (engine: Engine) => Promise<T>, lease?: HeldLease | null): Promise<T>;
  leasing<T>(work: (engine: Engine, own: Set<HeldLease>) => Promise<T>): Promise<T>;
  scopeOf(of: RunKey): Scope | undefined;
  hold(): () => void;
}
