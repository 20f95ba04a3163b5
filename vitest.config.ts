import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  resolve: {
    // The package by its own name, as users import it; the package test does it without this.
    alias: [
      { find: /^forkpoint$/, replacement: file("./dist/index.js") },
      { find: /^forkpoint\/(\w+)$/, replacement: file("./dist/$1.js") },
    ],
  },
  test: {
    include: ["__test__/**/*.test.ts", "integration/*/**/*.test.ts"],
    exclude: ["**/node_modules/**"],
    // As Node runs it, not as Vite would transform it.
    server: { deps: { external: [/\/dist\//] } },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
  },
});
