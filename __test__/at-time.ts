/** Sets the clock for a moment. */
import { vi } from "vitest";

export const DAY = 86_400_000;
export const LONG_AGO: number = Date.UTC(2001, 0, 1);

/** Does something at the given time. */
export async function at<T>(time: number, work: () => Promise<T>): Promise<T> {
  vi.useFakeTimers({ toFake: ["Date"], now: time });
  try {
    return await work();
  } finally {
    vi.useRealTimers();
  }
}
