import type { Store } from "forkpoint";
import { type RunRef, openInspector } from "forkpoint/inspect";
import { expect, onTestFinished } from "vitest";

/** Expects the sizes of two runs: "large", and "small", which was saved last. Each has all that belongs to it. */
export async function expectSizes(store: Store, { space, ns }: Omit<RunRef, "run">): Promise<void> {
  const inspector = await openInspector(store);
  onTestFinished(() => inspector.close());
  const sizes = new Map<string, number>();
  for (const sort of ["active", "size"] as const) {
    const { items } = await inspector.runs({ space, withBytes: true, sort });
    expect(items.map(({ run }) => run)).toEqual(sort === "size" ? ["large", "small"] : ["small", "large"]);
    for (const { run, bytes } of items) sizes.set(run, bytes!.stored);
  }
  expect(sizes.get("large")).toBeGreaterThan(10 * sizes.get("small")!);
  expect(sizes.get("small")).toBeGreaterThan(20);
  const { bytes } = (await inspector.run({ space, run: "large", ...(ns && { ns }) }, { withBytes: true }))!;
  expect(bytes!.stored).toBe(sizes.get("large"));
  expect(bytes!.logical).toBeGreaterThanOrEqual(1_000);
  const { largest, spaces } = await inspector.stats();
  expect(largest.map(({ run, storedBytes }) => [run, storedBytes])).toEqual([...sizes].toSorted((a, b) => b[1] - a[1]));
  expect(spaces[space]!.storedBytes).toBeGreaterThanOrEqual(sizes.get("large")! + sizes.get("small")!);
}
