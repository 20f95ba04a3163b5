// Measures this package's own stores by the suites of the package in conformance/.
import { describe, expect, it } from "vitest";
import type { Contract } from "../conformance/dist/index.js";

/** Makes a database on a server. Only the project that runs these tests on Postgres has it: integration/postgres/setup.ts. */
const { makeDatabase } = globalThis as { makeDatabase?: () => string };

/** The targets by backend. In integration/langgraph-newest, which tests another LangGraph and no other store, one is enough. */
function targets(): Record<string, string> {
  if (makeDatabase !== undefined) return { postgres: `${makeDatabase()}?schema=c{n}` };
  const sqlite = "{dir}/store.db";
  if (process.env["FORKPOINT_TEST_SHORT"] === "1") return { sqlite };
  return { memory: "memory:", sqlite, jsonl: "jsonl:{dir}/store" };
}

/** Ours are measured by all. */
const levels = ["MUST", "SHOULD", "OURS"] as const;

/** The suite asserts by itself, and a test without `expect` fails here. */
const runner = {
  describe,
  it: Object.assign(
    (title: string, work: () => Promise<void>, timeout: number) =>
      it(title, { timeout }, async () => {
        expect(await work()).toBeUndefined();
      }),
    { skip: it.skip },
  ),
};

/** Registers a test for each expectation and backend. `module` is that of the store. */
export async function measure(contract: Contract, module: URL): Promise<void> {
  for (const [backend, target] of Object.entries(targets()))
    await contract({ module: new URL(`?backend=${backend}`, module), target }).register(runner, { levels });
}
