/** Memory that is filled from start to end. Written bytes never change. */

/** Lets the engine keep the memory of chunks: see `ts/bridge/native.ts`. */
export interface ChunkKeeper {
  /** Returns the number of the memory for later calls. */
  keep(bytes: Uint8Array): number;
  drop(number: number): void;
}

let lastSerial = 0;

/** Frees the memory of an unused buffer. */
let free: (buffer: ArrayBufferLike) => void = () => {};

/** Sets the function that frees a buffer. Without it, the garbage collector frees the buffers of released chunks. */
export function freeChunksWith(how: typeof free): void {
  free = how;
}

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
  /** The number of values and calls that use the memory. */
  #users = 0;

  constructor(length: number) {
    this.bytes = Buffer.allocUnsafeSlow(length);
    chunks.set(this.bytes.buffer, this);
  }

  get free(): number {
    return this.bytes.length - this.#used;
  }

  /** Appends bytes and returns their offset. */
  append(bytes: Uint8Array): number {
    const start = this.#used;
    this.bytes.set(bytes, start);
    this.#used += bytes.length;
    return start;
  }

  /**
   * Hands the memory to the engine, which keeps it until `release`, and returns its number. Returns undefined after
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

  /** Keeps the memory until `letGo`, even after `release`. */
  hold(): void {
    this.#users += 1;
  }

  letGo(): void {
    this.#users -= 1;
    this.#freeIfUnused();
  }

  /** Tells the engine to drop its reference to the memory. The memory is freed as soon as nothing holds it. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#keeper?.drop(this.#number);
    this.#keeper = undefined;
    this.#freeIfUnused();
  }

  #freeIfUnused(): void {
    if (this.#isReleased && this.#users === 0) free(this.bytes.buffer);
  }
}
