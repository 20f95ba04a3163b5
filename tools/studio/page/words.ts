// Finds the different words of two texts, by removing their equal beginnings and ends.

/** The number of equal characters shown on each side. */
const AROUND = 60;

/** The length at which words are shown in part, in characters. */
const LONG = 40;

const isSpace = (character: string | undefined): boolean => character === undefined || /\s/.test(character);

/** Returns the different parts of two texts, with some text around them. */
export function changedWords(before: string, after: string) {
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before[start] === after[start]) start += 1;
  // Go back to the start of the word, unless both texts are at a space or the word is very long.
  if (!isSpace(before[start]) || !isSpace(after[start])) {
    const wall = Math.max(0, start - LONG);
    let begin = start;
    while (begin > wall && !isSpace(before[begin - 1])) begin -= 1;
    if (begin > wall || begin === 0) start = begin;
  }
  let end = 0;
  while (end < most - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  if (!isSpace(before.at(-1 - end)) || !isSpace(after.at(-1 - end))) {
    const wall = Math.max(0, end - LONG);
    let close = end;
    while (close > wall && !isSpace(before.at(-close))) close -= 1;
    if (close > wall || close === 0) end = close;
  }
  const head = before.slice(0, start);
  const tail = end === 0 ? "" : before.slice(-end);
  return {
    head: head.length > AROUND ? `…${head.slice(-AROUND)}` : head,
    removed: before.slice(start, before.length - end),
    added: after.slice(start, after.length - end),
    tail: tail.length > AROUND ? `${tail.slice(0, AROUND)}…` : tail,
  };
}
