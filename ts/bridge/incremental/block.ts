/** The bytes of the items of lists, in blocks, and the lists that saves make of them. */

import { Chunk } from "../chunk.js";
import type { Leaves } from "./leaves.js";

/** The bytes are copied into a new block if they lie in more pieces. */
const MOST_PIECES = 32;
const [LEAST_BLOCK, MOST_BLOCK] = [16 << 10, 4 << 20];
/** About how much memory an item takes beside its bytes, each mark, and each value in its record. */
const [ITEM_BYTES, MARK_BYTES, LEAF_BYTES] = [100, 80, 8];

const NOTHING: Uint8Array = new Uint8Array();

/** The number of the last save that wrote the object. */
export interface Mark {
  save: number;
}

/** Serialized items. Each list has the entries of the first item, then the entries of the second item, and so on. */
export class Block {
  readonly chunk: Chunk;
  readonly objects: object[] = [];
  /** The offsets at which the bytes of each item begin and end. */
  readonly starts: number[] = [];
  readonly ends: number[] = [];
  readonly leaves: Leaves = [];
  readonly leafStarts: number[] = [];
  /** The mark of each object and, if the format keeps identity, those of the objects in it. */
  readonly marks: Mark[] = [];
  readonly markStarts: number[] = [];

  constructor(byteLength: number) {
    this.chunk = new Chunk(byteLength);
  }

  add(object: object, leaves: Leaves, marks: readonly Mark[], bytes: Uint8Array, between: Uint8Array): void {
    this.objects.push(object);
    this.leafStarts.push(this.leaves.length);
    for (const leaf of leaves) this.leaves.push(leaf);
    this.markStarts.push(this.marks.length);
    for (const mark of marks) this.marks.push(mark);
    const start = this.chunk.append(bytes);
    this.starts.push(start);
    this.ends.push(start + bytes.length);
    this.chunk.append(between);
  }

  /** Returns where the bytes of the next item begin. */
  next(index: number): number {
    return index + 1 < this.starts.length ? this.starts[index + 1]! : this.chunk.bytes.length - this.chunk.free;
  }

  /** Returns an item as the arguments of `add`. */
  item(at: number): Parameters<Block["add"]> {
    const leaves = this.leaves.slice(this.leafStarts[at], this.leafStarts[at + 1]);
    const marks = this.marks.slice(this.markStarts[at], this.markStarts[at + 1]);
    const bytes = this.chunk.bytes.subarray(this.starts[at], this.ends[at]);
    return [this.objects[at]!, leaves, marks, bytes, this.chunk.bytes.subarray(this.ends[at], this.next(at))];
  }

  /** About how much memory the items take beside their bytes. */
  get others(): number {
    return this.objects.length * ITEM_BYTES + this.marks.length * MARK_BYTES + this.leaves.length * LEAF_BYTES;
  }
}

/** A range of items of a block that are consecutive in a list. `to` is the index after the last item. */
export interface Run {
  readonly block: Block;
  readonly from: number;
  to: number;
}

/** A list as a save has made it. */
export class Grown {
  readonly runs: Run[] = [];
  length = 0;
  /** The objects that were serialized. */
  added: object[] = [];
  /** The bytes of the list. Empty until `finish`. */
  pieces: Uint8Array[] = [];
  byteLength: number;
  /** The block that new items are added to. */
  block: Block | undefined;

  /** `byteLength` is about how many bytes the list will have. */
  constructor(block: Block | undefined, byteLength = 0) {
    this.block = block;
    this.byteLength = byteLength;
  }

  /** The blocks that the items lie in, and the one that new items are added to. */
  get blocks(): Block[] {
    return [...new Set([...this.runs.map(({ block }) => block), this.block])].filter((block) => block !== undefined);
  }

  /** Releases the memory of the blocks, without those of `kept`. */
  release(kept: readonly Block[]): void {
    for (const block of this.blocks) if (!kept.includes(block)) block.chunk.release();
  }

  push(block: Block, index: number): void {
    const last = this.runs.at(-1);
    if (last?.block === block && last.to === index) last.to += 1;
    else this.runs.push({ block, from: index, to: index + 1 });
    this.length += 1;
  }

  add(object: object, leaves: Leaves, marks: readonly Mark[], bytes: Uint8Array, between = NOTHING): void {
    const length = bytes.length + between.length;
    if (this.block === undefined || this.block.chunk.free < length)
      this.block = new Block(Math.max(length, LEAST_BLOCK, Math.min(MOST_BLOCK, this.byteLength)));
    this.block.add(object, leaves, marks, bytes, between);
    this.byteLength += length;
    this.push(this.block, this.block.objects.length - 1);
  }

  finish(): Grown {
    this.#makePieces();
    if (this.runs.length <= MOST_PIECES) return this;
    const moved = new Grown(undefined, 2 * this.byteLength);
    moved.added = this.added;
    for (const { block, from, to } of this.runs) for (let at = from; at < to; at++) moved.add(...block.item(at));
    moved.#makePieces();
    return moved;
  }

  #makePieces(): void {
    const last = this.runs.length - 1;
    this.pieces = this.runs.map(({ block, from, to }, at) =>
      // Leave out the separator after the last item.
      block.chunk.bytes.subarray(block.starts[from], at === last ? block.ends[to - 1] : block.next(to - 1)),
    );
    this.byteLength = this.pieces.reduce((sum, { length }) => sum + length, 0);
  }
}
