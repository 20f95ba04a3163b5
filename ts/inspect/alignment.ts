/** Aligns two lists: finds the item of the second list that corresponds to each item of the first. */

/** The indexes of two aligned items. Null: the list has no such item. */
export type Aligned = [before: number | null, after: number | null];

/** The longest part of a list for which the longest common subsequence is computed. */
const LONGEST = 2_000;

/**
 * Aligns two lists of numbers. Equal items have equal numbers. Equal items at the start and the end are aligned first,
 * and then the longest common subsequence of the rest. `paired` aligns the items between. If the lists are too long for
 * that, `long` aligns the rest.
 */
export function align(
  before: readonly number[],
  after: readonly number[],
  paired: (before: number[], after: number[]) => Aligned[],
  long: (before: number[], after: number[]) => Aligned[] = byIndex,
): Aligned[] {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  const aligned: Aligned[] = [];
  for (let i = 0; i < head; i++) aligned.push([i, i]);
  const [ends, endsAfter] = [before.length - tail, after.length - tail];
  if (ends - head > LONGEST || endsAfter - head > LONGEST) {
    for (const each of long(range(head, ends), range(head, endsAfter))) aligned.push(each);
  } else {
    let [i, j] = [head, head];
    const gap = (to: number, toAfter: number) => {
      for (const each of paired(range(i, to), range(j, toAfter))) aligned.push(each);
    };
    for (const [same, sameAfter] of common(before, after, [head, ends], [head, endsAfter])) {
      gap(same, sameAfter);
      aligned.push([same, sameAfter]);
      [i, j] = [same + 1, sameAfter + 1];
    }
    gap(ends, endsAfter);
  }
  for (let i = 0; i < tail; i++) aligned.push([ends + i, endsAfter + i]);
  return aligned;
}

/** Aligns the items of two lists by their order. */
export function byIndex(before: readonly number[], after: readonly number[]): Aligned[] {
  const length = Math.max(before.length, after.length);
  return Array.from({ length }, (_, i): Aligned => [before[i] ?? null, after[i] ?? null]);
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}

/** Returns the index pairs of the longest common subsequence of two ranges. */
function common(
  before: readonly number[],
  after: readonly number[],
  [from, to]: [number, number],
  [fromAfter, toAfter]: [number, number],
): Array<[number, number]> {
  // Leave out items that only one list has. They are in no common subsequence, and the table below grows with the
  // product of both lengths.
  const [held, heldAfter] = [new Set(before.slice(from, to)), new Set(after.slice(fromAfter, toAfter))];
  const places = range(from, to).filter((i) => heldAfter.has(before[i]!));
  const placesAfter = range(fromAfter, toAfter).filter((j) => held.has(after[j]!));
  const items = Int32Array.from(places, (i) => before[i]!);
  const itemsAfter = Int32Array.from(placesAfter, (j) => after[j]!);
  const width = itemsAfter.length + 1;
  // `lengths[i * width + j]` is the length of the longest common subsequence from the items i and j on.
  const lengths = new Uint16Array((items.length + 1) * width);
  for (let i = items.length - 1; i >= 0; i--) {
    const item = items[i]!;
    let right = 0;
    for (let j = itemsAfter.length - 1, at = i * width + j; j >= 0; j--, at--) {
      const below = lengths[at + width]!;
      if (item === itemsAfter[j]!) right = lengths[at + width + 1]! + 1;
      else if (below > right) right = below;
      lengths[at] = right;
    }
  }
  const found: Array<[number, number]> = [];
  for (let i = 0, j = 0; i < items.length && j < itemsAfter.length;) {
    const at = i * width + j;
    if (items[i] === itemsAfter[j]) found.push([places[i++]!, placesAfter[j++]!]);
    else if (lengths[at + width]! >= lengths[at + 1]!) i += 1;
    else j += 1;
  }
  return found;
}
