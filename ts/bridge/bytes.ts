import { type Chunk, chunkOf } from "./chunk.js";

/**
 * Bytes in several pieces. Most pieces come from an earlier save, so that a save need not copy them. The bytes of a
 * piece never change. Their memory is freed after the save that made them has ended.
 */
export class Pieces {
  readonly pieces: readonly Uint8Array[];
  readonly byteLength: number;
  #whole: Uint8Array | undefined;
  #chunks: Chunk[] | undefined;

  constructor(pieces: readonly Uint8Array[], byteLength: number) {
    this.pieces = pieces;
    this.byteLength = byteLength;
  }

  /** The bytes in one piece. The first access copies all of them. */
  get whole(): Uint8Array {
    this.#whole ??= Buffer.concat(this.inMemory(), this.byteLength);
    return this.#whole;
  }

  /** Returns the pieces. Throws if their memory is freed. */
  inMemory(): readonly Uint8Array[] {
    let left = this.byteLength;
    for (const { length } of this.pieces) left -= length;
    if (left !== 0) throw new Error("the bytes of a value were used after its save had ended");
    return this.pieces;
  }

  /** Keeps the chunks of the pieces in memory until `letGo` is called. Each `hold` needs its own `letGo`. */
  hold(): this {
    this.#chunks ??= [...new Set(this.pieces.map(chunkOf))].filter((chunk) => chunk !== undefined);
    for (const chunk of this.#chunks) chunk.hold();
    return this;
  }

  letGo(): void {
    for (const chunk of this.#chunks ?? []) chunk.letGo();
  }
}

export type Bytes = Uint8Array | Pieces;

export function whole(bytes: Bytes): Uint8Array {
  return bytes instanceof Pieces ? bytes.whole : bytes;
}

/** Returns a range of the bytes, without a copy. */
export function rangeOfBytes(bytes: Bytes, start: number, end: number): Bytes {
  if (!(bytes instanceof Pieces)) return bytes.subarray(start, end);
  const range: Uint8Array[] = [];
  let position = 0;
  for (const piece of bytes.pieces) {
    const part = piece.subarray(Math.max(0, start - position), Math.max(0, end - position));
    if (part.length > 0) range.push(part);
    position += piece.length;
  }
  return new Pieces(range, end - start);
}

/** The minimum size in bytes for handing pieces to the engine one by one. Copying fewer bytes is faster. */
const WORTH_PIECES = 64 << 10;

/** Joins pieces. The result may still refer to the chunks of the pieces. */
export function joined(pieces: readonly Uint8Array[], byteLength: number): Bytes {
  return byteLength < WORTH_PIECES ? Buffer.concat(pieces, byteLength) : new Pieces(pieces, byteLength).hold();
}
