/** Memory that is filled from its beginning to its end. Written bytes never change. */

/** How the engine keeps the memory of chunks: see `ts/bridge/native.ts`. */
export interface ChunkKeeper {
  /** Returns a number by which later calls refer to the memory. */
  keep(bytes: Uint8Array): number;
  drop(number: number): void;
}

let lastSerial = 0;

const chunks = new WeakMap<ArrayBufferLike, Chunk>();

export function chunkOf({ buffer }: Uint8Array): Chunk | undefined {
  return chunks.get(buffer);
}

export class Chunk {
  /** No other chunk of this thread has this number. */
  readonly serial = ++lastSerial;
  readonly bytes: Buffer;
  #used = 0;
  #keeper: ChunkKeeper | undefined;
  #number = 0;
  #isReleased = false;

  constructor(length: number) {
    this.bytes = Buffer.allocUnsafeSlow(length);
    chunks.set(this.bytes.buffer, this);
  }

  get free(): number {
    return this.bytes.length - this.#used;
  }

  /** Appends bytes, and returns where they begin. */
  append(bytes: Uint8Array): number {
    const start = this.#used;
    this.bytes.set(bytes, start);
    this.#used += bytes.length;
    return start;
  }

  /**
   * Hands the memory to the engine, which keeps it until `release`. Returns its number. Returns undefined after
   * `release`, because no later `release` would free the memory.
   */
  keptBy(keeper: ChunkKeeper): number | undefined {
    if (this.#isReleased) return undefined;
    if (this.#keeper === undefined) {
      this.#number = keeper.keep(this.bytes);
      this.#keeper = keeper;
    }
    return this.#number;
  }

  /** Tells the engine to drop its reference to the memory. The bytes do not change. */
  release(): void {
    this.#isReleased = true;
    this.#keeper?.drop(this.#number);
    this.#keeper = undefined;
  }
}
