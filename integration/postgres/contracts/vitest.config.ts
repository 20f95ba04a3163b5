// The suites of all contracts, with a Postgres server as their only target.
import { fileURLToPath } from "node:url";
import { defineConfig, mergeConfig } from "vitest/config";
import base from "../vitest.config.js";

/** Suites that take minutes each. `FORKPOINT_ALL_ROWS=1` runs them too. */
const slow = ["forkpoint-conformance", "helix", "langgraph", "long", "store", "tinyagents"].map(
  (name) => `${name}.test.ts`,
);

export default mergeConfig(
  { ...base, root: undefined, test: { ...base.test, name: undefined, globalSetup: [] } },
  defineConfig({
    root: fileURLToPath(new URL(".", import.meta.url)),
    test: {
      name: "postgres-contracts",
      exclude: process.env["FORKPOINT_ALL_ROWS"] === "1" ? [] : slow,
      globalSetup: ["../global-setup.ts"],
      setupFiles: ["../setup.ts"],
      // The tests that name their target. The others say nothing about the backend.
      testNamePattern: /\bpostgres\b/,
      // The published conformance suite uses `describe`, `it` and the others without importing them.
      globals: true,
    },
  }),
);
