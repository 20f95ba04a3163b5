import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { copyTests } from "./copy.mjs";

copyTests();

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  test: {
    name: "langgraph-newest",
    include: ["*.test.ts"],
    // What these test doesn't depend on LangGraph's version: what a store does when it fails or when its process is killed, the
    // command line, copies, exports, listings.
    exclude: [
      "bytes",
      "cli",
      "copy",
      "crash",
      "diff",
      "differential",
      "drain-check",
      "encryption",
      "export*",
      "faults*",
      "forkpoint-conformance*",
      "grep",
      "hostile",
      "import*",
      "leases",
      "list",
      "long",
      "memory",
      "origin",
      "personal-data",
      "poison",
      "printed",
      "rendered",
      "retention",
      "rolling",
    ].map((name) => `${name}.test.ts`),
    // The long tests of what a store does are shorter, unless the variable is 0: see `isShort` in ../langgraph/helpers.ts.
    env: { FORKPOINT_TEST_SHORT: process.env["FORKPOINT_TEST_SHORT"] ?? "1" },
    // A test that asserts nothing fails.
    expect: { requireAssertions: true },
    globalSetup: ["../langgraph/global-setup.ts"],
    // The published conformance suite uses `describe`, `it` and the others without importing them.
    globals: true,
    // Load these modules with Node, without Vite's transforms.
    server: { deps: { external: [/\/node_modules\//, /\/dist\//] } },
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
