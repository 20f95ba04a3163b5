// Computes which rows of a long list are in the document. All rows have the same height.

/** The number of extra rows before and after the visible ones, so that fast scrolling shows no gap. */
const SPARE = 8;

/** The window moves in steps of this many rows, so that most scroll events change nothing. */
const STRIDE = 4;

/** Returns the rows for the document: from `start` to before `end`. */
export function windowOf(scrollTop: number, height: number, rowHeight: number, count: number) {
  const first = Math.floor(Math.max(0, scrollTop) / rowHeight);
  const last = Math.ceil((Math.max(0, scrollTop) + height) / rowHeight);
  const start = Math.floor(Math.max(0, first - SPARE) / STRIDE) * STRIDE;
  const end = Math.ceil((last + SPARE) / STRIDE) * STRIDE;
  return { start: Math.min(start, count), end: Math.min(end, count) };
}

/** Returns the scroll position that shows a row and its neighbors, with as little scrolling as possible. */
export function scrollTo(index: number, scrollTop: number, height: number, rowHeight: number): number {
  const top = Math.max(0, (index - 1) * rowHeight);
  const bottom = (index + 2) * rowHeight;
  if (height < 3 * rowHeight || top < scrollTop) return top;
  return bottom > scrollTop + height ? bottom - height : scrollTop;
}
