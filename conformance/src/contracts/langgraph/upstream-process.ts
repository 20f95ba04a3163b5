// The main file of the process that runs LangGraph's suite with vitest.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Answer, Order } from "./upstream.js";

async function run(order: Order): Promise<Answer> {
  const folder = mkdtempSync(join(tmpdir(), "forkpoint-conformance-"));
  try {
    // Vitest transforms test files, so this one only loads what runs.
    const tests = new URL("upstream-tests.js", import.meta.url).href;
    const file = join(folder, "upstream.test.mjs");
    writeFileSync(file, `await import(/* @vite-ignore */ ${JSON.stringify(tests)});\n`);
    const { startVitest } = await import(order.vitest);
    const vitest = await startVitest("test", [file], {
      root: folder,
      dir: folder,
      include: ["upstream.test.mjs"],
      config: false,
      watch: false,
      globals: true,
      pool: "forks",
      reporters: [{}],
      cache: false,
      testTimeout: 60_000,
      hookTimeout: 60_000,
      server: { deps: { external: [/^(?!.*upstream\.test\.mjs)/] } },
      env: { FORKPOINT_CONFORMANCE: JSON.stringify(order) },
    });
    const counts = { passed: 0, failed: 0, skipped: 0, failures: [] as string[] };
    const errors: string[] = [];
    for (const module of vitest.state.getTestModules()) {
      errors.push(...module.errors().map((error: Error) => error.message));
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        counts[state === "passed" || state === "failed" ? (state as "passed") : "skipped"] += 1;
        if (state === "failed") counts.failures.push(test.fullName);
      }
    }
    await vitest.close();
    const none = counts.passed + counts.failed === 0;
    return errors.length > 0 || none ? { error: errors.join("; ") || "no test has run" } : { counts };
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
}

process.once("message", (order: Order) => {
  run(order)
    .catch((error: Error): Answer => ({ error: String(error.stack ?? error) }))
    .then((answer) => process.send!(answer, undefined, undefined, () => process.exit()));
});
process.on("disconnect", () => process.exit(1));
