import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { entries } from "../../__test__/entries.mjs";

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  root: file("."),
  resolve: {
    // The package as its users have it, with LangGraph beside it.
    alias: entries(file("../langgraph/node_modules/forkpoint")),
  },
  test: {
    name: "postgres",
    include: ["*.test.ts"],
    // A test that asserts nothing fails.
    expect: { requireAssertions: true },
    globalSetup: ["./global-setup.ts"],
    // Load these modules with Node, without Vite's transforms.
    server: { deps: { external: [/\/node_modules\//, /\/dist\//] } },
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
