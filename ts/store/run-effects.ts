/**
 * Remembers the effects of a run that has stored nothing else yet. They are deleted with the run, so they show that a run
 * without a checkpoint was deleted.
 */

import type { Exact } from "../bridge/wire.js";
import { type EffectAddress, effectCalls, findEffect } from "./effect-wire.js";
import type { Engine } from "./engine.js";

export class RunEffects {
  /** By their idempotency keys, in the order in which the run began or shared them. */
  readonly #effects = new Map<string, EffectAddress>();
  #last: EffectAddress | undefined;
  #incarnation: Exact | undefined;

  get isEmpty(): boolean {
    return this.#last === undefined;
  }

  /** The incarnation of these effects. It changes if all of them are deleted. Undefined: unknown. */
  get incarnation(): Exact | undefined {
    return this.#incarnation;
  }

  /** Notes an effect of the run that is stored. */
  note(address: EffectAddress, idempotencyKey: string, incarnation?: Exact | null): void {
    this.#incarnation ??= incarnation ?? undefined;
    this.#effects.set(idempotencyKey, address);
    this.#last = address;
  }

  /** True if the run was not deleted before an effect was stored in this incarnation. Null: unknown. */
  async areBefore(native: Engine["native"], incarnation: Exact | null): Promise<boolean> {
    const own = this.#incarnation;
    return own === undefined || incarnation === null ? this.areStored(native) : incarnation === own;
  }

  /** Notes that the run itself forgets its effects with this key, or all of them. */
  forget(key: string | undefined): void {
    for (const [name, address] of this.#effects)
      if (key === undefined || address.key === key) this.#effects.delete(name);
    this.#last = [...this.#effects.values()].at(-1);
    // The incarnation ends with the last effect.
    this.#incarnation = undefined;
  }

  /** False if all effects are gone. The run was then deleted, and may have begun again. */
  async areStored(native: Engine["native"]): Promise<boolean> {
    const last = this.#last;
    if (last === undefined) return true;
    const { effect } = await findEffect(native, last);
    if (effect !== null && this.#effects.has(effect.idempotencyKey)) return true;
    // Somebody may have forgotten this effect alone.
    const { effects } = await effectCalls.call(native, "list", { of: last.of });
    return effects.some(({ idempotencyKey }) => this.#effects.has(idempotencyKey));
  }
}
