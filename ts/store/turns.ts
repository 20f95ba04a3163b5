/** Turns of the calls that wait for runs: each of them looks for its run again and again. */

import type { NativeStore } from "../bridge/native.js";

/** How many calls may look at the same time. */
const TOGETHER = 4;
/** The longest pause after a look, in ms. */
const LONGEST = 100;

/**
 * Lets few waiting calls of a store look at the same time, with pauses. Without that, the looks of a thousand of them would
 * hold up the calls of those that work, which then lose their leases.
 */
export class Turns {
  #looking = 0;
  readonly #waiting: Array<() => void> = [];

  /** Makes a look in its turn. */
  async take<T>(look: () => Promise<T>): Promise<T> {
    if (this.#looking < TOGETHER) this.#looking += 1;
    else await new Promise<void>((go) => this.#waiting.push(go));
    const began = performance.now();
    try {
      return await look();
    } finally {
      setTimeout(() => this.#pass(), Math.min(performance.now() - began, LONGEST));
    }
  }

  #pass(): void {
    const go = this.#waiting.shift();
    if (go === undefined) this.#looking -= 1;
    else go();
  }
}

const turns = new WeakMap<object, Turns>();

/** The turns of a store. */
export function turnsOf({ handle }: NativeStore): Turns {
  const found = turns.get(handle) ?? new Turns();
  turns.set(handle, found);
  return found;
}
