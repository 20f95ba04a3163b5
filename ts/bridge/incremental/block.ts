/** Blocks of serialized items, and the lists that saves assemble from them. */

import { Chunk } from "../chunk.js";
import type { Leaves } from "./leaves.js";
import { Holding } from "./memory.js";

/** The most pieces of a list. If it has more, its bytes are copied into a new block. */
const MOST_PIECES = 32;
const [LEAST_BLOCK, MOST_BLOCK] = [16 << 10, 4 << 20];
/** The size of a block for the items of short lists. */
const LOOSE_BLOCK = 64 << 10;
/** The approximate memory of an item in addition to its bytes, of a mark, and of a value in a record. */
const [ITEM_BYTES, MARK_BYTES, LEAF_BYTES] = [150, 80, 8];

/** The last save, by its number, that wrote an object. */
export interface Mark {
  save: number;
}

/** Serialized items. Entries are only added, never changed. Each array lists the entries of all items, in order. */
export class Block {
  readonly chunk: Chunk;
  /** True if the block has items of many short lists. */
  readonly isLoose: boolean;
  isReleased = false;
  /** The number of items whose newest copy is here. The others have changed or were moved. */
  found = 0;
  /** Empty after `release`. */
  objects: object[] = [];
  /** The offsets at which the bytes of each item begin and end. */
  starts: number[] = [];
  ends: number[] = [];
  leaves: Leaves = [];
  leafStarts: number[] = [];
  /** If the format keeps identity: the marks of the objects in each item. */
  marks: Mark[] = [];
  markStarts: number[] = [];
  /** The moment of the last comparison of each item: see `lists.ts`. */
  compared: number[] = [];
  readonly #holding = new Holding(this);

  constructor(byteLength: number, isLoose: boolean) {
    this.chunk = new Chunk(byteLength);
    this.isLoose = isLoose;
  }

  add(object: object, leaves: Leaves, marks: readonly Mark[], bytes: Uint8Array, between: Uint8Array): void {
    this.objects.push(object);
    this.compared.push(0);
    this.leafStarts.push(this.leaves.length);
    for (const leaf of leaves) this.leaves.push(leaf);
    this.markStarts.push(this.marks.length);
    for (const mark of marks) this.marks.push(mark);
    const start = this.chunk.append(bytes);
    this.starts.push(start);
    this.ends.push(start + bytes.length);
    this.chunk.append(between);
  }

  /** Returns the offset of the next item's bytes. */
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

  /** Counts the memory of the block and makes it the most recently used one. */
  keep(): void {
    const others = this.objects.length * ITEM_BYTES + this.marks.length * MARK_BYTES + this.leaves.length * LEAF_BYTES;
    this.#holding.set(others, [this.chunk]);
  }

  /** Drops the items. Frees their bytes as soon as no save uses them. */
  drop(): void {
    this.keep();
    this.#holding.give();
  }

  /** Drops the items. */
  release(): void {
    this.isReleased = true;
    [this.objects, this.compared] = [[], []];
    [this.starts, this.ends, this.leaves, this.leafStarts, this.marks, this.markStarts] = [[], [], [], [], [], []];
  }
}

/** Items of a block that are consecutive in a list. `to` is the index after the last item. */
export interface Run {
  readonly block: Block;
  readonly from: number;
  to: number;
}

/** A list while a save assembles it. */
export class Grown {
  readonly runs: Run[] = [];
  length = 0;
  /** The number of items that were serialized. */
  rendered = 0;
  /** The bytes of the list. Empty until `finish`. */
  pieces: Uint8Array[] = [];
  byteLength = 0;
  /** The block that items are added to. */
  block: Block | undefined;
  /** The blocks that were made for the list. */
  readonly made: Block[] = [];
  /** The size in bytes of the next block. Each block is twice as large as the one before. */
  #size: number;
  readonly #isLoose: boolean;

  /** New items go to `block`, then to new blocks. `isLoose` is true if these hold the items of short lists. */
  constructor(block: Block | undefined, isLoose: boolean, size = 2 * (block?.chunk.bytes.length ?? 0)) {
    this.block = block;
    this.#size = isLoose ? LOOSE_BLOCK : Math.max(size, LEAST_BLOCK);
    this.#isLoose = isLoose;
  }

  /** Adds an item that is already in a block. */
  push(block: Block, index: number): void {
    const last = this.runs.at(-1);
    if (last?.block === block && last.to === index) last.to += 1;
    else this.runs.push({ block, from: index, to: index + 1 });
    this.length += 1;
  }

  /** Adds a new item. Returns its block. */
  add(...item: Parameters<Block["add"]>): Block {
    const [, , , bytes, between] = item;
    const length = bytes.length + between.length;
    if (this.block === undefined || this.block.chunk.free < length) {
      this.block = new Block(Math.max(length, Math.min(MOST_BLOCK, this.#size)), this.#isLoose);
      this.made.push(this.block);
      if (!this.#isLoose) this.#size *= 2;
    }
    this.block.add(...item);
    this.push(this.block, this.block.objects.length - 1);
    return this.block;
  }

  /** Assembles the bytes. Moves the items into one block if they are in many pieces. */
  finish(): Grown {
    this.#makePieces();
    if (this.runs.length <= MOST_PIECES) return this;
    const moved = new Grown(undefined, false, 2 * this.byteLength);
    moved.rendered = this.rendered;
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
