/**
 * Keeps the serialised bytes of lists that grow, such as the messages of a chat. A save compares each item with its record
 * (`leaves.ts`) and serialises only the items that are new or have changed. The bytes of the others are kept from the last
 * save.
 */

import { inspect } from "node:util";
import { type Grown, GrowingList, Item } from "./growing-list.js";
import { compare, hasToJson, record } from "./leaves.js";

/** How a format writes the items of a list. */
export interface ItemFormat {
  /** Serialises an item. Returns undefined if the bytes of the list cannot be put together from those of its items. */
  render(item: object): Uint8Array | undefined;
  /** Returns what stands before the item with this index, which would begin at this position of the list's items. */
  gap(index: number, position: number): Uint8Array | undefined;
  /** True if the format stores an object once that a value contains twice. The bytes of items then share no object. */
  keepsIdentity: boolean;
  /** Returns true if the outermost object of an item may be recorded. */
  accepts?: (item: object) => boolean;
  /** Returns true if an item takes so long to serialise that its bytes are worth keeping from the first save on. */
  isSlow?: (item: object) => boolean;
}

/** Lists with fewer items are serialised as a whole, which takes less time. */
const LEAST_ITEMS = 16;
/** Longer lists are serialised as a whole. */
const MOST_ITEMS = 65_536;
/** How many of the last items are looked at to find the list that a save had stored before. */
const MOST_TRIES = 8;
/** The keys of longer lists are not listed. */
const MOST_KEYS = 1_500;

/** The lists of one format. */
export class GrowingLists {
  readonly #format: ItemFormat;
  readonly #items = new WeakMap<object, Item>();
  /** The lists whose items are not kept, by their last item at the last save. */
  readonly #trails = new WeakMap<object, GrowingList>();
  /** The item that each object belongs to. Only used if the format keeps identity. */
  readonly #owners = new WeakMap<object, Item>();
  #save = 0;
  /** The lists that this save has used. */
  #used: GrowingList[] = [];

  constructor(format: ItemFormat) {
    this.#format = format;
  }

  /** Returns true if the value is a list of objects that is worth its bookkeeping. */
  mayGrow(value: unknown): value is object[] {
    if (!Array.isArray(value) || value.length === 0 || value.length > MOST_ITEMS) return false;
    const first: unknown = value[0];
    if (typeof first !== "object" || first === null) return false;
    return value.length >= LEAST_ITEMS || (this.#format.isSlow?.(first) ?? false);
  }

  /**
   * Runs a save. A list must be the same list only once in each save. What the save has placed stays known until its end,
   * so that it finds every object that is shared.
   */
  save<T>(work: () => T): T {
    this.#save += 1;
    try {
      return work();
    } finally {
      const used = this.#used;
      this.#used = [];
      for (const list of used) list.endSave();
    }
  }

  /** Returns true if an item that this save has placed contains the object. */
  isPlaced(object: object): boolean {
    const owner = this.#owners.get(object);
    return owner !== undefined && owner.list.places(owner, this.#save);
  }

  /**
   * Brings the kept bytes of a list up to date, and adds the length of each item to `lengths`. Returns undefined if the
   * value must be serialised as a whole: if the list is seen for the first time, or if it contains anything but plain data
   * that is not shared.
   */
  grow(list: object[], lengths?: number[]): Grown | undefined {
    if (!isPlainList(list)) return undefined;
    let known = this.#find(list);
    const last = list[list.length - 1]!;
    if (known === undefined) {
      if (typeof last !== "object" || last === null) return undefined;
      known = new GrowingList(this.#forget);
      // Most lists are saved only once. So the items of a list are kept only if one of them is met again.
      if (!this.#format.isSlow?.(list[0]!)) {
        this.#trails.set(last, known);
        return undefined;
      }
    }
    if (known.usedIn === this.#save) return undefined;
    if (known.skips()) {
      this.#trails.set(last, known);
      return undefined;
    }
    known.usedIn = this.#save;
    if (this.#update(known, list)) {
      this.#used.push(known);
      return known.grown(lengths);
    }
    known.abandon();
    this.#trails.set(last, known);
    return undefined;
  }

  #find(list: object[]): GrowingList | undefined {
    const end = Math.max(0, list.length - MOST_TRIES);
    for (let at = list.length - 1; at >= end; at--) {
      const object = list[at];
      if (typeof object !== "object" || object === null) return undefined;
      const known = this.#items.get(object)?.list ?? this.#trails.get(object);
      if (known !== undefined) return known;
    }
    return undefined;
  }

  #update(known: GrowingList, list: object[]): boolean {
    const first = this.#items.get(list[0]!);
    if (first?.list === known) known.dropBefore(first);
    const same = known.countSame(list);
    known.cut(same);
    for (let at = same; at < list.length; at++) {
      const object = list[at];
      if (typeof object !== "object" || object === null) return false;
      const item = this.#itemOf(object, known);
      if (item === undefined) return false;
      known.add(object, item, this.#format.gap(at, known.length));
    }
    return true;
  }

  /** Returns the item of an object, with the bytes and the record that it has now. */
  #itemOf(object: object, list: GrowingList): Item | undefined {
    const { keepsIdentity, accepts, render } = this.#format;
    const before = this.#items.get(object);
    if (before !== undefined && keepsIdentity && before.list.places(before, this.#save)) return undefined;
    if (before !== undefined) {
      const item = before.list.giveTo(list, before);
      if (item.leaves !== undefined && compare(object, item.leaves, 0) === item.leaves.length) {
        this.#items.set(object, item);
        return item;
      }
    }
    const item = new Item(list);
    item.leaves = [];
    const objects: object[] = [];
    if (!record(object, item.leaves, objects, accepts)) return undefined;
    if (keepsIdentity && !this.#own(objects, item)) return undefined;
    item.bytes = render(object);
    if (item.bytes === undefined) return undefined;
    list.rendered += 1;
    this.#items.set(object, item);
    return item;
  }

  /** Makes the item the owner of its objects. Returns false if it shares one with another item of this save. */
  #own(objects: object[], item: Item): boolean {
    for (let at = 0; at < objects.length; at++) {
      const object = objects[at]!;
      const owner = this.#owners.get(object);
      if (owner !== undefined) {
        if (owner === item || owner.list.places(owner, this.#save)) return false;
        // The two items share an object. If both are ever saved together, the old owner must find that out.
        owner.list.spoil(owner);
      }
      this.#owners.set(object, item);
    }
    return true;
  }

  /** Forgets an object that its list does not hold any more. */
  readonly #forget = (object: object): void => {
    const item = this.#items.get(object);
    if (item !== undefined && !item.list.holds(item)) this.#items.delete(object);
  };
}

/** Returns true if the list is an array without a class and without named properties. */
function isPlainList(list: object[]): boolean {
  if (Object.getPrototypeOf(list) !== Array.prototype || hasToJson(list)) return false;
  // A list of the keys contains every index.
  if (list.length <= MOST_KEYS) return Object.keys(list).length === list.length;
  // This finds named properties without a look at the items.
  if (inspect(list, WITHOUT_ITEMS) === `[ ... ${list.length} more items ]`) return true;
  return Object.keys(list).length === list.length;
}

const WITHOUT_ITEMS = { depth: 0, maxArrayLength: 0, breakLength: Number.POSITIVE_INFINITY, customInspect: false };
