// Tests that a studio reads a large state before the first request, and only then.
import type { Inspector } from "forkpoint/inspect";
import { openInspector } from "forkpoint/inspect";
import { expect, onTestFinished, test } from "vitest";
import { opened } from "../contents.js";
import { ask, saveRun, startStudio } from "./helpers.js";

/** Starts a studio whose inspector notes which runs it reads. */
async function studio(sizes: Record<string, number>) {
  const store = await opened("memory:");
  for (const [run, size] of Object.entries(sizes)) await saveRun(store, run, [{ text: "x".repeat(size) }]);
  const inspector = await openInspector(store);
  const read: string[] = [];
  const noted = new Proxy(inspector, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...given: Array<{ run: string }>) => {
        if (name === "checkpoint") read.push(given[0]!.run);
        return value.apply(target, given) as unknown;
      };
    },
  }) as Inspector;
  const { port, close } = await startStudio(noted, { port: 0, write: false, portWasSaid: false });
  onTestFinished(async () => {
    await close();
    await inspector.close();
  });
  return { read, port, close };
}

test("the largest state up to 4 MiB is read, at most 8 MiB in total", async () => {
  const { read } = await studio({ small: 10, middle: 3 * 2 ** 20, huge: 5 * 2 ** 20 });
  await expect.poll(() => read, { timeout: 10_000 }).toEqual(["middle", "middle"]);
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(read).toEqual(["middle", "middle"]);
});

test("nothing is read while requests come, or after the end", async () => {
  const { read, port, close } = await studio({ run: 1_000 });
  const until = Date.now() + 600;
  while (Date.now() < until) {
    await ask(port, "/");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  expect(read.length).toBeLessThan(3);
  await expect.poll(() => read.length, { timeout: 10_000 }).toBeGreaterThan(2);
  await close();
  const { length } = read;
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(read.length).toBeLessThanOrEqual(length + 1);
});

test("an empty store is left alone", async () => {
  const { read } = await studio({});
  await new Promise((resolve) => setTimeout(resolve, 400));
  expect(read).toEqual([]);
});
