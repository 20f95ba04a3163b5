// Runs the suite of forkpoint-conformance on Forkpoint's store of workflow runs.
import { describe, expect, it } from "vitest";
import { mastra } from "../../conformance/dist/index.js";

const targets = { memory: "memory:", sqlite: "{dir}/store.db", jsonl: "jsonl:{dir}/store" };

/** The tests of this project must call `expect`. The suite throws. */
const runner = {
  describe,
  it: Object.assign(
    (name: string, work: () => Promise<void>, timeout: number) =>
      it(name, { timeout }, async () => {
        expect(await work()).toBeUndefined();
      }),
    { skip: it.skip },
  ),
};

for (const [backend, target] of Object.entries(targets)) {
  const module = new URL(`stores/forkpoint.mjs?backend=${backend}`, import.meta.url);
  await mastra({ module, target }).register(runner);
}
