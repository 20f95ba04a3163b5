/** Limits the memory of all kept bytes of this thread. Evicts the least recently used bytes first. */

import type { Chunk } from "../chunk.js";

/** The limit in bytes. */
let most = 64 << 20;

/** An owner of kept bytes. `release` drops them. */
type Keeper = { release(): void };

/** The holdings, the least recently used first. */
const holdings = new Set<Holding>();
let total = 0;

/** The keepers are referenced weakly, so that a list can be collected as soon as its user drops it. */
const collected = new FinalizationRegistry<Holding>((holding) => holding.set(0, []));

/** Returns about how many bytes this thread keeps to make saves faster. */
export function keptBytes(): number {
  return total;
}

/** Sets another limit. Tests do it. */
export function limitKeptBytes(bytes = 64 << 20): void {
  most = bytes;
}

/** Releases the least recently used holdings until the total is within the limit. */
export function evict(): void {
  for (const oldest of holdings) {
    if (total <= most) return;
    oldest.give();
  }
}

/** The memory that one keeper uses. */
export class Holding {
  readonly #keeper: WeakRef<Keeper>;
  #bytes = 0;
  #chunks: readonly Chunk[] = [];

  constructor(keeper: Keeper) {
    this.#keeper = new WeakRef(keeper);
    collected.register(keeper, this);
  }

  /** Sets the memory that the keeper uses now: its chunks, and `others` bytes in addition. */
  set(others: number, chunks: readonly Chunk[]): void {
    for (const chunk of this.#chunks) if (!chunks.includes(chunk)) chunk.release();
    this.#chunks = chunks;
    const bytes = chunks.reduce((sum, chunk) => sum + chunk.bytes.length, others);
    total += bytes - this.#bytes;
    this.#bytes = bytes;
    holdings.delete(this);
    if (bytes > 0) holdings.add(this);
  }

  give(): void {
    this.#keeper.deref()?.release();
    this.set(0, []);
  }
}
