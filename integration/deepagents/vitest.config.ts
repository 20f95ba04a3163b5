import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  test: {
    name: "deepagents",
    include: ["*.test.ts"],
    // A test that asserts nothing fails.
    expect: { requireAssertions: true },
    // Copies the package beside LangGraph, whose classes it extends.
    globalSetup: ["../langgraph/global-setup.ts"],
    // Load these modules with Node, without Vite's transforms.
    server: { deps: { external: [/\/node_modules\//, /\/dist\//] } },
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
