/** Shortens ids for a narrow terminal, with "…" at the end or in the middle. Commands accept shortened ids. */

import { cut, cutStart, width } from "./width.js";

/** The sign for the left-out part of an id. */
const LEFT_OUT = "…";

/** The minimum width of a shortened id. Prefixes of random ids of this width rarely collide. */
const SHORTEST = 9;

/** The maximum width of a column of ids. A longer id is cut in its middle. */
const WIDEST = 22;

/** Ids that are shown together. */
export class ShortIds {
  /** The sorted ids. The neighbors of an id have the longest common prefixes with it. */
  readonly #sorted: string[];
  /** The minimum width of the column at which all ids differ. */
  readonly least: number;

  /** `others` are hidden ids, which shortened ids must not match either. */
  constructor(ids: readonly string[], others: readonly string[] = []) {
    this.#sorted = [...new Set([...ids, ...others])].toSorted(byCodeUnits);
    const needs = ids.map((id) => Math.min(width(id), Math.max(SHORTEST, this.#prefixOf(id) + 1), WIDEST));
    this.least = needs.reduce((most, need) => Math.max(most, need), 0);
  }

  /** Returns an id in at most this width: completely, as a unique prefix, or as its beginning and end. */
  fit(id: string, most: number): string {
    if (width(id) <= most) return id;
    const begin = cut(id, most);
    if (begin.length > this.#prefixOf(id)) return begin;
    const end = Math.floor((most - 1) / 2);
    return `${cut(id, most - end)}${cutStart(id, end)}`;
  }

  /** Returns the length of the shortest unique prefix. */
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

/** Returns a test for ids that match a shortened one. Undefined: the text is not a shortened id. */
export function shortened(text: string): { prefix: string; fits: (id: string) => boolean } | undefined {
  const at = text.indexOf(LEFT_OUT);
  if (at < 1) return undefined;
  const [prefix, end] = [text.slice(0, at), text.slice(at + LEFT_OUT.length)];
  const fits = (id: string) => id.length >= prefix.length + end.length && id.startsWith(prefix) && id.endsWith(end);
  return { prefix, fits };
}
