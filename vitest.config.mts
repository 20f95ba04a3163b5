import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { entries } from "./__test__/entries.mjs";
import { LongestFirst } from "./__test__/sequencer.mjs";

export default defineConfig({
  test: {
    // Many tests wait for a server or a process that they have started. So one more worker than cores is of use.
    maxWorkers: 3,
    pool: "forks",
    sequence: { sequencer: LongestFirst },
    // Tags of whole files: `// @module-tag slow`.
    tags: [
      { name: "slow", description: "Takes long, or starts many processes: `npm test` leaves it out" },
      {
        name: "threads",
        description: "Also runs in a pool of threads, because the addon could behave differently there",
      },
    ],
    projects: [
      {
        resolve: {
          // The package by its own name, as users import it; the package test does it without this.
          alias: entries(fileURLToPath(new URL(".", import.meta.url))),
        },
        test: {
          name: "forkpoint",
          include: [
            "__test__/**/*.test.ts",
            "conformance/test/**/*.test.ts",
            "integration/{agentos,ai,claude-agent-sdk,mcp,openai-agents}/**/*.test.ts",
          ],
          exclude: ["**/node_modules/**"],
          // A test that asserts nothing fails.
          expect: { requireAssertions: true },
          // As Node runs it, not as Vite would transform it.
          server: { deps: { external: [/\/dist\//] } },
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      // Has the package installed, as its users have it: it needs LangGraph beside it.
      "integration/langgraph",
      "integration/mastra",
      "integration/deepagents",
      "integration/otel",
      // Each of the next two starts a Postgres server, or uses the other's. The second runs the suites of the others on it.
      "integration/postgres",
      "integration/postgres/contracts",
      // Installs the packed package, and runs the tools of others with it.
      "integration/runtimes",
      "integration/langgraph-newest",
      // Shows the studio in a browser.
      "integration/studio",
      // Builds the site, and shows it in a browser.
      "site",
    ],
  },
});
