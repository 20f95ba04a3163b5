/**
 * Bytes in several pieces. Most pieces are bytes of an earlier save that are kept, so that a save need not copy them. The
 * bytes of a piece never change.
 */
export class Pieces {
  readonly pieces: readonly Uint8Array[];
  readonly byteLength: number;
  #whole: Uint8Array | undefined;

  constructor(pieces: readonly Uint8Array[], byteLength: number) {
    this.pieces = pieces;
    this.byteLength = byteLength;
  }

  /** The bytes in one piece. The first access copies all of them. */
  get whole(): Uint8Array {
    this.#whole ??= Buffer.concat(this.pieces, this.byteLength);
    return this.#whole;
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

/** The number of bytes from which on pieces are handed to the engine one by one. Fewer bytes are copied faster. */
const WORTH_PIECES = 64 << 10;

export function joined(pieces: readonly Uint8Array[], byteLength: number): Bytes {
  return byteLength < WORTH_PIECES ? Buffer.concat(pieces, byteLength) : new Pieces(pieces, byteLength);
}
