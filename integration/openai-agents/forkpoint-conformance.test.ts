// Runs the suite for stores of the OpenAI Agents SDK, on our sessions.
import { describe, expect, it } from "vitest";
import { contracts } from "../../conformance/dist/index.js";

const targets = { memory: "memory:", sqlite: "{dir}/store.db", jsonl: "jsonl:{dir}/store" };

/** Each test has an assertion of vitest: the suite uses those of Node. */
const test = Object.assign(
  (title: string, work: () => Promise<void>, timeout: number) =>
    it(title, { timeout }, async () => {
      expect(await work()).toBeUndefined();
    }),
  { skip: it.skip },
);

for (const [backend, target] of Object.entries(targets)) {
  const module = new URL(`stores/forkpoint.mjs?backend=${backend}`, import.meta.url);
  await contracts["openai-agents"]({ module, target }).register({ describe, it: test });
}
