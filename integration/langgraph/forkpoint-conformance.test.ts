// Runs the suite of forkpoint-conformance on Forkpoint's checkpointer.
import { describe, expect, it } from "vitest";
import { langgraph } from "../../conformance/dist/index.js";

const targets = { memory: "memory:", sqlite: "{dir}/graph.db", jsonl: "jsonl:{dir}/graph" };

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
  await langgraph({ module, target }).register(runner);
}
