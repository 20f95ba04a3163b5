// Tests the window of a long list: which rows are in the document, and how far it scrolls to show one.
import { describe, expect, test } from "vitest";
import { scrollTo, windowOf } from "../../../tools/studio/page/window.js";

describe("windowOf", () => {
  test("has every row that is seen, and few others, wherever one scrolls", () => {
    const [height, row, count] = [700, 36, 10_000];
    for (let top = 0; top <= count * row - height; top += 97) {
      const { start, end } = windowOf(top, height, row, count);
      expect(start * row).toBeLessThanOrEqual(top);
      expect(Math.min(end, count) * row).toBeGreaterThanOrEqual(Math.min(top + height, count * row));
      expect(end - start).toBeLessThan(height / row + 30);
    }
  });

  test("stays in the list", () => {
    expect(windowOf(0, 700, 36, 0)).toEqual({ start: 0, end: 0 });
    expect(windowOf(0, 700, 36, 3)).toEqual({ start: 0, end: 3 });
    expect(windowOf(-50, 700, 36, 3)).toEqual({ start: 0, end: 3 });
    expect(windowOf(1e9, 700, 36, 100)).toEqual({ start: 100, end: 100 });
    expect(windowOf(0, 0, 36, 100).start).toBe(0);
  });

  test("is the same for most small moves", () => {
    const windows = new Set<string>();
    for (let top = 3_600; top < 3_600 + 36 * 40; top += 4) windows.add(JSON.stringify(windowOf(top, 700, 36, 10_000)));
    expect(windows.size).toBeLessThanOrEqual(22);
  });
});

describe("scrollTo", () => {
  const [height, row] = [360, 36];

  test("moves as little as needed, and leaves a row around the one that is shown", () => {
    expect(scrollTo(5, 0, height, row)).toBe(0);
    expect(scrollTo(9, 0, height, row)).toBe(36);
    expect(scrollTo(10, 0, height, row)).toBe(72);
    expect(scrollTo(50, 36 * 60, height, row)).toBe(36 * 49);
    expect(scrollTo(0, 500, height, row)).toBe(0);
  });

  test("after it, the row is seen", () => {
    for (let index = 0; index < 400; index += 7) {
      for (let from = 0; from < 12_000; from += 501) {
        const top = scrollTo(index, from, height, row);
        expect(top).toBeLessThanOrEqual(index * row);
        expect(top + height).toBeGreaterThanOrEqual((index + 1) * row);
      }
    }
  });

  test("shows the row at the top where nearly nothing fits", () => {
    expect(scrollTo(7, 0, 50, row)).toBe(216);
    expect(scrollTo(7, 0, 0, row)).toBe(216);
  });
});
