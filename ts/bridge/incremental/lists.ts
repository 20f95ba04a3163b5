/**
 * Keeps the serialized bytes of lists that grow, such as the messages of a chat. A save compares each item with its
 * record (`leaves.ts`), and serializes only the items that are new or have changed.
 *
 * A block maps the contents of an object to its bytes. Entries are added and never changed. A save makes a new list of
 * these entries, which replaces the previous list when the save ends. If the bytes may not be right, the save drops the
 * list, and the value is serialized in full.
 */

import { types } from "node:util";
import { isDense } from "../exact-json.js";
import { type Block, Grown, type Mark, type Run } from "./block.js";
import { type Leaves, PLAIN, compare, dataProperty, hasToJson, isPlainObject, record } from "./leaves.js";
import { Holding, evict } from "./memory.js";

/** How a format writes the items of a list. */
export interface ItemFormat {
  /** Serializes an item. Returns undefined if the bytes of the list cannot be put together from those of its items. */
  render(item: object): Uint8Array | undefined;
  /** The bytes between two items. */
  between?: Uint8Array;
  /** True if the format stores an object once that a value contains twice. The items of a save then share no object. */
  keepsIdentity: boolean;
  /** Returns true if the outermost object of an item may be recorded. */
  accepts?: (item: object) => boolean;
  /** Returns true if an item takes so long to serialize that its bytes are worth keeping from the first save on. */
  isSlow?: (item: object) => boolean;
}

/**
 * The minimum and maximum length of a list whose bytes are kept. If the items are slow to serialize, the minimum is 1.
 */
const [LEAST_ITEMS, MOST_ITEMS] = [16, 65_536];
/** The maximum depth, and the maximum number of keys, at which lists are searched in a value. */
const [MOST_DEEP, MOST_KEYS] = [3, 2_048];
/** How many of a list's last items are checked to find the record of the list from an earlier save. */
const MOST_TRIES = 8;
/** How many of the next items are compared with a searched item before a map of all items is built. */
const NEAR = 32;
/** The maximum number of saves that ignore the bytes of a list after these bytes saved too little work. */
const MOST_SKIPPED = 64;

/** True while a save runs. A save within a save serializes everything in full. */
let isSaving = false;
let lastSave = 0;

export class GrowingLists {
  readonly #format: ItemFormat;
  /** Each list, by its items. */
  readonly #lists = new WeakMap<object, KeptList>();
  readonly #marks = new WeakMap<object, Mark>();
  /** The lists that the current save has made. */
  #made: Array<[KeptList, Grown]> = [];

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

  /** Returns true if the value is a list that may grow, or a plain object or a list of one item that contains one. */
  leadsToList(value: unknown, depth = 0, keys = { left: MOST_KEYS }): value is object {
    if (typeof value !== "object" || value === null || types.isProxy(value)) return false;
    if (this.mayGrow(value)) return true;
    if (depth >= MOST_DEEP) return false;
    if (Array.isArray(value)) return value.length === 1 && this.leadsToList(value[0], depth + 1, keys);
    if (!isPlainObject(value)) return false;
    for (const key in value) {
      if (--keys.left < 0) return false;
      if (this.leadsToList(dataProperty(value, key)?.value, depth + 1, keys)) return true;
    }
    return false;
  }

  /** Runs a save. Returns undefined if the value must be serialized in full. */
  save<T>(work: () => T): T | undefined {
    if (isSaving) return undefined;
    isSaving = true;
    lastSave += 1;
    try {
      return work();
    } finally {
      for (const [list, grown] of this.#made) this.#keep(list, grown);
      this.#made = [];
      isSaving = false;
      evict();
    }
  }

  /** Returns true if an item that this save has written contains the object. */
  isPlaced(object: object): boolean {
    return this.#marks.get(object)?.save === lastSave;
  }

  /**
   * Returns the bytes of a list. Returns undefined if the value must be serialized in full: in the first save of a
   * list, and if the list contains shared objects or anything but plain data.
   */
  grow(list: object[]): Grown | undefined {
    if (Object.getPrototypeOf(list) !== Array.prototype || hasToJson(list) || !isDense(list)) return undefined;
    const last = list.slice(-MOST_TRIES).filter((item) => typeof item === "object" && item !== null);
    if (last.length === 0) return undefined;
    const found = last.findLast((item) => this.#lists.has(item));
    const known = found === undefined ? new KeptList() : this.#lists.get(found)!;
    if (known.usedIn === lastSave) return undefined;
    known.usedIn = lastSave;
    // Most lists are saved only once, so keep the bytes of a list only from its second save on.
    if (found === undefined ? this.#format.isSlow?.(list[0]!) : known.isUsed()) {
      const grown = new Grown(known.grown?.block, known.grown?.byteLength);
      if (this.#addAll(list, known, grown) && this.#mark(grown)) {
        const finished = grown.finish();
        if (finished !== grown) grown.release(known.grown?.blocks ?? []);
        this.#made.push([known, finished]);
        return finished;
      }
      known.abandon();
      grown.release([]);
    }
    this.#lists.set(last.at(-1)!, known);
    return undefined;
  }

  /** Adds all items. Returns false if one is no plain data. */
  #addAll(list: object[], known: KeptList, grown: Grown): boolean {
    const before = new Cursor(known.grown?.runs ?? []);
    for (let at = 0; at < list.length; at++) {
      const object = list[at];
      if (typeof object !== "object" || object === null) return false;
      if (before.object !== object && this.#lists.get(object) === known) before.find(object);
      const { block, index } = before;
      const isSame = before.object === object && compare(object, block!.leaves, block!.leafStarts[index]!) >= 0;
      if (isSame) grown.push(block!, index);
      else if (!this.#render(object, grown)) return false;
      before.next();
    }
    // A toJSON of the user may have changed the list.
    return grown.length === list.length;
  }

  /** Serializes an object and adds it. Returns false if it is no plain data. */
  #render(object: object, grown: Grown): boolean {
    const { accepts, between, keepsIdentity, render } = this.#format;
    const leaves: Leaves = [];
    const objects: object[] = [];
    if (record(object, leaves, objects, accepts) < PLAIN) return false;
    const bytes = render(object);
    if (bytes === undefined) return false;
    const marks = keepsIdentity ? objects.map((each) => this.#markOf(each)) : [{ save: 0 }];
    grown.add(object, leaves, marks, bytes, between);
    grown.added.push(object);
    return true;
  }

  #markOf(object: object): Mark {
    const mark = this.#marks.get(object) ?? { save: 0 };
    this.#marks.set(object, mark);
    return mark;
  }

  /** Marks all objects. Returns false if this save has written one before. */
  #mark({ runs }: Grown): boolean {
    const { keepsIdentity } = this.#format;
    for (const { block, from, to } of runs) {
      const { marks, markStarts } = block;
      const end = to < markStarts.length ? markStarts[to]! : marks.length;
      for (let at = markStarts[from]!; at < end; at++) {
        if (marks[at]!.save === lastSave && keepsIdentity) return false;
        marks[at]!.save = lastSave;
      }
    }
    return true;
  }

  /** Stores the result of a save for a list. From now on, exactly the current items of the list lead to it. */
  #keep(known: KeptList, grown: Grown): void {
    const before = known.grown;
    if (before !== undefined && grown.length - grown.added.length < before.length) {
      for (const { block, from, to } of before.runs) {
        for (let at = from; at < to; at++) {
          const object = block.objects[at]!;
          const isLeft = block.marks[block.markStarts[at]!]!.save !== lastSave;
          if (isLeft && this.#lists.get(object) === known) this.#lists.delete(object);
        }
      }
    }
    for (const object of grown.added) this.#lists.set(object, known);
    known.keep(grown);
  }
}

/** A cursor over the items that a list had at the end of its last save. */
class Cursor {
  readonly #runs: readonly Run[];
  #run = -1;
  #to = 0;
  #places: Map<object, readonly [run: number, index: number]> | undefined;
  block: Block | undefined;
  index = 0;
  /** The current item. Undefined at the end. */
  object: object | undefined;

  constructor(runs: readonly Run[]) {
    this.#runs = runs;
    this.next();
  }

  next(): void {
    if (this.index + 1 < this.#to) this.object = this.block!.objects[++this.index];
    else if (this.#run + 1 < this.#runs.length) this.#goTo(this.#run + 1, this.#runs[this.#run + 1]!.from);
    else [this.#to, this.object] = [0, undefined];
  }

  #goTo(run: number, index: number): void {
    const { block, to } = this.#runs[run]!;
    [this.#run, this.#to, this.block, this.index, this.object] = [run, to, block, index, block.objects[index]];
  }

  /** Moves to an object. Does not move if the list did not have the object. */
  find(object: object): void {
    const end = Math.min(this.#to, this.index + NEAR);
    for (let near = this.index + 1; near < end; near++)
      if (this.block!.objects[near] === object) return this.#goTo(this.#run, near);
    if (this.#places === undefined) {
      this.#places = new Map();
      for (const [run, { block, from, to }] of this.#runs.entries())
        for (let at = from; at < to; at++) this.#places.set(block.objects[at]!, [run, at]);
    }
    const place = this.#places.get(object);
    if (place !== undefined) this.#goTo(...place);
  }
}

/** A list, and the result of its last save. */
class KeptList {
  grown: Grown | undefined;
  /** The number of the save that has used this list last. */
  usedIn = 0;
  #toSkip = 0;
  #penalty = 1;
  #holding: Holding | undefined;

  /** Returns false if this save should not try to use the bytes. */
  isUsed(): boolean {
    if (this.#toSkip === 0) return true;
    this.#toSkip -= 1;
    return false;
  }

  /** Ends a save that has used this list. */
  keep(grown: Grown): void {
    this.grown = grown;
    this.#holding ??= new Holding(this);
    const others = grown.blocks.map((block) => block.others).reduce((sum, each) => sum + each);
    const chunks = grown.blocks.map(({ chunk }) => chunk);
    this.#holding.set(others, chunks);
    // If most items had to be serialized in two saves, the bytes are of no use for the next saves.
    const isWaste = grown.added.length > grown.length / 2;
    if (isWaste && this.#penalty > 1) this.abandon();
    else this.#penalty = isWaste ? 2 : 1;
  }

  /** Drops the bytes, and does not use this list in the next saves. */
  abandon(): void {
    this.#penalty = Math.min(MOST_SKIPPED, this.#penalty * 2);
    this.#toSkip = this.#penalty;
    this.release();
    this.#holding?.set(0, []);
  }

  release(): void {
    this.grown = undefined;
  }
}
