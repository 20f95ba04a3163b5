import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  test: {
    name: "runtimes",
    include: ["*.test.ts"],
    // A test that asserts nothing fails.
    expect: { requireAssertions: true },
    globalSetup: ["./global-setup.ts"],
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
