// Measures the store by the suite for the Claude Agent SDK's session stores, on each backend that needs no server.
// @module-tag slow
import { describe, expect, it } from "vitest";
import { contracts } from "../../conformance/dist/index.js";

/** The suite's tests assert by themselves. Here, a test without `expect` fails. */
const counted = Object.assign(
  (title: string, work: () => Promise<void>, timeout: number) =>
    it(title, async () => void expect(await work()).toBeUndefined(), timeout),
  { skip: it.skip },
);

const targets = { memory: "memory:", sqlite: "{dir}/store.db", jsonl: "jsonl:{dir}/store" };

for (const [backend, target] of Object.entries(targets)) {
  const module = new URL(`stores/forkpoint.mjs?backend=${backend}`, import.meta.url);
  await contracts["claude-agent-sdk"]({ module, target }).register({ describe, it: counted });
}
