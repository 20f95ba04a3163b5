import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  test: {
    name: "site",
    include: ["*.test.ts"],
    globalSetup: ["./global-setup.ts"],
    // Load these modules with Node, without Vite's transforms.
    server: { deps: { external: [/\/node_modules\//, /\/dist\//, /\.mjs$/] } },
    // A test that asserts nothing fails.
    expect: { requireAssertions: true, poll: { timeout: 20_000 } },
    testTimeout: 300_000,
    hookTimeout: 120_000,
  },
});
