/** Pairs the items of two lists by id, such as two versions of a message. */

import { isRecord } from "../bridge/json-form/form.js";
import type { Aligned } from "./alignment.js";
import type { Change } from "../plugin/views.js";

/** Returns the id of a message or another object. Null: there is none. */
function idOf(form: unknown): string | null {
  if (!isRecord(form) || Object.hasOwn(form, "$type")) return null;
  const { lc, kwargs } = form;
  // A message may be stored as its constructor's call. Its own key `id` is then the name of its class.
  const id = lc === 1 && isRecord(kwargs) ? kwargs["id"] : form["id"];
  return typeof id === "string" || typeof id === "number" ? `${typeof id} ${id}` : null;
}

/** Returns what identifies a pending write. */
function writeId(form: unknown): string | null {
  const { task, index } = form as { task?: unknown; index?: unknown };
  return `${String(task)}\0${String(index)}`;
}

/** Returns the function that identifies the items of a list. `isRoot`: the list is the part itself. */
export function identityIn(part: Change["part"], isRoot: boolean): (form: unknown) => string | null {
  return part === "writes" && isRoot ? writeId : idOf;
}

/**
 * Returns the pairs of items with the same id, in the order of both lists. An id that is repeated in a list is ignored.
 *
 * @param before the ids of the first list. Null: the item has no id.
 */
export function sameIds(
  before: ReadonlyArray<string | null>,
  after: ReadonlyArray<string | null>,
): Array<[before: number, after: number]> {
  const places = placesOf(after);
  const pairs: Array<[number, number]> = [];
  for (const [id, i] of placesOf(before)) {
    const j = places.get(id);
    if (i !== -1 && j !== undefined && j !== -1) pairs.push([i, j]);
  }
  return rising(pairs);
}

/** Returns the index of each id. -1: the id is repeated. */
function placesOf(ids: ReadonlyArray<string | null>): Map<string, number> {
  const places = new Map<string, number>();
  for (const [index, id] of ids.entries()) if (id !== null) places.set(id, places.has(id) ? -1 : index);
  return places;
}

/** Returns the longest subsequence of pairs with rising second indexes. The first indexes already rise. */
function rising(pairs: ReadonlyArray<[number, number]>): Array<[number, number]> {
  // `ends[n]` is the pair with the lowest second index that ends n + 1 rising pairs.
  const ends: number[] = [];
  const previous: number[] = [];
  for (const [at, [, j]] of pairs.entries()) {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (pairs[ends[middle]!]![1] < j) low = middle + 1;
      else high = middle;
    }
    previous[at] = low === 0 ? -1 : ends[low - 1]!;
    ends[low] = at;
  }
  const found: Array<[number, number]> = [];
  for (let at = ends.at(-1) ?? -1; at !== -1; at = previous[at]!) found.push(pairs[at]!);
  return found.toReversed();
}

/**
 * Aligns two parts of lists by id. `between` aligns the items before, between and after the pairs.
 *
 * @param before the indexes of the items in the first list.
 */
export function alignIds(
  before: readonly number[],
  after: readonly number[],
  [ids, idsAfter]: readonly [(index: number) => string | null, (index: number) => string | null],
  between: (before: number[], after: number[]) => Aligned[],
): Aligned[] {
  const aligned: Aligned[] = [];
  let [i, j] = [0, 0];
  const gap = (to: number, toAfter: number) => {
    if (i < to || j < toAfter)
      for (const each of between(before.slice(i, to), after.slice(j, toAfter))) aligned.push(each);
  };
  for (const [same, sameAfter] of sameIds(before.map(ids), after.map(idsAfter))) {
    gap(same, sameAfter);
    aligned.push([before[same]!, after[sameAfter]!]);
    [i, j] = [same + 1, sameAfter + 1];
  }
  gap(before.length, after.length);
  return aligned;
}
