/** Limits the memory of all kept bytes of this thread. Evicts the least recently used bytes first. */

import type { Chunk } from "../chunk.js";

/** The limit in bytes. */
let most = 64 << 20;

/** An owner of kept bytes. `release` drops them. */
type Keeper = { release(): void };

/** The memory in use, the least recently used first. */
const holdings = new Set<Holding>();
let total = 0;

/** Keepers are referenced weakly, so that a list can be garbage collected after its last use. */
const collected = new FinalizationRegistry<Holding>((holding) => holding.set(0, []));

/** Returns the approximate number of bytes that this thread keeps to speed up saves. */
export function keptBytes(): number {
  return total;
}

/** Changes the limit. Only tests call this function. */
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

  /** Sets the keeper's current memory: its chunks, and `others` further bytes. */
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
