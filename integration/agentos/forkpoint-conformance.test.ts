// Measures this package's store by the suite of the package forkpoint-conformance.
import { describe, expect, it } from "vitest";
import { agentos } from "../../conformance/dist/index.js";

const runner = {
  describe,
  it: Object.assign(
    (title: string, work: () => Promise<void>, timeout: number) =>
      it(title, { timeout }, async () => {
        await expect(work()).resolves.toBeUndefined();
      }),
    { skip: it.skip },
  ),
};

const targets = { memory: "memory:", sqlite: "{dir}/store.db", jsonl: "jsonl:{dir}/store" };

for (const [backend, target] of Object.entries(targets)) {
  const module = new URL(`stores/forkpoint.mjs?backend=${backend}`, import.meta.url);
  await agentos({ module, target }).register(runner);
}
