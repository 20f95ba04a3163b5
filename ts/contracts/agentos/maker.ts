/**
 * Identifies the program of a run. The graph's id in a checkpoint is not enough, because all `AgentGraph`s have the
 * same name.
 */

import type { StoreHandle } from "../../store/handle.js";
import { processStamp } from "../../bridge/holder.js";
import { type Identity, encodeMark } from "../../store/mark.js";
import type { OwnProgram } from "../../store/owner.js";
import { Owner } from "./owner.js";

/** The maker of each store, by the store's handle. `recover` needs it. */
export const makers = new WeakMap<StoreHandle, Maker>();

export class Maker {
  readonly program: string | undefined;
  readonly version: string | undefined;
  /** Undefined without the option `program`. */
  readonly owner: Owner | undefined;
  readonly #isLeased: boolean;
  /** The identity of each graph, by its id from `compile()`. Null: two graphs have this id. */
  readonly #graphs = new Map<string, Identity | null>();

  constructor(handle: StoreHandle, program: OwnProgram | undefined, version: string | undefined) {
    this.program = program?.name;
    this.owner = program && new Owner(program);
    this.version = version;
    this.#isLeased = handle.isLeased;
    makers.set(handle, this);
  }

  /** Stores the identity of a graph, for the marks of its later checkpoints. */
  learn(graphId: string, identity: Identity): void {
    const known = this.#graphs.get(graphId);
    const isSame = known === undefined || (known?.shape === identity.shape && known?.program === identity.program);
    this.#graphs.set(graphId, isSame ? identity : null);
  }

  /** Returns the mark of a checkpoint that the program saves. Under a lease, the lease identifies the process. */
  markOf(graphId: string): string | undefined {
    const { program } = this;
    const identity = { ...this.#graphs.get(graphId), ...(program !== undefined && { program }) };
    return encodeMark(this.#isLeased ? identity : { ...identity, by: processStamp() });
  }
}
