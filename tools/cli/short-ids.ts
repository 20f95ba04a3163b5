/** Shortens ids for a narrow terminal. A shortened id ends with "…", or has it in the middle, and commands accept it again. */

import { cut, cutStart, width } from "./width.js";

/** The sign for the part of an id that is left out. */
const LEFT_OUT = "…";

/** The minimum width of a shortened id. Prefixes of random ids of this width rarely meet. */
const SHORTEST = 9;

/** A column of ids never needs more than this width. An id that needs more is cut in its middle. */
const WIDEST = 22;

/** Ids that are shown together. */
export class ShortIds {
  /** The ids, sorted. An id stands beside those that have the longest prefix in common with it. */
  readonly #sorted: string[];
  /** The width that the column of these ids needs, so that no two of them look the same. */
  readonly least: number;

  /** `others` are ids that are not shown, and that prefixes must not fit either. */
  constructor(ids: readonly string[], others: readonly string[] = []) {
    this.#sorted = [...new Set([...ids, ...others])].toSorted(byCodeUnits);
    const needs = ids.map((id) => Math.min(width(id), Math.max(SHORTEST, this.#prefixOf(id) + 1), WIDEST));
    this.least = needs.reduce((most, need) => Math.max(most, need), 0);
  }

  /** Returns an id in at most this width: whole, as a prefix that no other id has, or as its begin and end. */
  fit(id: string, most: number): string {
    if (width(id) <= most) return id;
    const begin = cut(id, most);
    if (begin.length > this.#prefixOf(id)) return begin;
    const end = Math.floor((most - 1) / 2);
    return `${cut(id, most - end)}${cutStart(id, end)}`;
  }

  /** Returns the length of the shortest prefix that no other id has. */
  #prefixOf(id: string): number {
    const at = this.#placeOf(id);
    const beside = [this.#sorted[at - 1], this.#sorted[at + 1]];
    return beside.reduce((most, other) => Math.max(most, 1 + commonLength(id, other ?? "")), 1);
  }

  #placeOf(id: string): number {
    let [low, high] = [0, this.#sorted.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#sorted[middle]! < id) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function byCodeUnits(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

function commonLength(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length += 1;
  return length;
}

/** Returns a test for ids that a text shortens. Undefined: the text is not a shortened id. */
export function shortened(text: string): { prefix: string; fits: (id: string) => boolean } | undefined {
  const at = text.indexOf(LEFT_OUT);
  if (at < 1) return undefined;
  const [prefix, end] = [text.slice(0, at), text.slice(at + LEFT_OUT.length)];
  const fits = (id: string) => id.length >= prefix.length + end.length && id.startsWith(prefix) && id.endsWith(end);
  return { prefix, fits };
}
