/**
 * Keeps the serialized bytes of the items of growing lists, such as the messages of a chat. A save compares each item
 * with its record (`leaves.ts`), and serializes only new and changed items.
 *
 * An item is found by object identity in any list. For example, a chat's message was first in a pending write, and
 * another channel, a subgraph or a fork may share it. Blocks hold items in insertion order, so most bytes of a grown
 * list come from one block. Block entries never change, so lists can share them.
 */

import { types } from "node:util";
import { isDense } from "../exact-json.js";
import { type Block, Grown, type Mark } from "./block.js";
import { type Leaves, PLAIN, dataProperty, hasToJson, isPlainObject, isUnchanged, record } from "./leaves.js";
import { evict } from "./memory.js";

/** How a format writes the items of a list. */
export interface ItemFormat {
  /** Serializes an item. Returns undefined if the list's bytes cannot be assembled from its items' bytes. */
  render(item: object): Uint8Array | undefined;
  /** The bytes between two items. */
  between?: Uint8Array;
  /** True if the format stores a repeated object only once. The items of a save then share no object. */
  keepsIdentity: boolean;
  /** True if the format stores holes and named properties of arrays. JSON has neither. */
  keepsHoles: boolean;
  /** Returns true if the outermost object of an item may be recorded. */
  accepts?: (item: object) => boolean;
  /** Returns the plain object that the format writes for a class instance, and undefined for other values. */
  plainOf?: (value: object) => object | undefined;
  /** Returns true if an item is slow to serialize, so that its bytes are worth keeping from the first save on. */
  isSlow?: (item: object) => boolean;
}

/** The minimum and maximum length of a list with kept bytes. The minimum is 1 if the items are slow to serialize. */
const [LEAST_ITEMS, MOST_ITEMS] = [16, 65_536];
/** The maximum depth of a search for lists in a value, and the maximum number of values it visits. */
const [MOST_DEEP, MOST_VALUES] = [3, 2_048];
/** The number of last items that are looked up to tell whether a list was saved before. */
const MOST_TRIES = 8;
/** The maximum number of full saves of a list after its kept bytes proved of little use. */
const MOST_SKIPPED = 64;

const NOTHING: Uint8Array = new Uint8Array();

/** The place of an item. It is outdated if the block has another object, or none, at the index. */
interface Place {
  readonly block: Block;
  readonly index: number;
}

/** True during a save. A save within a save serializes everything in full. */
let isSaving = false;
let lastSave = 0;

/** The number of the current moment. No value changes in it. Each save begins one, except within `atOneMoment`. */
let moment = 0;
let isOneMoment = false;

/**
 * Calls `work`. No value changes between its saves, so each item is compared only once. The channels of a checkpoint
 * often share messages.
 */
export function atOneMoment<T>(work: () => T): T {
  const isInside = isOneMoment;
  isOneMoment = true;
  moment += 1;
  try {
    return work();
  } finally {
    isOneMoment = isInside;
    // A user's toJSON may have called this function and changed values.
    moment += 1;
  }
}

export class GrowingLists {
  readonly #format: ItemFormat;
  readonly #places = new WeakMap<object, Place>();
  readonly #marks = new WeakMap<object, Mark>();
  /** The usefulness of a list's kept bytes, by the last item of the list at each save. */
  readonly #uses = new WeakMap<object, Use>();
  /** The block for the items of short lists. It can be garbage collected with them. */
  #loose: WeakRef<Block> | undefined;
  /** Blocks of the current save: in use, with an item moved away, and to be dropped at the end. */
  readonly #used = new Set<Block>();
  readonly #left = new Set<Block>();
  readonly #useless = new Set<Block>();

  constructor(format: ItemFormat) {
    this.#format = format;
  }

  /** Returns true if the value is a list of objects that is worth its bookkeeping. */
  mayGrow(value: unknown): value is object[] {
    if (!Array.isArray(value) || value.length === 0 || value.length > MOST_ITEMS) return false;
    const first: unknown = value[0];
    if (typeof first !== "object" || first === null || this.#format.plainOf?.(first) !== undefined) return false;
    return value.length >= LEAST_ITEMS || (this.#format.isSlow?.(first) ?? false);
  }

  /** Returns true if the value is a list that may grow, or a plain object or a list that contains one. */
  leadsToList(value: unknown, depth = 0, values = { left: MOST_VALUES }): value is object {
    if (typeof value !== "object" || value === null || types.isProxy(value)) return false;
    if (this.mayGrow(value)) return true;
    if (depth >= MOST_DEEP) return false;
    if (Array.isArray(value)) {
      for (const item of value) {
        if (--values.left < 0) return false;
        if (this.leadsToList(item, depth + 1, values)) return true;
      }
      return false;
    }
    const plain = this.#format.plainOf?.(value) ?? value;
    if (!isPlainObject(plain)) return false;
    for (const key in plain) {
      if (--values.left < 0) return false;
      if (this.leadsToList(dataProperty(plain, key)?.value, depth + 1, values)) return true;
    }
    return false;
  }

  /** Runs a save. Returns undefined if the value must be serialized in full. */
  save<T>(work: () => T): T | undefined {
    if (isSaving) return undefined;
    isSaving = true;
    lastSave += 1;
    if (!isOneMoment) moment += 1;
    try {
      return work();
    } finally {
      for (const block of this.#left) if (block.found === 0) this.#useless.add(block);
      for (const block of this.#used) if (!this.#useless.has(block)) block.keep();
      for (const block of this.#useless) block.drop();
      for (const blocks of [this.#used, this.#left, this.#useless]) blocks.clear();
      isSaving = false;
      evict();
    }
  }

  /** Returns true if this save has already written an item that contains the object. */
  isPlaced(object: object): boolean {
    return this.#marks.get(object)?.save === lastSave;
  }

  /**
   * Returns the bytes of a list. Returns undefined if the value must be serialized in full: in the first save of a
   * list, and if the list contains shared objects or anything but plain data.
   */
  grow(list: object[]): Grown | undefined {
    if (Object.getPrototypeOf(list) !== Array.prototype || hasToJson(list)) return undefined;
    if (this.#format.keepsHoles && !isDense(list)) return undefined;
    const last = list.slice(-MOST_TRIES).filter((item) => typeof item === "object" && item !== null);
    if (last.length === 0) return undefined;
    const isSlow = this.#format.isSlow?.(list[0]!) ?? false;
    // Most lists are saved only once, so bytes are kept from the second save on. Items that are slow to serialize are
    // kept from the first save on, because serializing them one by one takes no longer.
    const use = isSlow ? undefined : this.#useOf(last);
    if (use?.isSkipped()) return undefined;
    const grown = this.#grow(list, last);
    // Useless blocks must not take the memory of other lists.
    if (use?.isGivenUp(grown)) for (const block of grown?.made ?? []) this.#useless.add(block);
    return grown;
  }

  /** Returns the use of a list. A new list is skipped in its first save. */
  #useOf(last: readonly object[]): Use {
    const before = last.findLast((item) => this.#uses.has(item) || this.#placeOf(item) !== undefined);
    const use = (before && this.#uses.get(before)) ?? new Use(before === undefined);
    this.#uses.set(last.at(-1)!, use);
    return use;
  }

  #grow(list: object[], last: readonly object[]): Grown | undefined {
    const isShort = list.length < LEAST_ITEMS;
    const made = new Grown(isShort ? this.#looseBlock() : this.#homeOf(last), isShort);
    if (!this.#addAll(list, made) || !this.#mark(made)) return undefined;
    const grown = made.finish();
    for (const { block, from, to } of grown.runs) {
      if (grown !== made) this.#place(block, from, to);
      this.#used.add(block);
    }
    return grown;
  }

  #looseBlock(): Block | undefined {
    const block = this.#loose?.deref();
    return block?.isReleased ? undefined : block;
  }

  /** Returns the block that has the newest item of a long list. */
  #homeOf(last: readonly object[]): Block | undefined {
    for (let at = last.length - 1; at >= 0; at--) {
      const place = this.#placeOf(last[at]!);
      if (place !== undefined && !place.block.isLoose) return place.block;
    }
    return undefined;
  }

  #placeOf(object: object): Place | undefined {
    const place = this.#places.get(object);
    return place?.block.objects[place.index] === object ? place : undefined;
  }

  #place(block: Block, from: number, to: number): void {
    for (let index = from; index < to; index++) {
      const object = block.objects[index]!;
      const before = this.#placeOf(object)?.block;
      if (before !== undefined) {
        before.found -= 1;
        this.#left.add(before);
      }
      this.#places.set(object, { block, index });
      block.found += 1;
    }
  }

  /** Adds all items. Returns false if an item is not plain data. */
  #addAll(list: object[], grown: Grown): boolean {
    // Most items follow each other as in the last save.
    let [block, index]: [Block | undefined, number] = [undefined, 0];
    for (let at = 0; at < list.length; at++) {
      const object = list[at];
      if (typeof object !== "object" || object === null) return false;
      index += 1;
      if (block?.objects[index] !== object || !this.#isSame(object, block, index)) {
        // A changed object is found at its new place, though an old block may still have it.
        const place = this.#placeOf(object);
        [block, index] = [place?.block, place?.index ?? 0];
        if (block === undefined || !this.#isSame(object, block, index)) {
          if (!this.#render(object, grown)) return false;
          continue;
        }
      }
      if (block.isLoose && block !== grown.block) this.#add(grown, block.item(index));
      else grown.push(block, index);
    }
    // A toJSON of the user may have changed the list.
    return grown.length === list.length;
  }

  /** Returns true if an object is unchanged since the block got it. */
  #isSame(object: object, block: Block, index: number): boolean {
    if (block.compared[index] === moment) return true;
    if (!isUnchanged(object, block.leaves, block.leafStarts[index]!, this.#format.keepsHoles)) return false;
    block.compared[index] = moment;
    return true;
  }

  #add(grown: Grown, item: Parameters<Block["add"]>): void {
    const block = grown.add(...item);
    this.#place(block, block.objects.length - 1, block.objects.length);
    this.#used.add(block);
    if (block.isLoose && this.#loose?.deref() !== block) this.#loose = new WeakRef(block);
  }

  /** Serializes an object and adds it. Returns false if it is not plain data. */
  #render(object: object, grown: Grown): boolean {
    const { accepts, between = NOTHING, keepsIdentity, render } = this.#format;
    const leaves: Leaves = [];
    const objects: object[] = [];
    if (record(object, leaves, objects, accepts) < PLAIN) return false;
    const bytes = render(object);
    if (bytes === undefined) return false;
    const marks = keepsIdentity ? objects.map((each) => this.#markOf(each)) : [];
    this.#add(grown, [object, leaves, marks, bytes, between]);
    grown.rendered += 1;
    return true;
  }

  #markOf(object: object): Mark {
    const mark = this.#marks.get(object) ?? { save: 0 };
    this.#marks.set(object, mark);
    return mark;
  }

  /** Marks all objects, if the format keeps identity. Returns false if this save has already written one of them. */
  #mark({ runs }: Grown): boolean {
    if (!this.#format.keepsIdentity) return true;
    for (const { block, from, to } of runs) {
      const { marks, markStarts } = block;
      const end = to < markStarts.length ? markStarts[to]! : marks.length;
      for (let at = markStarts[from]!; at < end; at++) {
        if (marks[at]!.save === lastSave) return false;
        marks[at]!.save = lastSave;
      }
    }
    return true;
  }
}

/** Tracks the usefulness of a list's kept bytes. */
class Use {
  #toSkip: number;
  #penalty = 1;
  #wasWaste = false;

  constructor(isFirst: boolean) {
    this.#toSkip = isFirst ? 1 : 0;
  }

  /** Returns true if this save serializes the list in full. */
  isSkipped(): boolean {
    if (this.#toSkip === 0) return false;
    this.#toSkip -= 1;
    return true;
  }

  /** Updates the use after a save. Returns true if the next saves are skipped: after a failed or two wasteful ones. */
  isGivenUp(grown: Grown | undefined): boolean {
    const isWaste = grown === undefined || grown.rendered > grown.length / 2;
    const isGivenUp = grown === undefined || (isWaste && this.#wasWaste);
    if (isGivenUp) this.#toSkip = this.#penalty = Math.min(MOST_SKIPPED, this.#penalty * 2);
    else if (!isWaste) this.#penalty = 1;
    // The next save that is not skipped must serialize all items. The save after it shows whether its bytes are of use.
    this.#wasWaste = isWaste && !isGivenUp;
    return isGivenUp;
  }
}
