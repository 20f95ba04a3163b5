/** Memory that is filled from its beginning to its end. Written bytes never change. */

/** How the engine keeps the memory of chunks: see `ts/bridge/native.ts`. */
export interface ChunkKeeper {
  /** Returns a number by which later calls refer to the memory. */
  keep(bytes: Uint8Array): number;
  drop(number: number): void;
}

let lastSerial = 0;

/** Frees the memory of a buffer that nothing uses any more. */
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
  /** The values and the calls that use the memory. */
  #users = 0;

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

  /** Keeps the memory until `letGo`, although it may be released. */
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
