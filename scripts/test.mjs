// Runs all tests: `npm test`. Runs some tests: `npm test -- __test__/hostile.test.ts`. All arguments of vitest are
// allowed.
import { readdirSync } from "node:fs";
import { root, run, setup, tool } from "./setup.mjs";

const chosen = process.argv.slice(2);
const vitest = (...args) => tool("vitest/vitest.mjs", ["run", ...args]);

if (chosen.length > 0) {
  setup({ frameworks: chosen.some((argument) => argument.includes("integration")) });
  vitest(...chosen);
} else {
  setup();
  run(process.execPath, [`${root}scripts/check.mjs`]);
  run("cargo", ["test", "--locked"]);
  // Without the addon the engine is the same code. So its own tests and a few others are run again.
  const suites = ["graph", "store", "workflow"].flatMap((name) => ["--test", name]);
  run("cargo", ["test", "--locked", "--no-default-features", "--lib", ...suites]);
  vitest("--pool=forks");
  // Tests that start processes of their own, search at random, or run for a given time tell nothing new in a pool of threads.
  // The list has each file, because `--exclude` has no effect on a project.
  const folders = /^(cli|faults|incremental|studio)\//;
  const names = /\b(copies|crash|docs|examples|exit|kills|large|leases|links|model|package|pressure)\.test\.ts$/;
  const files = readdirSync(`${root}__test__`, { recursive: true }).map((file) => file.replaceAll("\\", "/"));
  const threaded = files.filter((file) => file.endsWith(".test.ts") && !folders.test(file) && !names.test(file));
  vitest("--pool=threads", ...threaded.map((file) => `__test__/${file}`));
}
