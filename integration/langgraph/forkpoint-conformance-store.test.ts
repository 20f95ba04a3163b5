// Measures ForkpointStore by the suite that other stores are measured by, too: see conformance/.
import { langgraphStore } from "../../conformance/dist/index.js";
import { describe, expect, it } from "vitest";

/** vitest demands that each test calls `expect`, and the suite has assertions of its own. */
const test = Object.assign(
  (name: string, work: () => Promise<void>, timeout: number) =>
    it(name, { timeout }, async () => {
      await expect(work()).resolves.toBeUndefined();
    }),
  { skip: it.skip },
);

const targets = { memory: "memory:", sqlite: "{dir}/store.db", jsonl: "jsonl:{dir}/store" };

for (const [backend, target] of Object.entries(targets)) {
  const module = new URL(`stores/forkpoint-store.mjs?backend=${backend}`, import.meta.url);
  await langgraphStore({ module, target }).register({ describe, it: test });
}
