/** The parts of a store's handle that scopes need. */

import type { RunKey } from "../bridge/native.js";
import type { Scope } from "../bridge/scope.js";
import type { Engine } from "./engine.js";
import type { HeldLease } from "./lease.js";
import type { Seen } from "./seen.js";

/** How a contract undoes the work of a stopped run, for the policy `"rollback"`. The effects stay. */
export interface Undo {
  /** Returns the place to which an undo goes back. Null: nothing is stored. Default: the id of the newest checkpoint. */
  placeOf?(engine: Engine, of: RunKey): Promise<string | null>;
  /** Goes back to a place: the next work on the run continues from there. Null: from nothing. */
  goBack(engine: Engine, of: RunKey, place: string | null): Promise<void>;
}

/** The contract of a store. */
export interface StoreContract {
  readonly name: string;
  /** Default: see the trait `goesBack`. */
  readonly undo?: Undo;
}

export interface Host {
  readonly contract: StoreContract;
  readonly seen: Pick<Seen, "forgetRun">;
  readonly closing: boolean;
  run<T>(work: (engine: Engine) => Promise<T>, lease?: HeldLease | null): Promise<T>;
  leasing<T>(work: (engine: Engine, own: Set<HeldLease>) => Promise<T>): Promise<T>;
  scopeOf(of: RunKey): Scope | undefined;
  hold(): () => void;
}
