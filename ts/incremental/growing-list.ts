/** The kept bytes of one list, and the records of what is in its items. */

import { Chunk, chunkOf } from "../chunk.js";
import { type Leaves, compare } from "./leaves.js";
import { Holding } from "./memory.js";

/** Pieces are joined when there are more of them. */
const MOST_PIECES = 32;
const [LEAST_CHUNK, MOST_CHUNK] = [16 << 10, 4 << 20];
/** The greatest number of saves that do not try to use the kept bytes of a list, after they were of no use. */
const MOST_SKIPPED = 64;

/** About how much memory an item takes beside its bytes, and each value in its record. */
const [ITEM_BYTES, LEAF_BYTES] = [200, 8];

/** The beginning of the record of an item that must be serialised again. No object is of this kind. */
const STALE = Symbol("stale");

/** An item of a list, as it was serialised. */
export class Item {
  /** The list that holds the item, and the item's place, counted from the first item that the list ever held. */
  list: GrowingList;
  place = -1;
  /** The item's bytes and record. While a list holds the item, they are in the list. */
  bytes: Uint8Array | undefined;
  leaves: Leaves | undefined;

  constructor(list: GrowingList) {
    this.list = list;
  }
}

/** The bytes of a list's items, as they are now. */
export interface Grown {
  pieces: readonly Uint8Array[];
  byteLength: number;
}

/** The kept bytes of one list. */
export class GrowingList {
  /** The number of the save that has used this list last. */
  usedIn = 0;
  /** The number of items that were serialised in this save. */
  rendered = 0;
  readonly #forget: (object: object) => void;
  /** The number of items that were dropped from the beginning of the list. */
  #dropped = 0;
  #objects: object[] = [];
  /** Undefined: another list has taken the item. */
  #items: Array<Item | undefined> = [];
  /** Where the bytes of each item begin and end, counted from the first byte that the list ever held. */
  #starts: number[] = [];
  #ends: number[] = [];
  /** The position of the first byte that is kept, and of the end. */
  #from = 0;
  #to = 0;
  /** The records of all items, and where each begins, counted from the first value that the list ever held. */
  #leaves: Leaves = [];
  #leafStarts: number[] = [];
  #leafFrom = 0;
  #pieces: Uint8Array[] = [];
  /** The chunk that new bytes are appended to. */
  #chunk: Chunk | undefined;
  /** The objects whose items were removed in this save. */
  #removed: object[] = [];
  #toSkip = 0;
  #penalty = 1;
  #holding: Holding | undefined;

  constructor(forget: (object: object) => void) {
    this.#forget = forget;
  }

  /** The number of bytes of the items. */
  get length(): number {
    return this.#to - this.#from;
  }

  /** Returns true if the item is in this list. */
  holds(item: Item): boolean {
    return this.#items[item.place - this.#dropped] === item;
  }

  /** Returns true if this save has placed the item. */
  places(item: Item, save: number): boolean {
    return this.usedIn === save && this.holds(item);
  }

  /** Returns true if this save should not try to use the list. */
  skips(): boolean {
    if (this.#toSkip === 0) return false;
    this.#toSkip -= 1;
    return true;
  }

  /** Makes the next save that uses the item record it again. */
  spoil(item: Item): void {
    if (this.holds(item)) this.#leaves[this.#leafStarts[item.place - this.#dropped]! - this.#leafFrom] = STALE;
    else item.leaves = undefined;
  }

  /** Takes an item out of this list, with its bytes and its record. If it stays in the list, returns a copy of it. */
  giveTo(list: GrowingList, item: Item): Item {
    if (!this.holds(item)) return item;
    const given = list === this ? new Item(this) : item;
    const index = item.place - this.#dropped;
    this.#fill(given, index, this.#pieceOf(index, 0));
    if (given !== item) return given;
    this.#leaves[this.#leafStarts[index]! - this.#leafFrom] = STALE;
    this.#items[index] = undefined;
    return given;
  }

  /** Removes the items before this one. */
  dropBefore(item: Item): void {
    const count = item.place - this.#dropped;
    if (count <= 0 || !this.holds(item)) return;
    this.#remove(0, count);
    this.#leaves.splice(0, this.#leafStarts[0]! - this.#leafFrom);
    this.#leafFrom = this.#leafStarts[0]!;
    this.#dropped += count;
    let left = this.#starts[0]! - this.#from;
    this.#from = this.#starts[0]!;
    let whole = 0;
    while (whole < this.#pieces.length && left >= this.#pieces[whole]!.length) left -= this.#pieces[whole++]!.length;
    this.#pieces.splice(0, whole);
    if (left > 0) this.#pieces[0] = this.#pieces[0]!.subarray(left);
  }

  /** Returns how many items at the beginning of the list are unchanged. */
  countSame(list: object[]): number {
    const objects = this.#objects;
    const leaves = this.#leaves;
    const most = Math.min(list.length, objects.length);
    let leaf = 0;
    for (let at = 0; at < most; at++) {
      const object = list[at]!;
      if (objects[at] !== object) return at;
      leaf = compare(object, leaves, leaf);
      if (leaf < 0) return at;
    }
    return most;
  }

  /** Keeps this many items, and removes those after them. */
  cut(count: number): void {
    if (count === this.#objects.length) return;
    const leaf = this.#leafStarts[count]!;
    this.#remove(count, this.#objects.length);
    this.#leaves.length = leaf - this.#leafFrom;
    const to = count === 0 ? this.#from : this.#ends[count - 1]!;
    while (this.#to > to) {
      const last = this.#pieces.pop()!;
      this.#to -= last.length;
      if (this.#to < to) {
        this.#pieces.push(last.subarray(0, to - this.#to));
        this.#to = to;
      }
    }
  }

  /** Removes items, and gives them their bytes and records. */
  #remove(from: number, to: number): void {
    let place = { piece: 0, start: this.#from };
    for (let index = from; index < to; index++) {
      const item = this.#items[index];
      if (item !== undefined) {
        place = this.#pieceOf(index, place.piece, place.start);
        this.#fill(item, index, place);
      }
      this.#removed.push(this.#objects[index]!);
    }
    this.#objects.splice(from, to - from);
    this.#items.splice(from, to - from);
    this.#starts.splice(from, to - from);
    this.#ends.splice(from, to - from);
    this.#leafStarts.splice(from, to - from);
  }

  /** Finds the piece that contains the bytes of an item, from this piece on, and the position at which the piece begins. */
  #pieceOf(index: number, first: number, firstStart = this.#from): { piece: number; start: number } {
    let piece = first;
    let start = firstStart;
    while (start + this.#pieces[piece]!.length < this.#ends[index]!) start += this.#pieces[piece++]!.length;
    return { piece, start };
  }

  #fill(item: Item, index: number, { piece, start }: { piece: number; start: number }): void {
    item.bytes = this.#pieces[piece]!.subarray(this.#starts[index]! - start, this.#ends[index]! - start);
    const [leaf, end] = [this.#leafStarts[index]!, this.#leafStarts[index + 1] ?? this.#leafFrom + this.#leaves.length];
    item.leaves = this.#leaves.slice(leaf - this.#leafFrom, end - this.#leafFrom);
  }

  /** Adds an item at the end. `gap` is what stands before it. */
  add(object: object, item: Item, gap: Uint8Array | undefined): void {
    if (gap !== undefined) this.#append(gap);
    this.#starts.push(this.#to);
    this.#append(item.bytes!);
    this.#ends.push(this.#to);
    this.#leafStarts.push(this.#leafFrom + this.#leaves.length);
    for (const leaf of item.leaves!) this.#leaves.push(leaf);
    item.bytes = undefined;
    item.leaves = undefined;
    item.list = this;
    item.place = this.#dropped + this.#objects.length;
    this.#objects.push(object);
    this.#items.push(item);
  }

  #append(bytes: Uint8Array): void {
    const { length } = bytes;
    if (length === 0) return;
    if (this.#chunk === undefined || this.#chunk.free < length) {
      this.#chunk = new Chunk(Math.max(length, LEAST_CHUNK, Math.min(MOST_CHUNK, this.length)));
    }
    const chunk = this.#chunk.bytes;
    const start = this.#chunk.append(bytes);
    const last = this.#pieces.at(-1);
    this.#to += length;
    // The bytes continue the last piece if that one ends where they begin.
    if (last?.buffer === chunk.buffer && last.byteOffset + last.length === start) {
      this.#pieces[this.#pieces.length - 1] = chunk.subarray(last.byteOffset, start + length);
    } else this.#pieces.push(chunk.subarray(start, start + length));
  }

  /** Returns the bytes of the items, and adds the length of each item to `lengths`. */
  grown(lengths?: number[]): Grown {
    if (this.#pieces.length > MOST_PIECES) this.#compact();
    if (lengths !== undefined) for (const [at, end] of this.#ends.entries()) lengths.push(end - this.#starts[at]!);
    return { pieces: [...this.#pieces], byteLength: this.length };
  }

  /** Ends a save that has used this list. */
  endSave(): void {
    this.#forgetRemoved();
    // If most items had to be serialised in two saves, the kept bytes are of no use for the next saves.
    const isWaste = this.rendered > this.#items.length / 2;
    this.rendered = 0;
    if (isWaste && this.#penalty > 1) return this.abandon();
    this.#penalty = isWaste ? 2 : 1;
    this.#holding ??= new Holding(this);
    this.#holding.set(this.#size(), this.#chunks());
  }

  /** Gives up the kept bytes, and skips the next saves. */
  abandon(): void {
    this.#penalty = Math.min(MOST_SKIPPED, this.#penalty * 2);
    this.#toSkip = this.#penalty;
    this.release();
    this.#holding?.set(0, []);
  }

  /** Gives up the kept bytes. */
  release(): void {
    this.rendered = 0;
    for (const chunk of this.#chunks()) chunk.release();
    this.cut(0);
    this.#forgetRemoved();
    this.#chunk = undefined;
  }

  #forgetRemoved(): void {
    for (const object of this.#removed) this.#forget(object);
    this.#removed = [];
  }

  /** Copies all pieces into one. */
  #compact(): void {
    const [pieces, length] = [this.#pieces, this.length];
    this.#pieces = [];
    this.#chunk = new Chunk(length + Math.min(MOST_CHUNK, length));
    this.#to = this.#from;
    for (const piece of pieces) this.#append(piece);
  }

  /** The chunks that the pieces lie in. */
  #chunks(): Chunk[] {
    const chunks: Chunk[] = [];
    for (const piece of this.#pieces) {
      const chunk = chunkOf(piece);
      if (chunk !== undefined && !chunks.includes(chunk)) chunks.push(chunk);
    }
    return chunks;
  }

  /** About how much memory this list takes beside its chunks, in bytes. */
  #size(): number {
    return this.#leaves.length * LEAF_BYTES + this.#items.length * ITEM_BYTES;
  }
}
